//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	plan    Plan
	pid     int      // safe to use while the process has not been reaped
	pidfd   int      // of the reaper, or of the command where there is none
	control *os.File // nil where there is no reaper
	status  *os.File // likewise
	group   *cgroup  // nil unless the call lives in a cgroup
	began   time.Time
	setup   time.Duration

	exited chan struct{} // closed when exit is set
	exit   Exit
	gone   chan struct{} // closed when the whole tree is dead
	err    error         // set before gone is closed

	mu     sync.Mutex
	reaped bool // guarded by mu; pid may not be used any more
	closed bool // guarded by mu; pidfd may not be used any more
}

// An Exit is how the main process of a command ended.
type Exit struct {
	Status syscall.WaitStatus
	// CPU is the processor time of the command and of the children it waited for.
	CPU time.Duration
	// Alone is set when the command left no other process behind.
	Alone bool
}

// Exited is closed when the main process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit says how the main process ended; valid once Exited is closed.
func (p *Process) Exit() Exit { return p.exit }

// Gone is closed when every process of the command is dead and reaped.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Setup is the time from the start to the moment the program was executed.
func (p *Process) Setup() time.Duration { return p.setup }

// Report says what holds for this run.
func (p *Process) Report() durward.Report { return p.plan.Report }

// Signal sends a signal to the command's process group. It does nothing once the
// command has ended.
func (p *Process) Signal(s syscall.Signal) error {
	if p.control != nil {
		_, err := p.control.Write([]byte{byte(s)})
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
			return nil // it has just ended
		}
		return err
	}
	return p.signalDirect(s)
}

// Kill kills the whole tree. It does not wait: Gone tells when it is dead.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	switch p.plan.Containment {
	case Cgroup:
		_ = p.group.killAll() // a cgroup that is gone has no process left
	case Subreaper:
		p.control.Close() // the reaper kills its children one by one
		_ = unix.PidfdSendSignal(p.pidfd, unix.SIGCONT, nil, 0)
		return
	}
	_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0) // ESRCH: it has ended
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
	unix.Close(p.pidfd)
	for _, f := range []*os.File{p.control, p.status} {
		if f != nil {
			f.Close()
		}
	}
	return p.err
}

// confirm waits for the word that the program has been executed. A failure has been
// reaped when it returns.
func (p *Process) confirm() error {
	defer func() { p.setup = time.Since(p.began) }()
	if p.plan.direct {
		return nil // vfork returned because the program was executed
	}
	r, err := p.next()
	if err == nil && r.kind == recordStarted {
		return nil
	}
	_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	reapFailed(p.pidfd)
	if err != nil {
		return fmt.Errorf("the reaper ended before it started the command: %w", err)
	}
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
func (p *Process) next() (record, error) {
	var r record
	_, err := io.ReadFull(p.status, unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r)))
	return r, err
}

// watch follows the command to its end. It ends with the tree.
func (p *Process) watch() {
	defer close(p.gone)
	if p.plan.direct {
		p.err = p.watchDirect()
		return
	}
	p.exit = Exit{Status: syscall.WaitStatus(unix.SIGKILL)} // unless it reports better
	reported := false
	for {
		r, err := p.next()
		if err != nil {
			break
		}
		if r.kind == recordExited && !reported {
			p.exit = exitOf(r)
			reported = true
			close(p.exited)
		}
	}
	// The reaper is ending. As process 1 it takes its namespace with it before it can
	// be reaped, so what follows returns when the last process is dead.
	p.err = unix.Waitid(unix.P_PIDFD, p.pidfd, nil, unix.WEXITED, nil)
	if p.group != nil {
		p.err = errors.Join(p.err, p.group.remove())
	}
	if !reported {
		close(p.exited)
	}
}

func exitOf(r record) Exit {
	usage := (*syscall.Rusage)(unsafe.Pointer(&r.rusage))
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return Exit{Status: syscall.WaitStatus(r.a), CPU: cpu, Alone: r.b == 1}
}
