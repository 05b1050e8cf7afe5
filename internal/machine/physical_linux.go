package machine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/policy"
)

// physical gives the physical path of an existing one, by asking the kernel where it led:
// that takes three calls however deep the path is.
func physical(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return filepath.EvalSymlinks(path)
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", lost(path, err)
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	if found := string(buf[:max(n, 0)]); err == nil && n < len(buf) && strings.HasPrefix(found, "/") && !strings.HasSuffix(found, " (deleted)") {
		return found, nil
	}
	return filepath.EvalSymlinks(path)
}

// linkless reports whether something is at a path, and no link on the way to it.
func linkless(path string) bool {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// lost gives the error of a path that leads nowhere. Where something is missing it names where
// that is: a link may have led there.
func lost(path string, err error) error {
	var missing *fs.PathError
	if _, walked := filepath.EvalSymlinks(path); err == unix.ENOENT && errors.As(walked, &missing) && errors.Is(missing.Err, unix.ENOENT) {
		return missing
	}
	if err == unix.ENOTDIR {
		err = policy.ErrNotDirectory
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

// mark tells what stands at a path, by one call.
func mark(path string) policy.Mark {
	var st unix.Stat_t
	switch err := unix.Stat(path, &st); err := err.(type) {
	case nil:
		return policy.Mark{Device: st.Dev, Inode: st.Ino}
	case unix.Errno:
		return policy.Mark{Why: uint64(err)}
	default:
		return policy.Mark{Why: uint64(unix.EINVAL)}
	}
}
