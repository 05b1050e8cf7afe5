package fsroot

import (
	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// handleFlags open a directory as a place to start from; it need not be readable.
const handleFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

func systemOpener() opener { return kernel{} }

// kernel lets openat2 hold the containment. What openat2 cannot do here, or cannot say
// precisely, is left to walker, which contains just as well and costs more.
type kernel struct{}

func (kernel) file(root int, name string) (int, error) {
	if err := peekRegular(root, name); err != nil {
		return settle(err, walker{}.file, root, name)
	}
	fd, err := openat2(root, name, readFlags)
	if err != nil {
		return settle(err, walker{}.file, root, name)
	}
	return fd, nil
}

func (kernel) dir(root int, name string) (int, error) {
	fd, err := openat2(root, name, listFlags)
	if err != nil {
		return settle(err, walker{}.dir, root, name)
	}
	return fd, nil
}

func (kernel) plainDir(root int, name string) (int, error) {
	fd, err := openat2With(root, name, listFlags, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return settle(err, walker{}.plainDir, root, name)
	}
	return fd, nil
}

// peekRegular looks at the file through a descriptor that can do nothing else.
func peekRegular(root int, name string) error {
	fd, err := openat2(root, name, unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if !isRegular(&st) {
		return refusal(durward.NotRegularFile)
	}
	return nil
}

// settle turns an error of openat2 into a verdict, or asks walk for one.
func settle(err error, walk func(root int, name string) (int, error), root int, name string) (int, error) {
	switch err {
	case unix.EXDEV:
		return -1, refusal(durward.OutsideRoot)
	case unix.ENOSYS, unix.EPERM, // an old kernel, or a filter around us
		unix.EAGAIN,       // something was renamed somewhere while ".." was taken
		unix.ELOOP,        // a loop, or a magic link
		unix.ENAMETOOLONG: // a component, or the whole by one byte
		return walk(root, name)
	}
	return -1, err
}

func openat2(root int, name string, flags uint64) (int, error) {
	return openat2With(root, name, flags, 0)
}

// openat2With adds to how a name is resolved.
func openat2With(root int, name string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | resolve}
	for {
		fd, err := unix.Openat2(root, name, &how)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
