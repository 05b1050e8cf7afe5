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
	f, info, err := Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if judge != nil {
		if err := judge(info); err != nil {
			return nil, err
		}
	}
	return Text(f, most)
}

// Open opens a regular file to be read, which the caller closes. Nothing is waited for: not
// for the other end of a pipe that has the name. No error names the file.
func Open(file string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, Bare(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = Bare(err)
	case !info.Mode().IsRegular():
		err = errors.New("it is no regular file")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Text gives what an open file holds, which is at most so many bytes.
func Text(f io.Reader, most int64) ([]byte, error) {
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
