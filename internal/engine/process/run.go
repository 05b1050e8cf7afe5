package process

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// What the end of a command may cost beyond its own time.
const (
	// lingerTime is what processes that outlive the command get between TERM and KILL.
	lingerTime = 100 * time.Millisecond
	// drainTime bounds the wait for streams that somebody holds open although the
	// tree should be dead.
	drainTime = 200 * time.Millisecond
	// meterEvery is the time between two looks at what a tree uses.
	meterEvery = 50 * time.Millisecond
)

// sigXCPU is the signal of a process that is over its processor time. Not every
// system has a name for it.
const sigXCPU = syscall.Signal(24)

// A run is one command from its start to its end.
type run struct {
	*prepared
	began time.Time
	proc  *sandbox.Process
	// interactive asks for input that comes later than the start.
	interactive bool
	stdin       *os.File // our end; nil when no input is to come
	sinks       [2]sink  // stdout, stderr; a terminal has the first only

	ends    []*os.File // our ends of the output
	readers sync.WaitGroup
	hard    *budget // bytes the command may produce
	kept    *budget // nil unless the first byte over the cap refuses the call

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
	half := int(max(p.grant.Limits.Output, 0))
	tail := 0
	if p.grant.Keep == durward.KeepHeadTail {
		tail = half / 2
		half -= tail
	}
	r := &run{prepared: p, sinks: [2]sink{
		newDigest(&headTail{headCap: half, tailCap: tail}), newDigest(&headTail{headCap: half, tailCap: tail}),
	}}
	if p.grant.Keep == durward.KeepRefuse {
		r.kept = newBudget(p.grant.Limits.Output)
	}
	if err := r.start(); err != nil {
		return durward.Result{}, err
	}
	r.feed(p.call.Stdin)
	return r.finish(ctx)
}

// start makes the private directory and the streams, and starts the command. Nothing
// is left when it fails.
func (r *run) start() (err error) {
	r.began = time.Now()
	if r.private != "" {
		id := r.plan.Report.Identity
		if err := r.engine.scratch.make(r.private, id.Host, id.Host); err != nil {
			return err
		}
	}
	streams, err := r.openStreams()
	if err == nil {
		r.proc, err = sandbox.Start(r.plan, r.request, streams.stdio, r.host)
		streams.close()
	}
	if err != nil {
		closeAll(append(r.ends, r.stdin))
		return errors.Join(err, r.removePrivate())
	}
	r.hard = newBudget(limitOr(r.grant.Limits.OutputHard))
	for i, f := range r.ends {
		r.readers.Go(func() { r.read(f, r.sinks[i]) })
	}
	return nil
}

// limitOr gives a limit as a number to count down from.
func limitOr(n int64) int64 {
	if n <= 0 {
		return 1<<63 - 1
	}
	return n
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// read takes a stream to its end, whatever is kept of it, so that the command never
// waits for us; the hard cap ends the command instead.
func (r *run) read(f *os.File, s sink) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	for {
		n, err := f.Read(buf[:])
		if n = r.hard.spend(n); r.kept != nil {
			n = r.kept.spend(n)
		}
		s.take(buf[:n])
		if err != nil {
			return
		}
		if r.draining.Load() {
			_ = f.SetReadDeadline(time.Now().Add(drainTime)) // the reader may have been slow
		}
	}
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

// finish waits for the end of the command, ends what is left of it, and tells.
func (r *run) finish(ctx context.Context) (durward.Result, error) {
	err := r.await(ctx)
	r.endTree()
	err = errors.Join(err, r.release())
	if r.cause == "" {
		return durward.Result{}, err // it was never started
	}
	return r.result(), err
}

// await waits until the command has ended by itself or has to be ended.
func (r *run) await(ctx context.Context) error {
	meter := time.NewTicker(meterEvery)
	defer meter.Stop()
	var refuse <-chan struct{}
	if r.kept != nil {
		refuse = r.kept.over
	}
	for {
		select {
		case <-r.proc.Exited():
			if ctx.Err() != nil && r.proc.Exit().Err == nil {
				return r.stopped(ctx) // we were asleep when the time was up
			}
			return r.exited()
		case <-ctx.Done():
			return r.stopped(ctx)
		case <-refuse:
			return r.broke(durward.CauseLimitOutput, durward.OutputTooLarge, "the output is larger than the call may return")
		case <-r.hard.over:
			return r.broke(durward.CauseLimitOutput, durward.LimitOutput, "the command printed more than it may")
		case <-meter.C:
			if err := r.measure(); err != nil {
				return err
			}
		}
	}
}

// exited tells by itself why the command ended.
func (r *run) exited() error {
	exit := r.proc.Exit()
	if exit.Err != nil {
		return exit.Err
	}
	r.cause = durward.CauseExit
	if exit.Status.Signaled() {
		r.cause = durward.CauseSignal
	}
	limit := r.grant.Limits.CPU
	byLimit := exit.Status.Signaled() && (exit.Status.Signal() == sigXCPU || exit.Status.Signal() == syscall.SIGKILL)
	if limit > 0 && byLimit && exit.CPU >= limit {
		return r.broke(durward.CauseLimitCPU, durward.LimitCPU, "the command used more processor time than it may")
	}
	return nil
}

// measure compares what the tree uses with its limits.
func (r *run) measure() error {
	limits := r.grant.Limits
	if limits.Memory <= 0 && limits.CPU <= 0 {
		return nil
	}
	use := r.proc.Usage()
	switch {
	case limits.Memory > 0 && use.Resident > limits.Memory:
		return r.broke(durward.CauseLimitMemory, durward.LimitMemory, "the command used more memory than it may")
	case limits.CPU > 0 && use.CPU > limits.CPU:
		return r.broke(durward.CauseLimitCPU, durward.LimitCPU, "the command used more processor time than it may")
	}
	return nil
}

// broke ends a command that broke a cap, without a warning.
func (r *run) broke(cause durward.Cause, reason durward.Reason, what string) error {
	r.cause = cause
	r.killed = "KILL"
	return &durward.Error{
		Reason: reason, Op: "run", Rule: string(cause), Err: errors.New(what),
		Hint: "make the command do less, or raise the limit in the policy",
	}
}

// stopped ends a command whose caller has gone or whose time is up: TERM to its
// group, and KILL to the tree when the grace is over.
func (r *run) stopped(ctx context.Context) error {
	err := r.stopError(ctx)
	r.killed = "TERM"
	_ = r.proc.Signal(syscall.SIGTERM) // KILL follows
	if !r.goneWithin(r.grant.Limits.Grace) {
		r.killed = "KILL"
	}
	return err
}

func (r *run) stopError(ctx context.Context) error {
	err := ended(ctx)
	r.cause = durward.CauseCancelled
	if durward.KindOf(err) == durward.Timeout {
		r.cause = durward.CauseTimeout
	}
	return err
}

// ended says why the time of a call is over.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &durward.Error{
			Reason: durward.DeadlineExceeded, Op: "run", Rule: "limits.wallMs", Retry: true,
			Hint: "allow more time, or make the command do less", Err: errors.New("the command was still running when its time was up"),
		}
	}
	return &durward.Error{Reason: durward.CallCancelled, Op: "run", Err: context.Cause(ctx)}
}

// endTree ends what the command has left behind. A command that ended by itself
// leaves its children a moment after TERM.
func (r *run) endTree() {
	if r.killed == "" && !r.proc.Exit().Alone {
		_ = r.proc.Signal(syscall.SIGTERM)
		r.goneWithin(min(lingerTime, r.grant.Limits.Grace))
	}
	r.proc.Kill()
	<-r.proc.Gone()
}

func (r *run) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.proc.Gone():
		return true
	case <-timer.C:
		return false
	}
}

// release frees everything. With the tree dead the streams end by themselves, unless
// a best-effort containment let somebody escape.
func (r *run) release() error {
	r.draining.Store(true)
	for _, f := range r.ends {
		_ = f.SetReadDeadline(time.Now().Add(drainTime)) // a closed file holds nobody up
	}
	if r.stdin != nil {
		_ = r.stdin.SetWriteDeadline(time.Now())
	}
	r.readers.Wait()
	closeAll(append(r.ends, r.stdin))
	return errors.Join(r.proc.Close(), r.removePrivate())
}

func (r *run) removePrivate() error {
	if r.private == "" {
		return nil
	}
	if err := removeTree(r.private); err != nil {
		return scratchError(err)
	}
	return nil
}

// result says what the command came to.
func (r *run) result() durward.Result {
	exit := r.proc.Exit()
	report := r.proc.Report()
	report.SetupUs = r.proc.Setup().Microseconds()
	report.End = durward.ReportEnd{Cause: r.cause}
	if r.killed != "" {
		report.End.KilledBy = &r.killed
	}
	result := durward.Result{Report: &report, Took: time.Since(r.began)}
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

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
