//go:build unix

package replace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/dirlock"
)

// openFlags keep a link that has come to the place from being followed, and a FIFO from
// being waited for.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// lock locks the file itself until it is closed: its folder, which package dirlock
// would lock, may belong to another user or, as /tmp, to all. Whoever waited finds that
// the name has come to another file.
func lock(f *os.File, _ string) (unlock func(), err error) {
	taken := dirlock.While(lockTime, func() bool {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		return errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR)
	})
	switch {
	case taken:
		return nil, ErrBusy
	case err != nil:
		return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return func() {}, nil
}

func hasOtherNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}

// inherit takes over owner and permission bits. Where the owner cannot be taken over,
// each class of users may now be another class: what they get is what all of them had.
func inherit(f *os.File, like fs.FileInfo) error {
	mode := like.Mode().Perm()
	if stat, ok := like.Sys().(*syscall.Stat_t); !ok || f.Chown(int(stat.Uid), int(stat.Gid)) != nil {
		shared := mode >> 6 & (mode >> 3) & mode & 0o7
		mode = mode&0o700 | shared<<3 | shared
	}
	return f.Chmod(mode)
}

// syncDir makes a change of names last. Some file systems cannot, and say so.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
