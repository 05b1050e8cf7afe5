package fsroot

import "golang.org/x/sys/unix"

// ReadReady reads at a place of the file what the kernel has in memory, and waits for no file
// system. It reports whether that fills p; if not, p may hold anything.
func (f *File) ReadReady(p []byte, offset int64) bool {
	switch {
	case offset < 0: // to the kernel that is wherever the file stands
		return false
	case len(p) == 0:
		return true
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	failed := conn.Control(func(fd uintptr) {
		n, err = unix.Preadv2(int(fd), [][]byte{p}, offset, unix.RWF_NOWAIT)
	})
	return failed == nil && err == nil && n == len(p)
}
