//go:build darwin || windows

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/durward/durward"
)

// Start starts the command of a plan. The ends in stdio stay the caller's to close. When
// it fails nothing of the command has run: the error has reason SandboxError,
// DirUnavailable, ProgramNotExecutable or ArgTooLong, or it is the cause of ctx.
func Start(ctx context.Context, p Plan, r Request, stdio Stdio, _ Host) (*Process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := errors.Join(r.Program.unchanged(), dirUnchanged(r.Dir)); err != nil {
		return nil, err
	}
	began := time.Now()
	t, err := startTree(p, r, stdio)
	if err != nil {
		return nil, startError(err)
	}
	proc := &Process{
		report: p.Report, setup: time.Since(began), tree: t,
		killed: make(chan struct{}), exited: make(chan struct{}), gone: make(chan struct{}),
	}
	go proc.watch()
	return proc, nil
}

// dirUnchanged sees that the path of an opened directory still leads to it: the command
// enters it by that.
func dirUnchanged(dir *os.File) error {
	opened, err := dir.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(dir.Name())
	if err == nil && !os.SameFile(opened, now) {
		err = errors.New("it was replaced while the call was prepared")
	}
	if err == nil {
		return nil
	}
	return &durward.Error{
		Reason: durward.DirUnavailable, Op: "start", Hint: "run the command again",
		Err: fmt.Errorf("%s: %w", dir.Name(), err),
	}
}

// startError gives a failed start the reason a caller can act on.
func startError(err error) error {
	e := &durward.Error{Reason: durward.SandboxError, Op: "start", Hint: "run durward doctor", Err: err}
	switch {
	case errors.Is(err, syscall.E2BIG):
		e.Reason, e.Hint = durward.ArgTooLong, "pass less in arguments and environment; the rest can go through the input"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errNoProgram):
		e.Reason, e.Hint = durward.ProgramNotExecutable, "check that the file is a program for this machine, and that you may execute it"
	}
	return e
}

// A Process is a command and what of it can be found. Its methods are safe for
// concurrent use. The caller calls Kill and then Close, always.
type Process struct {
	report durward.Report
	setup  time.Duration
	tree   *tree
	once   sync.Once
	killed chan struct{} // closed by Kill
	exited chan struct{} // closed when exit is set
	exit   Exit
	gone   chan struct{} // closed when nobody is left that can be found
}

// Exited is closed when the main process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit says how the main process ended; valid once Exited is closed.
func (p *Process) Exit() Exit { return p.exit }

// Gone is closed when no process of the command can be found any more, or those that can
// do not end when they are killed.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Setup is the time that the start took.
func (p *Process) Setup() time.Duration { return p.setup }

// PID is the number of the command's process.
func (p *Process) PID() int { return p.tree.pid }

// Report says what is known to hold for this run.
func (p *Process) Report() durward.Report { return p.report }

// Ways is nil: no allowlist is held.
func (p *Process) Ways() []Way { return nil }

// Copies is nil: nothing is written to a copy.
func (p *Process) Copies() []Copy { return nil }

// Breach is nil: nothing is watched.
func (p *Process) Breach() error { return nil }

// Shortage is not known.
func (p *Process) Shortage() Shortage { return NoShortage }

// Signal sends a signal to the command. It does nothing once the command has ended.
func (p *Process) Signal(s syscall.Signal) error { return p.tree.signal(s) }

// Usage is what the command uses, as far as the system tells.
func (p *Process) Usage() Usage { return p.tree.usage() }

// Kill kills what can be found. It does not wait: Gone tells when it is dead.
func (p *Process) Kill() {
	p.once.Do(func() { close(p.killed) })
	p.tree.end()
}

// Close waits until Gone and frees what the process held.
func (p *Process) Close() error {
	<-p.gone
	return p.tree.close()
}

const (
	lookEvery = 10 * time.Millisecond
	// endTime is what killed processes get to be dead.
	endTime = 2 * time.Second
)

// watch follows the command to its end, and the rest of its tree to theirs.
func (p *Process) watch() {
	defer close(p.gone)
	p.exit = p.tree.wait()
	p.exit.Alone = !p.tree.alive()
	if !p.exit.Alone {
		p.tree.leave()
	}
	close(p.exited)
	p.outlast()
}

// outlast waits until nobody is left. Once Kill was called it goes on killing, because
// somebody may have been born meanwhile, and gives up after a while.
func (p *Process) outlast() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	killed := p.killed
	var end <-chan time.Time
	for p.tree.alive() {
		select {
		case <-killed:
			killed, end = nil, time.After(endTime)
		case <-look.C:
		case <-end:
			return
		}
		if killed == nil {
			p.tree.end()
		}
	}
}
