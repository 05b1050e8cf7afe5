package fsroot

import (
	"bytes"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PhysicalPath gives the path by which the kernel knows an open file.
func PhysicalPath(f *os.File) (string, error) {
	var path [unix.PathMax]byte
	if _, _, errno := unix.Syscall(unix.SYS_FCNTL, f.Fd(), unix.F_GETPATH, uintptr(unsafe.Pointer(&path[0]))); errno != 0 {
		return "", os.NewSyscallError("fcntl", errno)
	}
	end := bytes.IndexByte(path[:], 0)
	return string(path[:max(end, 0)]), nil
}
