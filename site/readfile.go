package site

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// readFile reads a small regular file. judge, if set, looks at what was opened first.
func readFile(file string, most int64, judge func(fs.FileInfo) error) ([]byte, error) {
	// Nothing is waited for: not for the other end of a pipe that has the name.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, bareError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, bareError(err)
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

// bareError gives an error without the path, which is named beside it.
func bareError(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// physical gives the path that counts, absolute and free of links.
func physical(file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
