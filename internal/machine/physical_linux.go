package machine

import (
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// physical gives the physical path of an existing one, by asking the kernel where it led:
// that takes three calls however deep the path is.
func physical(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return filepath.EvalSymlinks(path)
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	if found := string(buf[:max(n, 0)]); err == nil && n < len(buf) && strings.HasPrefix(found, "/") && !strings.HasSuffix(found, " (deleted)") {
		return found, nil
	}
	return filepath.EvalSymlinks(path)
}
