package landlock

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attributes are the argument that makes a ruleset: what is denied unless a rule gives
// it. A kernel that knows only the first of them accepts the others as zeros.
type attributes struct {
	fs, net, scoped uint64
}

func version() (ABI, error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return ABI(n), nil
}

func createRuleset(a attributes) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// beneath is the argument of a rule for a file, or for a directory and all in it.
func beneath(access uint64, fd int) []byte {
	return binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint64(nil, access), uint32(int32(fd)))
}

func addRule(ruleset int, beneath []byte) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(unsafe.SliceData(beneath))), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// openPath opens a file as a place and nothing more: that needs no right to it and has
// no effect on it. A path with a symlink anywhere in it is refused with ELOOP.
func openPath(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch err {
		case unix.EINTR:
		case unix.ENOSYS, unix.EPERM: // a filter around us does not know openat2
			return walkPath(path)
		default:
			return fd, err
		}
	}
}

// walkPath does what openPath does, name by name.
func walkPath(path string) (int, error) {
	at, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	for name := range names(path) {
		if err != nil {
			return -1, err
		}
		var next int
		next, err = step(at, name)
		unix.Close(at)
		at = next
	}
	return at, err
}

// step opens one name in a directory, unless it is a symlink.
func step(at int, name string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = unix.ELOOP
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func isDir(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
