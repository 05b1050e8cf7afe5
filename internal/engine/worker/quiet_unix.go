//go:build unix

package worker

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// isQuiet tells whether the other side has neither ended a free connection nor said
// anything, of which there was nothing to say. It does not wait.
func (c *conn) isQuiet() bool {
	sc, ok := c.raw.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		set := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(set[:], 0)
		for errors.Is(err, unix.EINTR) { // even a look that does not wait can be interrupted
			n, err = unix.Poll(set[:], 0)
		}
		quiet = n == 0 && err == nil
	})
	return quiet && err == nil
}
