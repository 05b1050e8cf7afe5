//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where the call lives in a cgroup and its user does not change there is no reaper:
// the command is our own child. It stays unreaped until its tree is dead, so that
// its process id and its group's cannot be given to anybody else meanwhile.

// signalDirect signals the command's process group. The caller holds mu.
func (p *Process) signalDirect(s syscall.Signal) error {
	if isClosed(p.exited) {
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
	p.exits(err == nil)
	if !p.exit.Alone {
		err = errors.Join(err, p.group.drain())
	}
	err = errors.Join(err, waitEnd(p.pidfd))
	p.leaveMemory()
	return errors.Join(err, p.leaveGroup())
}

// leaveGroup gives the cgroup back. It is another call's from then on, so nobody kills
// what lives in it for this one any more.
func (p *Process) leaveGroup() error {
	p.mu.Lock()
	p.left = true
	p.mu.Unlock()
	return p.group.home.put(p.group)
}

// exits tells that the command has ended. Unless Kill was called, what the command has
// left in its process group gets TERM before, but for what is to outlive it. From then on nobody uses the process id:
// the command may be reaped. When it is not ours any more somebody else has done so.
func (p *Process) exits(ours bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ours && !p.killed && !p.plan.shape.outlive {
		_ = unix.Kill(-p.pid, unix.SIGTERM) // ESRCH: nobody is left
	}
	close(p.exited)
}

// awaitCommand waits for the command's end without reaping it.
func (p *Process) awaitCommand() error {
	if err := p.group.home.await(p.pidfd, unix.POLLIN); err != nil {
		return err
	}
	var info siginfo
	var usage unix.Rusage
	if err := info.wait(p.pidfd, unix.WEXITED|unix.WALL|unix.WNOWAIT, &usage); err != nil {
		return err
	}
	alone, err := p.group.empty()
	p.exit = Exit{Status: info.status(), Alone: alone, CPU: time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
	return err
}
