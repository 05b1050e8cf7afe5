//go:build linux || darwin

package fsroot

import (
	"io"
	"os"

	"github.com/durward/durward"
)

// A Handle is a regular file that was found and judged, and is opened only by whoever
// first reads it: it is the file that was found, whatever has taken its name since. It
// is an [io.ReadSeekCloser] for one goroutine.
type Handle struct {
	Info Info
	// Plain is set when no symbolic link was followed on the way to it.
	Plain bool

	root  *Root
	name  string
	rules Rules
	fd    int      // of what was found; -1 where it is file
	file  *os.File // nil until somebody reads
}

var _ io.ReadSeekCloser = (*Handle)(nil)

// FindFile is OpenFile for a file that may not have to be read.
func (r *Root) FindFile(name string, rules Rules) (*Handle, error) {
	h, err := r.findFile(name, rules)
	if err != nil {
		return nil, fail("file.open", name, err)
	}
	return h, nil
}

// openHandle finds a file by opening it.
func (r *Root) openHandle(name string, rules Rules) (*Handle, error) {
	f, err := r.openFile(name, rules)
	if err != nil {
		return nil, err
	}
	return &Handle{Info: f.Info, root: r, name: name, rules: rules, fd: -1, file: f.OS()}, nil
}

// openAgain opens the file by its name and makes sure that it is the one that was
// found.
func (h *Handle) openAgain() (*os.File, error) {
	f, err := h.root.openFile(h.name, h.rules)
	if err != nil {
		return nil, err
	}
	if f.Info.Device != h.Info.Device || f.Info.Inode != h.Info.Inode {
		f.Close()
		return nil, refusal(durward.FileNotFound)
	}
	return f.OS(), nil
}

// Open gives the file opened once more, at its start; the caller closes it.
func (h *Handle) Open() (*os.File, error) {
	open := h.reopen
	if h.fd < 0 {
		open = h.openAgain
	}
	f, err := open()
	if err != nil {
		return nil, fail("file.open", h.name, err)
	}
	return f, nil
}

func (h *Handle) open() (err error) {
	if h.file == nil {
		h.file, err = h.reopen()
	}
	if err != nil {
		return fail("file.open", h.name, err)
	}
	return nil
}

// Read reads the file.
func (h *Handle) Read(p []byte) (int, error) {
	if err := h.open(); err != nil {
		return 0, err
	}
	return h.file.Read(p)
}

// Seek moves to another place of the file.
func (h *Handle) Seek(offset int64, whence int) (int64, error) {
	if err := h.open(); err != nil {
		return 0, err
	}
	return h.file.Seek(offset, whence)
}

// Close frees the file.
func (h *Handle) Close() error {
	if h.fd >= 0 {
		h.closeFound()
		h.fd = -1
	}
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// PhysicalPath gives the path by which the kernel knows the file now: absolute, and
// free of symbolic links.
func (h *Handle) PhysicalPath() (path string, err error) {
	if h.fd >= 0 {
		path, err = h.physicalPath()
	} else {
		path, err = PhysicalPath(h.file)
	}
	if err != nil {
		return "", fail("file.path", h.name, err)
	}
	return path, nil
}
