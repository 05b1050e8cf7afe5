package process

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/durward/durward"
)

// lingerTime is what processes that outlive the command get between TERM and KILL.
const lingerTime = 100 * time.Millisecond

// stopped ends a command whose caller has gone or whose time is up: TERM to its
// group, and KILL to the tree when the grace is over.
func (r *run) stopped(why error) error {
	r.cause = durward.CauseCancelled
	if durward.KindOf(why) == durward.Timeout {
		r.cause = durward.CauseTimeout
	}
	select {
	case <-r.hurry:
		r.killed = "KILL"
		return why
	default:
	}
	r.killed = "TERM"
	_ = r.proc.Signal(syscall.SIGTERM) // KILL follows
	if !r.closedWithin(r.proc.Gone(), r.grant.Limits.Grace) {
		r.killed = "KILL"
	}
	return why
}

// ended says why the time of a call is over.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return timeUp()
	}
	return &durward.Error{Reason: durward.CallCancelled, Op: "run", Err: context.Cause(ctx)}
}

func timeUp() error {
	return &durward.Error{
		Reason: durward.DeadlineExceeded, Op: "run", Rule: "limits.wallMs", Retry: true,
		Hint: "allow more time, or make the command do less", Err: errors.New("the command was still running when its time was up"),
	}
}

// endTree ends what the command has left behind. A command that ended by itself
// leaves its children a moment; they have had TERM.
func (r *run) endTree() {
	if r.killed == "" && !r.request.Outlive && !r.proc.Exit().Alone {
		r.closedWithin(r.proc.Gone(), r.request.Linger)
	}
	r.proc.Kill()
	<-r.proc.Gone()
	r.closeNetwork()
}

// tellExit tells how the main process ended, once and behind what it has printed, unless that
// is held up. It does not wait for whoever hears it while there is anything else to be done.
func (r *run) tellExit() {
	tell, exit := r.exit, r.proc.Exit()
	if tell == nil || exit.Err != nil {
		return
	}
	r.exit = nil
	code := exit.Status.ExitStatus()
	if exit.Status.Signaled() {
		code = 128 + int(exit.Status.Signal())
	}
	if isClosed(r.silent) && isClosed(r.proc.Gone()) {
		tell(code, r.scratch.info == nil && len(r.proc.Copies()) == 0)
		return
	}
	for _, f := range r.ends {
		if exit.Alone {
			break // the output ends by itself
		}
		_ = f.SetReadDeadline(time.Now()) // wakes its reader
	}
	r.readers.Go(func() {
		timer := time.NewTimer(drainTime)
		defer timer.Stop()
		for _, caughtUp := range r.caughtUp {
			select {
			case <-caughtUp:
			case <-timer.C: // it waits to be acknowledged
			}
		}
		tell(code, false)
	})
}

// closedWithin reports whether c is closed, for which it waits unless there is no time.
func (r *run) closedWithin(c <-chan struct{}, d time.Duration) bool {
	if isClosed(c) {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	case <-r.hurry:
		return false
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

// release frees everything. With the tree dead the streams end by themselves, unless
// a best-effort containment let somebody escape.
func (r *run) release() error {
	r.draining.Store(true)
	for _, f := range r.ends {
		_ = f.SetReadDeadline(time.Now()) // wakes its reader, who then takes what is left
	}
	if r.stdin != nil {
		_ = r.stdin.SetWriteDeadline(time.Now())
	}
	r.readers.Wait()
	closeAll(append(r.ends, r.stdin))
	return errors.Join(r.proc.Close(), r.removePrivate())
}

func (r *run) removePrivate() error {
	d := r.scratch
	r.scratch = privateDir{}
	if d.info != nil && r.plan.Report.Guarantees[durward.Kill].Held != durward.HeldKernel {
		return r.engine.scratch.remove(&d) // somebody may live on and come back to it
	}
	return r.engine.scratch.give(&d)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
