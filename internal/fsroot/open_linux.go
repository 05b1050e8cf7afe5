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

func (kernel) file(root int, name string, l links) (int, error) {
	if err := peekRegular(root, name, l); err != nil {
		return settle(err, walker{}.file, root, name, l)
	}
	fd, err := openat2(root, name, readFlags, l)
	if err != nil {
		return settle(err, walker{}.file, root, name, l)
	}
	return fd, nil
}

func (kernel) dir(root int, name string, l links) (int, error) {
	fd, err := openat2(root, name, listFlags, l)
	if err != nil {
		return settle(err, walker{}.dir, root, name, l)
	}
	return fd, nil
}

// peekRegular looks at the file through a descriptor that can do nothing else.
func peekRegular(root int, name string, l links) error {
	fd, err := openat2(root, name, unix.O_PATH|unix.O_CLOEXEC, l)
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
func settle(err error, walk func(root int, name string, l links) (int, error), root int, name string, l links) (int, error) {
	switch err {
	case unix.EXDEV:
		return -1, refusal(durward.OutsideRoot)
	case unix.ENOSYS, unix.EPERM, // an old kernel, or a filter around us
		unix.EAGAIN,       // something was renamed somewhere while ".." was taken
		unix.ELOOP,        // a loop, a magic link, or a link where none may be
		unix.ENAMETOOLONG: // a component, or the whole by one byte
		return walk(root, name, l)
	}
	return -1, err
}

func openat2(root int, name string, flags uint64, l links) (int, error) {
	how := howTo(flags, l, 0)
	for {
		fd, err := unix.Openat2(root, name, &how)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func howTo(flags uint64, l links, resolve uint64) unix.OpenHow {
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | resolve}
	if l == refused {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	return how
}
