package sandbox

import (
	"os"
	"strconv"
	"syscall"

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

// isScript reports whether the file begins with "#!". A file that cannot be read is
// none: its interpreter could not read it either. The file is named by path, so it is
// compared with the one that was opened.
func isScript(path string, opened os.FileInfo) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var head [2]byte
	var st unix.Stat_t
	if _, err := unix.Pread(fd, head[:], 0); err != nil || unix.Fstat(fd, &st) != nil {
		return false
	}
	was, ok := opened.Sys().(*syscall.Stat_t)
	return ok && was.Dev == st.Dev && was.Ino == st.Ino && string(head[:]) == "#!"
}
