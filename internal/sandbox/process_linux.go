//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A Process is a command and everything it started. Its methods are safe for
// concurrent use. The caller calls Kill and then Close, always.
type Process struct {
	plan   *Plan
	eager  bool     // exited is closed before gone
	pid    int      // safe to use while the process has not been reaped
	pidfd  int      // of the reaper, or of the command where there is none
	status int      // -1 where there is no reaper
	group  *cgroup  // nil unless the call lives in a cgroup
	users  *os.File // the user namespace of the call, or nil
	guard  *guard   // nil where nothing is to be watched
	copies []Copy   // of what could be written
	ways   []Way    // out of its network namespace
	net    *os.File // the network namespace of the call, where that is a kept one
	mounts *os.File // its mount namespace at level 2, or nil
	spares *Spares  // gets another one when the call is over
	host   Host
	bounds string        // what the kernel calls the cgroup that bounds memory; empty without one
	began  time.Duration // on the monotonic clock
	setup  time.Duration // set before exited is closed

	exited chan struct{} // closed when exit is set
	exit   Exit
	gone   chan struct{} // closed when the whole tree is dead
	err    error         // set before gone is closed

	mu      sync.Mutex
	control int  // guarded by mu; -1 where there is no reaper, or it has been told to end
	killed  bool // guarded by mu; Kill was called
	left    bool // guarded by mu; group is not this call's any more
	closed  bool // guarded by mu; pidfd may not be used any more
	// backstop, guarded by mu, forces the end that Kill asked the reaper for.
	backstop *time.Timer

	memory   *memoryGroup // guarded by mu; nil where no cgroup bounds memory, or it was given back
	shortage Shortage     // guarded by mu; what was found when memory was given back, at the latest
}

// An Exit is how the main process of a command ended.
type Exit struct {
	// Err says why the command was never started; nothing of it has run then.
	Err    error
	Status syscall.WaitStatus
	// CPU is the processor time of the command and of the children it waited for.
	CPU time.Duration
	// Alone is set when the command left no other process behind, or none that TERM did
	// not end at once.
	Alone bool
	// Lost is set when the reaper was killed before it could report: Status is not
	// known then, and without a containment by the kernel somebody may live on.
	Lost bool
}

// Exited is closed when the main process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit says how the main process ended; valid once Exited is closed.
func (p *Process) Exit() Exit { return p.exit }

// Gone is closed when every process of the command is dead and reaped.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Setup is the time from the start to the moment the program was executed; valid once
// Exited is closed.
func (p *Process) Setup() time.Duration { return p.setup }

// Ways gives the listeners through which the command reaches hosts that it may, that for
// the proxy first; none where the grant has no allowlist. They are closed by Close.
func (p *Process) Ways() []Way { return p.ways }

// Copies gives what the command wrote to copies of, where its grant has copy-on-write. They
// are the caller's to close, after Gone.
func (p *Process) Copies() []Copy { return p.copies }

// PID is the number of the command's process while that runs, as durward sees it; where it is
// not known, that of the process that watches over the command.
func (p *Process) PID() int {
	if p.plan.direct {
		return p.pid
	}
	if list := children(p.pid); len(list) > 0 {
		return list[0]
	}
	return p.pid
}

// Report says what holds for this run.
func (p *Process) Report() durward.Report { return p.plan.Report }

// Signal sends a signal to the command's process group. It does nothing once the
// command has ended.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plan.direct {
		return p.signalDirect(s)
	}
	if p.control < 0 {
		return nil
	}
	if _, err := unix.Write(p.control, []byte{byte(s)}); err != nil && err != unix.EPIPE {
		return err
	}
	return nil
}

// Kill kills the whole tree. It does not wait: Gone tells when it is dead.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.left || isClosed(p.gone) {
		return
	}
	p.killed = true
	if p.plan.direct {
		if !p.endedAlone() {
			_ = p.group.killAll() // a cgroup that is gone has no process left
			kill(p.pidfd)         // it may have left the cgroup
		}
		return
	}
	p.dropControl()
	if p.backstop == nil {
		p.backstop = time.AfterFunc(backstopTime, p.force)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// endedAlone reports whether the command has ended and left nothing behind.
func (p *Process) endedAlone() bool { return isClosed(p.exited) && p.exit.Alone }

// backstopTime is what the reaper gets to do what closing its pipe tells it.
const backstopTime = 100 * time.Millisecond

// force ends the tree without the reaper's help, unless nobody else can.
func (p *Process) force() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.left {
		return
	}
	if p.plan.Containment != Subreaper {
		p.abort()
		return
	}
	_ = unix.PidfdSendSignal(p.pidfd, unix.SIGCONT, nil, 0) // somebody may have stopped it
	p.backstop.Reset(backstopTime)
}

// Close waits until the tree is dead and frees what the process held.
func (p *Process) Close() error {
	<-p.gone
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.err
	}
	p.closed = true
	if p.backstop != nil {
		p.backstop.Stop()
	}
	p.dropControl()
	closeFDs(p.pidfd, p.status)
	closeWays(p.ways)
	return p.err
}

// dropControl closes the control pipe; the reaper ends the call then. The caller
// holds mu.
func (p *Process) dropControl() {
	closeFDs(p.control)
	p.control = -1
}

// confirm waits for the word that the program has been executed. A failure has been
// reaped when it returns.
func (p *Process) confirm(ctx context.Context) error {
	if p.plan.direct {
		return nil // vfork returned because the program was executed
	}
	var r record
	var err error
	inTime := during(ctx, p.abort, func() {
		p.goOn()
		r, err = p.next()
	})
	if inTime && err == nil && r.kind == recordStarted {
		return nil
	}
	if !inTime || err != nil {
		p.abort()
	}
	reapFailed(p.pidfd) // a reaper that reports a failure ends by itself, and the command with it
	if !inTime {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("the reaper ended before it started the command: %w", err)
	}
	return p.failure(r)
}

// goOn waits until there is a record. A command of our own user could stop the reaper
// before it has said anything: then it goes on.
func (p *Process) goOn() {
	if p.plan.Containment != Subreaper {
		return
	}
	for !readable(p.status, backstopTime) {
		_ = unix.PidfdSendSignal(p.pidfd, unix.SIGCONT, nil, 0) // ESRCH: it has ended
	}
}

// readable waits until there is something to read, or no more will come.
func readable(fd int, within time.Duration) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(within.Milliseconds()))
		if err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}

// abort kills everybody, the reaper too. Without a containment by the kernel it is for a
// start that is still on its way only: the reaper waits in the fork then and cannot do
// it; so it has not reaped its child either, whose number is its own.
func (p *Process) abort() {
	switch p.plan.Containment {
	case Cgroup:
		_ = p.group.killAll() // the reaper is killed in any case
	case Subreaper:
		for _, child := range children(p.pid) {
			_ = unix.Kill(child, unix.SIGKILL)
		}
	}
	kill(p.pidfd)
}

func (p *Process) failure(r record) error {
	return &StepError{Step: p.stepName(r), Errno: syscall.Errno(r.b)}
}

func (p *Process) stepName(r record) string {
	lists := [][]Call{p.plan.Before, p.plan.Command, p.plan.After, p.plan.End}
	if int(r.c) < len(lists) && int(r.a) < len(lists[r.c]) {
		return lists[r.c][r.a].Name
	}
	return "fork"
}

// next reads one record.
func (p *Process) next() (record, error) { return readRecord(p.status) }

func readRecord(status int) (record, error) {
	var r record
	b := unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r))
	for {
		n, err := unix.Read(status, b) // a record is written at once
		switch {
		case err == unix.EINTR:
			continue
		case err == nil && n < len(b):
			err = io.EOF
		}
		return r, err
	}
}

// Breach says what has changed that was to stay as it was, nil when nothing has; valid
// once Gone is closed. The error has reason ProtectedPath.
func (p *Process) Breach() error { return p.guard.breach() }

// watch follows the command to its end. It ends with the tree.
func (p *Process) watch() {
	defer close(p.gone)
	if p.guard != nil {
		defer p.guard.release(p.host.later)
	}
	if p.plan.direct {
		p.err = p.watchDirect()
		return
	}
	p.exit = Exit{Status: syscall.WaitStatus(unix.SIGKILL), Lost: true} // unless it reports better
	if p.eager {
		p.readRecords(true)
	}
	// The reaper ends with its tree: as process 1 it takes its namespace with it before
	// it can be waited for.
	p.err = waitEnd(p.pidfd)
	if p.group != nil {
		p.group.killed.Store(true) // by the reaper's last step
		p.err = errors.Join(p.err, p.group.drain())
	}
	p.leaveMemory()
	p.leaveNamespaces()
	if p.group != nil {
		p.err = errors.Join(p.err, p.leaveGroup())
	}
	if !p.eager {
		p.readRecords(false)
		close(p.exited)
	}
	p.leaveMounts()
	p.spares.refill(*p.plan, p.host)
}

// leaveMounts takes down what was mounted for the call, behind its answer.
func (p *Process) leaveMounts() {
	if p.mounts != nil {
		p.host.later.Go(func() {
			runtime.Gosched() // whoever waits for the end of the call goes first
			p.mounts.Close()
		})
	}
}

// waitEnd waits for a process of ours and reaps it. In a program that ignores SIGCHLD,
// or waits for any child, somebody else may have reaped it; then its descriptor tells
// that it has ended.
func waitEnd(pidfd int) error {
	for {
		err := unix.Waitid(unix.P_PIDFD, pidfd, nil, unix.WEXITED|unix.WALL, nil)
		switch err {
		case unix.EINTR:
			continue
		case unix.ECHILD:
			return pollEnded(pidfd)
		}
		return err
	}
}

func pollEnded(pidfd int) error {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
		if err != unix.EINTR {
			return err
		}
	}
}

// readRecords takes what the reaper reports until it has ended. When tell is set it
// closes exited as soon as the command's end is known, or the reaper's.
func (p *Process) readRecords(tell bool) {
	defer func() {
		if tell {
			close(p.exited)
		}
	}()
	for {
		r, err := p.next()
		if err != nil {
			return
		}
		if r.kind == recordFailed && p.exit.Err == nil {
			p.exit.Err = startError(p.failure(r))
		}
		if r.kind == recordExited {
			p.note(r)
			return
		}
	}
}

// note keeps what the reaper reports of the command's end.
func (p *Process) note(r record) {
	usage := (*syscall.Rusage)(unsafe.Pointer(&r.rusage))
	p.exit.Status = syscall.WaitStatus(r.a)
	p.exit.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	p.exit.Alone = r.b == 1
	p.exit.Lost = false
	switch executed := time.Duration(r.seconds*int64(time.Second) + r.nanoseconds); {
	case executed > 0:
		p.setup = executed - p.began
	case p.exit.Err == nil:
		p.exit.Err = startError(errNeverExecuted)
	}
}

var errNeverExecuted = errors.New("the process that was to execute the program was killed before")
