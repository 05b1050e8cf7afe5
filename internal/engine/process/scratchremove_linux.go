package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// removeBy removes a directory with everything in it, or says what stays and why. It
// gives up at the deadline.
func removeBy(path string, deadline time.Time) error {
	parent, err := openAt(unix.AT_FDCWD, filepath.Dir(path), filepath.Dir(path), unix.O_PATH)
	if err != nil {
		return ignoreMissing(err)
	}
	defer parent.Close()
	return removeIn(parent, filepath.Base(path), deadline)
}

// removeIn is removeBy for a name in an open directory.
func removeIn(dir *os.File, name string, deadline time.Time) error {
	r := &remover{deadline: deadline}
	isDir, err := r.unlink(dir, name)
	if !isDir {
		return err
	}
	if r.top, err = r.enter(dir, name); err != nil {
		return ignoreMissing(err)
	}
	defer r.top.Close()
	for {
		if err := r.empty(); err != nil {
			return err
		}
		err := r.rmdir(dir, name)
		if !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
}

// A remover empties a directory in which somebody may still be at work. It acts on
// what it has opened and never on a path, so a link that is put in the place of a
// directory leads nowhere. What lies deeper is lifted to the top first: any depth
// costs the same few descriptors.
//
// What belongs to neither the owner of the top nor us is left.
type remover struct {
	top      *os.File
	owner    uint32
	deadline time.Time

	moved bool  // anything has changed since the last look at the top
	stays error // the first thing that could not be removed since then
}

// empty looks at the top until nothing is in it or nothing moves any more.
func (r *remover) empty() error {
	for {
		r.moved, r.stays = false, nil
		if err := r.each(r.top, r.remove); err != nil {
			return err
		}
		if !r.moved {
			return r.stays
		}
	}
}

// each acts on every name in a directory. The error is for the whole removal; what
// goes wrong with one name is noted.
func (r *remover) each(dir *os.File, act func(dir *os.File, name string) error) error {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for {
		if time.Now().After(r.deadline) {
			return &os.PathError{Op: "remove", Path: r.top.Name(), Err: fmt.Errorf("something is left in it: %w", os.ErrDeadlineExceeded)}
		}
		names, err := dir.Readdirnames(64)
		for _, name := range names {
			r.note(act(dir, name))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			r.note(err)
			return nil
		}
	}
}

// note keeps the first error. An entry that is no longer what it was a moment ago is
// none: it is looked at again.
func (r *remover) note(err error) {
	switch {
	case err == nil:
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		r.moved = true
	case r.stays == nil:
		r.stays = err
	}
}

// remove removes an entry of the top.
func (r *remover) remove(top *os.File, name string) error {
	isDir, err := r.unlink(top, name)
	if !isDir {
		return err
	}
	dir, err := r.enter(top, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := r.each(dir, r.lift); err != nil {
		return err
	}
	return r.rmdir(top, name)
}

// lift removes an entry of a directory, or moves it to the top.
func (r *remover) lift(dir *os.File, name string) error {
	isDir, err := r.unlink(dir, name)
	if !isDir {
		return err
	}
	child, err := r.claim(dir, name) // one that we may not write cannot be moved
	if err != nil {
		return err
	}
	child.Close()
	if r.rmdir(dir, name) == nil {
		return nil
	}
	err = unix.Renameat(int(dir.Fd()), name, int(r.top.Fd()), rand.Text())
	return r.done("move", dir, name, err)
}

// enter opens a directory to be read.
func (r *remover) enter(dir *os.File, name string) (*os.File, error) {
	handle, err := r.claim(dir, name)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	return openAt(int(handle.Fd()), ".", handle.Name(), unix.O_RDONLY)
}

// claim takes hold of a directory that we may empty, and sees to it that we can.
func (r *remover) claim(dir *os.File, name string) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	handle, err := openAt(int(dir.Fd()), name, path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	if err := r.open(int(handle.Fd())); err != nil {
		handle.Close()
		return nil, &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return handle, nil
}

// open gives us every right to a directory that is not somebody else's. The first one
// is the top.
func (r *remover) open(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if r.top == nil {
		r.owner = st.Uid
	}
	if st.Uid != r.owner && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d", st.Uid)
	}
	if st.Mode&0o700 == 0o700 {
		return nil
	}
	// A handle of this kind cannot be changed itself; this link leads to its very inode.
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}

// unlink removes what is not a directory, and tells when it is one.
func (r *remover) unlink(dir *os.File, name string) (isDir bool, err error) {
	err = unix.Unlinkat(int(dir.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) {
		return true, nil
	}
	return false, r.done("remove", dir, name, err)
}

func (r *remover) rmdir(dir *os.File, name string) error {
	return r.done("remove", dir, name, unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR))
}

func (r *remover) done(op string, dir *os.File, name string, err error) error {
	if err == nil || errors.Is(err, unix.ENOENT) {
		r.moved = true
		return nil
	}
	return &os.PathError{Op: op, Path: filepath.Join(dir.Name(), name), Err: err}
}

// openAt opens a directory, never by a link.
func openAt(dir int, name, path string, how int) (*os.File, error) {
	fd, err := unix.Openat(dir, name, how|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
