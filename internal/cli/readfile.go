package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// readBounded reads at most so many bytes of a regular file or a pipe, and waits no
// longer than wait for whoever writes it. What waits on then ends with the program.
func readBounded(file string, most int64, wait time.Duration) ([]byte, error) {
	return readJudged(file, most, wait, func(fs.FileInfo) error { return nil })
}

// readJudged is readBounded for a file that judge does not refuse.
func readJudged(file string, most int64, wait time.Duration, judge func(fs.FileInfo) error) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if err := readable(info); err != nil {
		return nil, err
	}
	type read struct {
		text []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		text, err := readOpened(file, most, judge)
		done <- read{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-time.After(wait):
		return nil, fmt.Errorf("it did not end within %s", wait)
	}
}

// readOpened judges again what it has opened: the name may lead elsewhere by now.
func readOpened(file string, most int64, judge func(fs.FileInfo) error) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = readable(info)
	}
	if err == nil {
		err = judge(info)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, most))
}

func readable(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode&fs.ModeNamedPipe != 0:
		return nil
	case mode.IsDir():
		return errors.New("it is a directory")
	case mode&fs.ModeSocket != 0:
		return errors.New("it is a socket")
	}
	return errors.New("it is neither a regular file nor a pipe")
}
