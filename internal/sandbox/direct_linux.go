//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where the call lives in a cgroup and its user does not change there is no reaper:
// the command is our own child. It stays unreaped until its tree is dead, so that
// its process id and its group's cannot be given to anybody else meanwhile.

// signalDirect signals the command's process group.
func (p *Process) signalDirect(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return nil
	}
	if err := unix.Kill(-p.pid, s); err != nil && err != unix.ESRCH {
		return err
	}
	return nil
}

// watchDirect follows the command, then the rest of its cgroup, to the end.
func (p *Process) watchDirect() error {
	err := p.awaitCommand()
	close(p.exited)
	err = errors.Join(err, p.group.drain())
	p.mu.Lock()
	p.reaped = true
	err = errors.Join(err, unix.Waitid(unix.P_PIDFD, p.pidfd, nil, unix.WEXITED, nil))
	p.mu.Unlock()
	return errors.Join(err, p.group.remove())
}

// awaitCommand waits for the command's end without reaping it.
func (p *Process) awaitCommand() error {
	fd, err := unix.FcntlInt(uintptr(p.pidfd), unix.F_DUPFD_CLOEXEC, firstSpareFD)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return err
	}
	f := os.NewFile(uintptr(fd), "pidfd") // readable when the process has ended
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var info siginfo
	var usage unix.Rusage
	var waitErr error
	err = conn.Read(func(fd uintptr) bool {
		waitErr = info.wait(int(fd), unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, &usage)
		return waitErr != nil || info.code != 0
	})
	if err = errors.Join(err, waitErr); err != nil {
		return err
	}
	alone, err := p.group.empty()
	p.exit = Exit{Status: info.status(), Alone: alone, CPU: time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
	return err
}
