// Package smallfile reads the files that a program is set up by: configurations, and
// tokens and secrets, which nobody but their owner may open.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// Read reads a regular file of at most so many bytes. judge, if set, looks at what was
// opened first. No error names the file, which the caller does.
func Read(file string, most int64, judge func(fs.FileInfo) error) ([]byte, error) {
	// Nothing is waited for: not for the other end of a pipe that has the name.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, Bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, Bare(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	if judge != nil {
		if err := judge(info); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it is over %d bytes", most)
	}
	return text, err
}

// OwnerOnly makes a judge for [Read]: it refuses a file that others may open, on systems
// whose files say so.
func OwnerOnly(file string) func(fs.FileInfo) error {
	return func(info fs.FileInfo) error {
		if mode := info.Mode().Perm(); mode&0o077 != 0 && !slices.Contains([]string{"windows", "plan9"}, runtime.GOOS) {
			return fmt.Errorf("others can open it (mode %04o); type: chmod 600 %s", mode, file)
		}
		return nil
	}
}

// Bare gives an error without the path, which is named beside it.
func Bare(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Physical gives the path that counts, absolute and free of links.
func Physical(file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
