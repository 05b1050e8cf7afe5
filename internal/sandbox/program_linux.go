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

// isScript reports whether an opened regular file begins with "#!". A file that cannot
// be read, or that somebody holds a lease on, is none: its interpreter could not read
// it either.
func isScript(f *os.File) bool {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var head [2]byte
	n, err := unix.Pread(fd, head[:], 0)
	return err == nil && string(head[:n]) == "#!"
}
