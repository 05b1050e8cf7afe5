//go:build linux || darwin

package process

import (
	"os"

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

// pending is the number of bytes that wait in a pipe or terminal.
func pending(f *os.File) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	_ = conn.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), waitingBytes) })
	if err != nil {
		return 0
	}
	return n
}
