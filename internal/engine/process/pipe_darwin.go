package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// waitingBytes is FIONREAD: it asks for the number of bytes that wait.
const waitingBytes = 0x4004667f

// pipeOnExec makes a pipe that no program inherits which is started meanwhile.
func pipeOnExec(fd *[2]int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fd[:]); err != nil {
		return err
	}
	unix.CloseOnExec(fd[0])
	unix.CloseOnExec(fd[1])
	return nil
}

// nothing is a stream without anything in it.
func nothing() (*os.File, error) { return os.Open(os.DevNull) }
