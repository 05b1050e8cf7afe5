//go:build linux || darwin

package denyglob

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// listFlags open a directory to be listed. Nothing but a directory is opened by them:
// not even a FIFO's other end notices.
const listFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func openat(dir int, name string, flags int) (*os.File, error) {
	var fd int
	err := uninterrupted(func() (err error) {
		fd, err = unix.Openat(dir, name, flags, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "directory"), nil
}

func lstatat(dir int, name string) (st unix.Stat_t, err error) {
	err = uninterrupted(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return st, err
}

func uninterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func descriptor(f *os.File) int { return int(f.Fd()) }

// typeOf looks a name up, and opens nothing.
func typeOf(dir int, name string) (fs.FileMode, error) {
	st, err := lstatat(dir, name)
	if err != nil {
		return 0, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fs.ModeDir, nil
	case unix.S_IFLNK:
		return fs.ModeSymlink, nil
	}
	return 0, nil
}

// An identity tells directories apart.
type identity struct{ device, inode uint64 }

func identityOf(f *os.File) (identity, error) {
	var st unix.Stat_t
	err := unix.Fstat(descriptor(f), &st)
	return identity{uint64(st.Dev), st.Ino}, err
}

// closed reports whether the command, too, can reach no name in a directory that this
// process may not read: it belongs to somebody else, who alone could open it, and can be
// passed neither by us nor by those who are in no group of ours. Whoever the command of
// root runs as may be its owner.
func closed(dir int) bool {
	var st unix.Stat_t
	user := os.Geteuid()
	if err := unix.Fstat(dir, &st); err != nil || user == 0 || int(st.Uid) == user || st.Mode&unix.S_IXOTH != 0 {
		return false
	}
	_, err := lstatat(dir, ".")
	return err == unix.EACCES
}

// gone tells a name that does not exist, or not any more, from what went wrong. In
// /proc, what belongs to a process that has ended is found and cannot be used.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.ESRCH)
}

// replaced tells a directory that is one no more.
func replaced(err error) bool { return err == unix.ENOTDIR || err == unix.ELOOP }
