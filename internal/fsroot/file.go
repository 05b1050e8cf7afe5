//go:build linux || darwin

package fsroot

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A File is a regular file opened for reading, together with what was judged about it. It is
// for one goroutine, and an [io.ReadCloser]; the caller closes it.
type File struct {
	// Info is what was true when it was opened.
	Info Info

	name string
	fd   int      // negative when it is closed
	file *os.File // nil until somebody wants it; it has the descriptor from then on
}

var _ io.ReadCloser = (*File)(nil)

// OS gives the file as package os has it, which several goroutines may use. It is closed with f.
func (f *File) OS() *os.File {
	if f.file == nil {
		f.file = os.NewFile(uintptr(f.fd), f.name)
	}
	return f.file
}

// Read reads the file.
func (f *File) Read(p []byte) (int, error) {
	if f.fd < 0 {
		return 0, os.ErrClosed
	}
	return f.OS().Read(p)
}

// Close closes the file.
func (f *File) Close() error {
	fd := f.fd
	f.fd = -1
	switch {
	case fd < 0:
		return os.ErrClosed
	case f.file != nil:
		return f.file.Close()
	}
	return unix.Close(fd)
}
