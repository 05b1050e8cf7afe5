package process

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard/egress"
	"github.com/durward/durward/internal/sandbox"
)

// A run is one command from its start to its end.
type run struct {
	*prepared
	began time.Time
	// asleep reports that the time was up while the machine slept.
	asleep func() bool
	proc   *sandbox.Process
	// interactive asks for input that comes later than the start.
	interactive bool
	// exit is told the code of the main process once it is known, and whether the call is over
	// but for its record; may be nil.
	exit  func(code int, last bool)
	stdin *os.File // our end; nil when no input is to come
	sinks [2]sink  // stdout, stderr; a terminal has the first only

	egress  *egress.Proxy    // nil where the command has no way out
	traffic *durward.Traffic // what went through it; nil until it is closed

	// silent is closed when nobody has the output open any more. Where the tree may outlive the
	// main process that ends the call in its place.
	silent chan struct{}
	hurry  chan struct{} // closed when there is no time for TERM; may be nil

	ends []*os.File // our ends of the output
	// caughtUp are closed, one for each end, when all is taken that was printed before the
	// main process ended.
	caughtUp []chan struct{}

	readers sync.WaitGroup
	hard    *budget      // bytes the command may produce
	kept    *budget      // bytes of both streams before the call is refused
	printed atomic.Int64 // bytes of both streams so far

	// draining is set when the tree is dead and what is left is in the pipes.
	draining atomic.Bool

	cause  durward.Cause
	killed string // signal we had to use
}

// Run runs the command and waits for it and everything it started to end.
func (p *prepared) Run(ctx context.Context) (durward.Result, error) {
	if ctx.Err() != nil {
		return durward.Result{}, ended(ctx)
	}
	if err := p.followed(ctx, false); err != nil {
		return durward.Result{}, err
	}
	r := &run{prepared: p, sinks: sinksFor(p.grant.Keep, p.grant.Limits.Output)}
	if err := r.start(ctx); err != nil {
		return durward.Result{}, err
	}
	r.feed(p.call.Stdin)
	return r.finish(ctx)
}

// start makes the private directory and the streams, and starts the command. Nothing
// is left when it fails.
func (r *run) start(ctx context.Context) (err error) {
	r.began, r.asleep = time.Now(), sleepWatch(ctx, r.engine.clock)
	if r.plan.Scratch {
		if err := r.engine.scratch.make(&r.scratch, r.plan.UID, r.plan.GID); err != nil {
			return err
		}
	}
	streams, err := r.openStreams()
	if err == nil {
		r.proc, err = sandbox.Start(ctx, r.plan, r.request, streams.stdio, r.host)
		streams.close()
		if err != nil && durward.ReasonOf(err) == "" && ctx.Err() != nil {
			err = ended(ctx)
		}
	}
	if err != nil {
		closeAll(append(r.ends, r.stdin))
		return errors.Join(err, r.removePrivate())
	}
	if err := r.openNetwork(); err != nil {
		r.proc.Kill()
		closeAll(append(r.ends, r.stdin))
		r.dropCopies()
		return errors.Join(err, r.proc.Close(), r.removePrivate())
	}
	r.hard, r.kept = newBudget(limitOr(r.grant.Limits.OutputHard)), newBudget(limitOr(0))
	if r.grant.Keep == durward.KeepRefuse {
		r.kept = newBudget(r.grant.Limits.Output)
	}
	r.follow()
	return nil
}

// feed writes the input and ends it. The goroutine ends when the command has read
// everything or closed its end, and with the command.
func (r *run) feed(input []byte) {
	if r.stdin == nil {
		return
	}
	r.readers.Go(func() {
		_, _ = r.stdin.Write(input) // a command need not read its input
		if r.call.Terminal == nil {
			r.stdin.Close()
		}
	})
}

// forget lets go of what was only for the start: a session may be kept for what it printed.
func (r *run) forget() {
	r.call.Argv, r.call.Env, r.call.Stdin, r.grant.Env = nil, nil, nil, nil
	r.request.Argv, r.request.Env, r.plan = nil, nil, sandbox.Plan{}
}

// finish waits for the end of the command, ends what is left of it, and tells.
func (r *run) finish(ctx context.Context) (durward.Result, error) {
	err := r.await(ctx)
	r.endTree()
	r.tellExit()
	released := r.release()
	if err == nil {
		err = r.exceeded()
	}
	if breach := r.proc.Breach(); breach != nil {
		err = breach // that the command was ended for it is no cause of its own
		r.killed = "KILL"
	}
	err = errors.Join(err, released)
	if r.cause == "" {
		r.dropCopies()
		return durward.Result{}, err // it was never started
	}
	result := r.result()
	if err != nil { // what a call that failed has written, nobody looks at
		r.dropCopies()
		return result, err
	}
	result.Changes, err = r.readChanges(ctx)
	return result, err
}

// await waits until the command has ended by itself or has to be ended.
func (r *run) await(ctx context.Context) error {
	looks, stop := r.meter(ctx)
	defer stop()
	var silent <-chan struct{}
	exited, over := r.proc.Exited(), r.proc.Exited()
	if r.request.Outlive {
		over = r.proc.Gone()
	}
	for {
		select {
		case <-exited:
			if ctx.Err() != nil && r.proc.Exit().Err == nil {
				return r.stopped(ended(ctx)) // we were stopped when the time was up
			}
			if err := r.exited(); err != nil || !r.request.Outlive {
				return err
			}
			exited, silent = nil, r.silent
			if r.proc.Exit().Alone && r.closedWithin(r.silent, settleTime) {
				return nil // who waits for the end is told of the exit beside
			}
			r.tellExit()
		case <-silent:
			return nil
		case <-ctx.Done():
			return r.stopped(ended(ctx))
		case <-r.hurry:
			return r.stopped(&durward.Error{Reason: durward.CallCancelled, Op: "run", Err: errors.New("the command was killed")})
		case <-r.kept.over:
			return r.exceeded()
		case <-r.hard.over:
			return r.exceeded()
		case <-looks:
			cause := r.overuse()
			select {
			case <-over: // what was looked at may have been somebody else already
			default:
				if r.asleep() {
					return r.stopped(timeUp())
				}
				if cause != "" {
					return r.overused(cause)
				}
			}
		}
	}
}

// result says what the command came to.
func (r *run) result() durward.Result {
	exit := r.proc.Exit()
	report := r.proc.Report()
	report.Guarantees = maps.Clone(report.Guarantees) // the plan's own serves other calls
	report.SetupUs = r.proc.Setup().Microseconds()
	report.End = durward.ReportEnd{Cause: r.cause}
	if exit.Lost && report.Guarantees[durward.Kill].Held == durward.HeldBestEffort {
		report.End.Survivors = -1
		report.Weak = append(slices.Clip(report.Weak), "kill: the reaper was killed, so somebody may live on")
	}
	if report.Guarantees[durward.Kill].Held == durward.HeldNone {
		report.End.Survivors = -1
	}
	if r.killed != "" {
		report.End.KilledBy = &r.killed
	}
	result := durward.Result{Report: &report, Network: r.traffic, Took: time.Since(r.began)}
	if result.Stdout = r.sinks[0].captured(); r.call.Terminal == nil {
		result.Stderr = r.sinks[1].captured()
	}
	if exit.Status.Signaled() {
		result.Signal = int(exit.Status.Signal())
	} else {
		code := exit.Status.ExitStatus()
		result.Exit = &code
	}
	return result
}
