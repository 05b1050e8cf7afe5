package landlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/sandbox/uring"
)

// A Thread runs functions, one after the other, on an operating system thread that is
// held to a ruleset, while the rest of the process is not.
//
// Held is what a function itself does by path: it opens, makes, moves, links and
// removes nothing outside the rules, whatever symlinks, "..", /proc/self/root, renames
// or mounts do to the path meanwhile, and it mounts nothing. Programs that it starts
// are held, too, and gain no privileges.
//
// Not held are: stat, chmod, chown, utime, readlink and the like, as everywhere under
// Landlock; descriptors that were opened elsewhere; network and signals; and goroutines
// that the function starts, which run on other threads. A descriptor opened here can do
// the same on any thread. The memory is everybody's: a Thread keeps our own code from
// being led astray, not hostile code from its way.
//
// What the function is the first to ask for is looked for under the rules, and what
// was not found may be missed by the whole process for ever: a time zone, say. A
// function should do file operations and nothing else.
type Thread struct {
	rules *Ruleset
	jobs  chan *job
	stop  chan struct{}
	end   sync.Once
	gone  chan struct{} // closed when nothing more is run
	// ring has the rights of the thread. It is nil where there are no rings.
	ring *uring.Ring
}

// A job is a function and what became of it.
type job struct {
	run   func() error
	err   error
	panic error
	done  chan struct{}
}

// OpenThread starts a thread with the rules for files of r. Whoever opens a Thread
// closes it.
func OpenThread(r Rules) (*Thread, error) {
	abi, err := Probe()
	if err != nil {
		return nil, err
	}
	return openThread(r, abi)
}

// openThread leaves signals alone: the Go runtime needs them between its threads.
func openThread(r Rules, abi ABI) (*Thread, error) {
	r.FilesOnly = true
	rules, err := build(r, abi)
	if err != nil {
		return nil, err
	}
	t := &Thread{rules: rules, jobs: make(chan *job), stop: make(chan struct{}), gone: make(chan struct{})}
	ready := make(chan error, 1)
	onOwnThread(func() { t.serve(ready) })
	err = <-ready
	rules.Close() // the thread is held without it
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// onOwnThread runs f on a thread that ends with it. That is not the process's first,
// which never ends, and by which the kernel judges access to the process: that one is
// held until f has found another.
func onOwnThread(f func()) {
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			close(locked)
			f()
			return // locked, so that the thread ends
		}
		onOwnThread(f)
		runtime.UnlockOSThread()
		close(locked)
	}()
	<-locked
}

func (t *Thread) serve(ready chan<- error) {
	defer close(t.gone)
	err := t.rules.Restrict()
	if err != nil {
		ready <- err
		return
	}
	if ring, err := uring.Open(); err == nil {
		t.ring = ring
		defer ring.Close()
	}
	ready <- nil
	for {
		select {
		case j := <-t.jobs:
			j.do()
		case <-t.stop:
			return
		}
	}
}

// do runs the function. A panic is kept for the one who asked; runtime.Goexit ends the
// thread.
func (j *job) do() {
	defer close(j.done)
	defer func() {
		if v := recover(); v != nil {
			j.panic = fmt.Errorf("on a restricted thread: %v\n%s", v, debug.Stack())
		}
	}()
	j.err = errors.New("the function ended the thread it ran on")
	j.err = j.run()
}

// Do runs f on the thread, after what was asked before, and gives its error. While f
// waits for its turn, the end of ctx gives the cause of that, and Close gives
// [os.ErrClosed]; once it runs it is waited for. A panic of f is Do's. f must not call
// Do or Close of its own Thread, nor unlock itself from a thread that it did not lock
// itself to.
func (t *Thread) Do(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j := &job{run: f, done: make(chan struct{})}
	select {
	case t.jobs <- j:
	case <-t.gone:
		return os.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	<-j.done
	if j.panic != nil {
		panic(j.panic)
	}
	return j.err
}

// Begin has f run on the thread, after what was asked before, and comes back once it runs.
// It reports false if the thread runs nothing any more. What [Thread.Do] asks of a function
// is asked of f, too; a panic of f is lost.
func (t *Thread) Begin(f func()) bool {
	j := &job{run: func() error { f(); return nil }, done: make(chan struct{})}
	select {
	case t.jobs <- j:
		return true
	case <-t.gone:
		return false
	}
}

// Openat2 is openat2(2) as the thread would do it, but done by the caller, and only where no
// file system has to be waited for. An error may say no more than that: EBADF that the thread
// has ended, and ENOSYS that here no thread can lend its rights.
func (t *Thread) Openat2(dir int, name string, how unix.OpenHow) (int, error) {
	if t.ring == nil {
		return -1, unix.ENOSYS
	}
	return t.ring.Openat2(dir, name, how)
}

func (t *Thread) do(f func() error) error { return t.Do(context.Background(), f) }

// Gaps names what of the rules this kernel cannot hold.
func (t *Thread) Gaps() []Gap { return t.rules.Gaps() }

// Current reports whether the thread still runs functions, and what [Ruleset.Current] does
// of the rules that hold it.
func (t *Thread) Current() bool {
	select {
	case <-t.gone:
		return false
	default:
		return t.rules.Current()
	}
}

// String prints what the thread is held to.
func (t *Thread) String() string { return t.rules.String() }

// Close waits for the function that is running, runs no other, and ends the thread. It
// may be called again.
func (t *Thread) Close() error {
	t.end.Do(func() { close(t.stop) })
	<-t.gone
	return nil
}
