//go:build linux || darwin

package fsroot

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A Root is an open directory. It may be used from any goroutine.
type Root struct {
	by opener

	// devices are those that files were found on and that hold nothing but files.
	devices sync.Map

	mu sync.RWMutex // held for reading by every call in progress
	fd int          // guarded by mu; -1 once closed
}

// An opener leads a name from a root directory to a descriptor and never lets it leave.
// The descriptors it gives are close-on-exec.
type opener interface {
	// file opens a regular file for reading. Anything else is refused unopened: to
	// open a device can be to act on it, and to open a FIFO can be to wait.
	file(root int, name string, l links) (int, error)
	// dir opens a directory for reading.
	dir(root int, name string, l links) (int, error)
}

// links say what becomes of symbolic links in a name.
type links bool

const (
	followed links = false
	refused  links = true
)

// Open opens dir as a root. Symbolic links on the way to it are followed; what it is
// then stays the root, even when it is renamed. Close it after use.
func Open(dir string) (*Root, error) {
	if err := checkName(dir); err != nil {
		return nil, fail("root.open", dir, err)
	}
	fd, err := openat(unix.AT_FDCWD, dir, handleFlags)
	if err != nil {
		return nil, fail("root.open", dir, err)
	}
	return &Root{by: systemOpener(), fd: fd}, nil
}

// Close closes the root once the calls in progress have ended. Files opened from it
// stay open.
func (r *Root) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fd < 0 {
		return errClosed
	}
	err := unix.Close(r.fd)
	r.fd = -1
	return err
}

// OpenFile opens a regular file for reading. It does not block on a FIFO, a socket or
// a device, and opens none of them.
func (r *Root) OpenFile(name string, rules Rules) (*File, error) {
	f, err := r.openFile(name, rules)
	if err != nil {
		return nil, fail("file.open", name, err)
	}
	return f, nil
}

func (r *Root) openFile(name string, rules Rules) (*File, error) {
	fd, err := r.lead(name, links(rules.NoLinks), r.by.file)
	if err != nil {
		return nil, err
	}
	info, err := judgeFile(fd, rules)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &File{Info: info, name: name, fd: fd}, nil
}

// OpenDir opens a directory for reading; a command can be started in it by its
// descriptor. "." is the root itself. The caller closes it.
func (r *Root) OpenDir(name string, rules Rules) (*os.File, error) {
	fd, err := r.openDir(name, rules)
	if err != nil {
		return nil, fail("dir.open", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// OpenPlainDir is OpenDir for a name in which no component may be a link, wherever it
// leads. A tree that is walked by it is a tree: no directory is met twice.
func (r *Root) OpenPlainDir(name string, rules Rules) (*os.File, error) {
	rules.NoLinks = true
	return r.OpenDir(name, rules)
}

func (r *Root) openDir(name string, rules Rules) (int, error) {
	fd, err := r.lead(name, links(rules.NoLinks), r.by.dir)
	if err != nil {
		return -1, err
	}
	if err := judgeDir(fd, rules); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// lead opens name with one of the opener's ways.
func (r *Root) lead(name string, l links, open func(root int, name string, l links) (int, error)) (int, error) {
	if err := checkName(name); err != nil {
		return -1, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.fd < 0 {
		return -1, errClosed
	}
	return open(r.fd, name, l)
}

const (
	readFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	listFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
)

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
