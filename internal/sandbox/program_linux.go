package sandbox

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openForExec opens a file so that it can be executed and looked at, not read: it
// need not be readable, and opening a device or FIFO has no effect.
func openForExec(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// physicalPath gives the path by which the kernel knows an open file.
func physicalPath(f *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
}
