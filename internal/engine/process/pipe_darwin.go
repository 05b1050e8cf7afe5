package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe of which one end is ours. Only that end does not block: a command
// does not expect its streams to answer "try again".
func pipe(oursReads bool) (ours, theirs *os.File, err error) {
	var fd [2]int
	if err := pipeOnExec(&fd); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	if !oursReads {
		fd[0], fd[1] = fd[1], fd[0]
	}
	if err := unix.SetNonblock(fd[0], true); err != nil {
		unix.Close(fd[0])
		unix.Close(fd[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd[0]), "pipe"), os.NewFile(uintptr(fd[1]), "pipe"), nil
}

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

// fionread asks for the number of bytes that wait.
const fionread = 0x4004667f

// pending is the number of bytes that wait in a pipe.
func pending(f *os.File) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	_ = conn.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), fionread) })
	if err != nil {
		return 0
	}
	return n
}
