package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// waitingBytes asks for the number of bytes that wait.
const waitingBytes = unix.TIOCINQ

// pipeOnExec makes a pipe that no program inherits.
func pipeOnExec(fd *[2]int) error { return unix.Pipe2(fd[:], unix.O_CLOEXEC) }

// nothing is a stream without anything in it. os.Open would first try to wait for it.
func nothing() (*os.File, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	return os.NewFile(uintptr(fd), os.DevNull), nil
}
