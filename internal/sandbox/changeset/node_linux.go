package changeset

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A node is what stands at a name, as far as it matters here. The zero node is nothing.
type node struct {
	form     Form
	id       identity
	bits     uint32 // permission bits, with those for set-id and sticky
	uid, gid uint32
	// What follows is zero in a directory: it changes with all that is made in there.
	size, links       int64
	number            uint64 // of a device
	modified, changed unix.Timespec
}

// An identity tells files and directories apart.
type identity struct{ device, inode uint64 }

const setIDBits, stickyBit, permissionBits = unix.S_ISUID | unix.S_ISGID, unix.S_ISVTX, 0o777

func nodeOf(st *unix.Stat_t) node {
	n := node{
		form: formOf(uint32(st.Mode)), id: identity{uint64(st.Dev), st.Ino},
		bits: uint32(st.Mode) & 0o7777, uid: st.Uid, gid: st.Gid,
	}
	if n.form != Directory {
		n.size, n.links, n.number = st.Size, int64(st.Nlink), uint64(st.Rdev)
		n.modified, n.changed = st.Mtim, st.Ctim
	}
	return n
}

func formOf(mode uint32) Form {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return Directory
	case unix.S_IFLNK:
		return Symlink
	case unix.S_IFCHR:
		return CharDevice
	case unix.S_IFBLK:
		return BlockDevice
	case unix.S_IFIFO:
		return FIFO
	case unix.S_IFSOCK:
		return Socket
	}
	return File
}

// moved reports whether n is what m was, but for a change of its name.
func (n node) moved(m node) bool {
	m.changed = n.changed
	return n == m
}

// nodeAt looks at a name in an open directory and opens nothing.
func nodeAt(dir *os.File, name string) (node, error) {
	var st unix.Stat_t
	err := uninterrupted(func() error { return unix.Fstatat(descriptor(dir), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch err {
	case nil:
		return nodeOf(&st), nil
	case unix.ENOENT:
		return node{}, nil
	}
	return node{}, err
}

func nodeOfFile(f *os.File) (node, error) {
	var st unix.Stat_t
	if err := unix.Fstat(descriptor(f), &st); err != nil {
		return node{}, err
	}
	return nodeOf(&st), nil
}

func linkTarget(dir *os.File, name string) (string, error) {
	buf := make([]byte, maxPathBytes+1)
	n, err := unix.Readlinkat(descriptor(dir), name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

const (
	lookFlags = unix.O_PATH | unix.O_CLOEXEC
	dirFlags  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
)

// openBeneath opens a path that holds no link and crosses no mount.
func openBeneath(dir *os.File, path string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   flags,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	var fd int
	err := uninterrupted(func() (err error) {
		fd, err = unix.Openat2(descriptor(dir), path, &how)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openDir opens a directory and gives what it is.
func openDir(dir *os.File, path string) (*os.File, node, error) {
	f, err := openBeneath(dir, path, dirFlags)
	if err != nil {
		return nil, node{}, err
	}
	n, err := nodeOfFile(f)
	if err != nil {
		f.Close()
		return nil, node{}, err
	}
	return f, n, nil
}

// openFile opens a regular file for reading if it is the one that is wanted. What else may
// have come to its name is not opened: to open a device can be to act on it.
func openFile(dir *os.File, path string, wanted node) (*os.File, error) {
	found, err := openBeneath(dir, path, lookFlags)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	n, err := nodeOfFile(found)
	switch {
	case err != nil:
		return nil, err
	case n != wanted || n.form != File:
		return nil, errChanged
	}
	return os.OpenFile(behind(found), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// behind is a path that leads to what is open, whatever it is called.
func behind(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(descriptor(f)) }

func descriptor(f *os.File) int { return int(f.Fd()) }

func uninterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
