//go:build unix

package mcpclient

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writeNow writes as much of a line as there is room for, and waits for nothing.
func writeNow(out *os.File, line []byte) (n int, err error) {
	pipe, err := out.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = pipe.Write(func(fd uintptr) bool {
		n, failed = unix.Write(int(fd), line)
		return true
	})
	if errors.Is(failed, unix.EAGAIN) || errors.Is(failed, unix.EINTR) {
		return 0, nil
	}
	return max(n, 0), errors.Join(err, failed)
}
