package process

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard/egress"
	"github.com/durward/durward/internal/sandbox"
)

// What the end of a command may cost beyond its own time.
const (
	// lingerTime is what processes that outlive the command get between TERM and KILL.
	lingerTime = 100 * time.Millisecond
	// drainTime bounds the wait for streams that somebody holds open although the
	// tree should be dead.
	drainTime = 200 * time.Millisecond
	// settleTime bounds the wait for what a terminal has still to show when the main process
	// has ended and others have it open.
	settleTime = 20 * time.Millisecond
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

// follow reads the output.
func (r *run) follow() {
	var open atomic.Int32
	open.Store(int32(len(r.ends)))
	r.silent = make(chan struct{})
	for i, f := range r.ends {
		caughtUp := make(chan struct{})
		r.caughtUp = append(r.caughtUp, caughtUp)
		tell := sync.OnceFunc(func() { close(caughtUp) })
		r.readers.Go(func() {
			r.read(f, r.sinks[i], tell)
			tell()
			if open.Add(-1) == 0 {
				close(r.silent)
			}
		})
	}
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
// waits for us; the hard cap ends the command instead. caughtUp is called when all is taken
// that was there when somebody set a deadline.
func (r *run) read(f *os.File, s sink, caughtUp func()) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	for !r.draining.Load() {
		n, err := f.Read(buf[:])
		r.took(s, buf[:n])
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded) || !r.catchUp(f, s, buf[:]):
			return
		default:
			caughtUp()
		}
	}
	// The tree is dead. What it printed is there to be read; what comes later is from
	// somebody else, to whom the descriptor was given. The deadline that is to wake us may
	// only now be set: it ends no read here.
	if r.call.Terminal != nil {
		r.drainTerminal(f, s, buf[:], drainTime)
		return
	}
	r.drainPipe(f, s, buf[:])
}

// drainPipe takes what is in a pipe now. It reports false where that has ended.
func (r *run) drainPipe(f *os.File, s sink, buf []byte) bool {
	for left := pending(f); left > 0; {
		if f.SetReadDeadline(time.Time{}) != nil {
			return false
		}
		n, err := f.Read(buf[:min(left, len(buf))])
		r.took(s, buf[:n])
		if left -= n; err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	return true
}

// catchUp takes what the main process has printed, once that has ended, and lets later reads
// wait again. It reports false where nothing can follow.
func (r *run) catchUp(f *os.File, s sink, buf []byte) bool {
	open := true
	if r.call.Terminal != nil {
		open = r.drainTerminal(f, s, buf, settleTime)
	} else {
		open = r.drainPipe(f, s, buf)
	}
	return f.SetReadDeadline(time.Time{}) == nil && open
}

// drainTerminal reads until the terminal says that nobody has it open, and waits for
// that no longer than left in all. Time that a slow reader takes does not count. It reports
// false where nobody has it open.
func (r *run) drainTerminal(f *os.File, s sink, buf []byte, left time.Duration) bool {
	for left > 0 {
		began := time.Now()
		if f.SetReadDeadline(began.Add(left)) != nil {
			return false
		}
		n, err := f.Read(buf)
		left -= time.Since(began)
		r.took(s, buf[:n])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	return true
}

// took counts and keeps what was read.
func (r *run) took(s sink, p []byte) {
	r.hard.spend(len(p))
	r.kept.spend(len(p))
	s.take(p)
	if printed := r.printed.Add(int64(len(p))); len(p) > 0 && r.call.Captured != nil {
		r.call.Captured(printed)
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
			if r.proc.Exit().Alone && r.silentWithin(settleTime) {
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

// exceeded reports an output that is over its caps, also one that was seen to be so
// only when the command had ended.
func (r *run) exceeded() error {
	switch {
	case r.kept.exceeded():
		return r.broke(durward.CauseLimitOutput, durward.OutputTooLarge, "the output is larger than the call may return")
	case r.hard.exceeded():
		return r.broke(durward.CauseLimitOutput, durward.LimitOutput, "the command printed more than it may")
	}
	return nil
}

// exited tells by itself why the command ended.
func (r *run) exited() error {
	exit := r.proc.Exit()
	if r.proc.Shortage() != sandbox.NoShortage {
		return r.overused(durward.CauseLimitMemory)
	}
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
		return r.overused(durward.CauseLimitCPU)
	}
	return nil
}

// meter tells when to look at what the tree uses, and at the clock. Nothing comes where there
// is no limit of that kind: a timer that is set wakes a thread.
func (r *run) meter(ctx context.Context) (looks <-chan time.Time, stop func()) {
	limits := r.grant.Limits
	if _, ends := ctx.Deadline(); !ends && limits.Memory <= 0 && limits.CPU <= 0 {
		return nil, func() {}
	}
	meter := time.NewTicker(meterEvery)
	return meter.C, meter.Stop
}

// overuse compares what the tree uses with its limits and names the one it is over.
func (r *run) overuse() durward.Cause {
	limits := r.grant.Limits
	if limits.Memory <= 0 && limits.CPU <= 0 {
		return ""
	}
	if r.proc.Shortage() != sandbox.NoShortage {
		return durward.CauseLimitMemory
	}
	use := r.proc.Usage()
	watched := limits.Memory > 0 && r.plan.Report.Guarantees[durward.Mem].Held != durward.HeldKernel
	switch {
	case watched && use.Resident > limits.Memory:
		return durward.CauseLimitMemory
	case limits.CPU > 0 && use.CPU > limits.CPU:
		return durward.CauseLimitCPU
	}
	return ""
}

func (r *run) overused(cause durward.Cause) error {
	if cause == durward.CauseLimitCPU {
		return r.broke(cause, durward.LimitCPU, "the command used more processor time than it may")
	}
	err := r.broke(cause, durward.LimitMemory, "the command used more memory than it may")
	if r.proc.Shortage() == sandbox.OuterShortage {
		err.Rule, err.Hint = "", sandbox.HintOuterShortage // no policy would help
		err.Err = errors.New("the machine, or a cgroup that durward lives in, ran out of memory, and a process of the command was killed for it")
	}
	return err
}

// broke ends a command that broke a cap, without a warning.
func (r *run) broke(cause durward.Cause, reason durward.Reason, what string) *durward.Error {
	r.cause = cause
	r.killed = "KILL"
	return &durward.Error{
		Reason: reason, Op: "run", Rule: string(cause), Err: errors.New(what),
		Hint: "make the command do less, or raise the limit in the policy",
	}
}

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
	if !r.goneWithin(r.grant.Limits.Grace) {
		r.killed = "KILL"
	}
	return why
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

// silentWithin reports whether nobody has the output open any more, for which it waits.
func (r *run) silentWithin(d time.Duration) bool {
	if isClosed(r.silent) {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.silent:
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
		r.goneWithin(r.request.Linger)
	}
	r.proc.Kill()
	<-r.proc.Gone()
	r.closeNetwork()
}

func (r *run) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.proc.Gone():
		return true
	case <-timer.C:
		return false
	case <-r.hurry:
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

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
