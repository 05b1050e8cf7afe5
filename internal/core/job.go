package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/durward/durward"
)

// A job is one call on its way down the road.
type job struct {
	runtime  *Runtime
	ctx      context.Context // ends with the caller, the deadline or a shutdown
	cancel   context.CancelFunc
	call     durward.Call // as it came, for the record
	tool     durward.Tool
	decision durward.Decision
	prepared Prepared
	told     refusals

	began    time.Time
	queued   time.Duration
	admitted time.Time // zero until the call has its slot
}

func (r *Runtime) newJob(ctx context.Context, c durward.Call) *job {
	lazy := &lazyContext{Context: ctx}
	c.Server = "" // until the tool is found
	return &job{runtime: r, ctx: lazy, cancel: lazy.stop, call: stamp(c), began: time.Now()}
}

// begin takes a call as far as the recorded intent. An error has been recorded.
func (r *Runtime) begin(ctx context.Context, c durward.Call) (*job, error) {
	j := r.newJob(ctx, c)
	if err := r.enlist(j.call.ID, j.cancel); err != nil {
		j.cancel()
		return nil, j.deny(err)
	}
	if err := j.decide(); err != nil {
		defer j.leave()
		return nil, j.deny(err)
	}
	if err := r.recorder.Intent(j.call, j.decision); err != nil {
		j.leave()
		return nil, unrecorded(err, nil) // nothing runs unrecorded
	}
	return j, nil
}

// decide finds, binds, decides and prepares.
func (j *job) decide() (err error) {
	defer func() { err = j.kinded(err) }()
	defer caught(&err)
	j.expire(j.call.Deadline)
	if j.tool, err = j.runtime.source.Find(j.ctx, j.call.Tool); err != nil {
		return err
	}
	j.call.Tool, j.call.Server = j.tool.ID, j.tool.Server // whatever other name it was called by
	bound, err := j.bind()
	if err != nil {
		return err
	}
	j.decision = j.runtime.policy.Decide(bound, j.tool)
	if err = j.decision.Err("decide"); err != nil {
		return err
	}
	if wall := j.decision.Grant.Limits.WithDefaults().Wall; wall > 0 {
		j.expire(j.began.Add(wall))
	}
	engine, ok := j.runtime.engines[j.tool.Engine]
	if !ok {
		return fmt.Errorf("tool %q names an engine %q that does not exist", j.tool.ID, j.tool.Engine)
	}
	if err = Holds(engine, j.decision.Grant); err != nil {
		return j.located(err)
	}
	j.prepared, err = engine.Prepare(j.ctx, j.tool, bound, j.decision.Grant)
	if refuser, ok := j.prepared.(Refuser); ok {
		refuser.OnRefused(j.refused)
	}
	return j.located(err)
}

// located adds to a refusal for want of a protection which rule of the policy asked for
// it, and where that stands.
func (j *job) located(err error) error {
	policy, ok := j.runtime.policy.(Locator)
	e := durward.AsError(err)
	if !ok || e == nil || e.Reason != durward.SandboxUnavailable || e.Rule == "" || e.Where != (durward.Position{}) {
		return err
	}
	rule, at := policy.Locate(e.Rule)
	if at == (durward.Position{}) {
		return err
	}
	named := *e
	named.Rule, named.Where = rule, at
	return &named
}

// bind checks that the call has the one form its tool reads, and holds what the tool takes. It
// gives the call with the input that the tool gets.
func (j *job) bind() (bound durward.Call, err error) {
	if (j.call.Argv == nil) == (j.call.Input == nil) {
		return bound, &durward.Error{
			Reason: durward.BadCall, Op: "bind", Hint: "give a command or an input object, not both",
			Err: fmt.Errorf("tool %q takes one of argv and input", j.tool.ID),
		}
	}
	bound = j.call
	if source, ok := j.runtime.source.(Binder); ok {
		bound.Input, err = source.Bind(j.ctx, j.tool, j.call)
	}
	return bound, err
}

// Holds refuses, with reason SandboxUnavailable, a grant that asks for what the engine
// cannot hold. One that may step down is held as far as can be.
func Holds(e Engine, g durward.Grant) error {
	if g.StepDown {
		return nil
	}
	can := e.Enforces()
	for _, field := range g.Asks() {
		if !slices.Contains(can, field) {
			return &durward.Error{
				Reason: durward.SandboxUnavailable, Op: "prepare", Rule: string(field),
				Hint: "ask for less, or run on a host that can hold it (durward doctor)",
				Err:  fmt.Errorf("%s cannot be held here", field),
			}
		}
	}
	return nil
}

// deny records the refusal and gives it back; a record that cannot be written
// refuses the call in its own words.
func (j *job) deny(err error) error {
	if failed := j.runtime.recorder.Deny(j.call, j.refusal(err)); failed != nil {
		return unrecorded(failed, err)
	}
	return err
}

// unrecorded refuses a call whose record could not be written, whatever else came of
// it: the error is of kind Unavailable.
func unrecorded(failed, err error) error {
	if durward.KindOf(failed) == durward.Unavailable {
		return errors.Join(failed, err)
	}
	return &durward.Error{Reason: durward.AuditUnavailable, Op: "record", Err: errors.Join(failed, err)}
}

// refusal gives a denial from any stage the form of a decision; that of policy stands
// in its own words.
func (j *job) refusal(err error) durward.Decision {
	d := j.decision
	if !d.Allow && d.Code != "" {
		return d
	}
	d = durward.Decision{PolicyHash: d.PolicyHash, Rule: d.Rule, Where: d.Where, Reason: err.Error()}
	if d.Code = durward.ReasonOf(err); d.Code == "" {
		d.Code = durward.Defect
	}
	if e := durward.AsError(err); e != nil {
		d.Remedy = e.Hint
		if e.Err != nil {
			d.Reason = e.Err.Error() // what was being done is no reason
		}
		if e.Rule != "" {
			d.Rule, d.Where = e.Rule, e.Where
		}
	}
	return d
}

// expire puts the call under a deadline; of several the earliest holds. Everything
// the call waits for spends the same one.
func (j *job) expire(deadline time.Time) {
	if before, ok := j.ctx.Deadline(); deadline.IsZero() || ok && !deadline.Before(before) {
		return
	}
	if lazy, ok := j.ctx.(*lazyContext); ok && lazy.expire(deadline) {
		return
	}
	ctx, cancel := context.WithDeadline(j.ctx, deadline)
	outer := j.cancel
	j.ctx, j.cancel = ctx, func() { cancel(); outer() }
}

// admit waits until the engine can take the call, and then for a slot: who waits for something
// else than a slot has none.
func (j *job) admit() error {
	asked := time.Now()
	err := j.queue()
	if most := j.runtime.queueTime; err == nil {
		if most > 0 {
			most = max(most-time.Since(asked), 1)
		}
		err = j.runtime.gate.enter(j.ctx, j.tool, most)
	}
	j.queued = time.Since(asked)
	if err == nil {
		j.admitted = time.Now()
	}
	return err
}

// queue waits for the call's turn at its engine.
func (j *job) queue() error {
	if _, ok := j.prepared.(Queuer); !ok {
		return nil
	}
	j.runtime.queuing.Add(1)
	defer j.runtime.queuing.Add(-1)
	ctx, cancel := within(j.ctx, j.runtime.queueTime)
	defer cancel()
	return Queue(ctx, j.prepared)
}

func (j *job) run() (result durward.Result, err error) {
	defer caught(&err)
	if err := j.admit(); err != nil {
		return durward.Result{}, err
	}
	return j.prepared.Run(j.ctx)
}

// answer has the door answer.
func (j *job) answer(answer func() durward.Result) (result durward.Result, err error) {
	defer caught(&err)
	return answer(), nil
}

// open begins a session; wait gives its end, and is to be called once.
func (j *job) open(events durward.Events) (s durward.Session, wait func() (durward.Result, error), err error) {
	defer caught(&err)
	beginner, begins := j.prepared.(Beginner)
	opener, opens := j.prepared.(Opener)
	if !begins && !opens {
		return nil, nil, &durward.Error{
			Reason: durward.NotSupported, Op: "open", Hint: "run it as one call",
			Err: fmt.Errorf("tool %q does not run as a session", j.tool.ID),
		}
	}
	if err := j.admit(); err != nil {
		return nil, nil, err
	}
	if begins {
		return beginner.Begin(j.ctx, events)
	}
	s, err = opener.Open(j.ctx, events)
	// The bound of the wait is the job's context, which ends the session and not the wait for it.
	return s, func() (durward.Result, error) { return s.Wait(context.WithoutCancel(j.ctx)) }, err
}

// end bounds the result, frees what the call held and records the outcome.
func (j *job) end(result durward.Result, err error) (durward.Result, error) {
	if result.Report != nil {
		report := *result.Report
		report.PolicyHash = j.decision.PolicyHash
		result.Report = &report
	}
	defer j.leave() // after the record: a shutdown waits for it
	err = j.kinded(err)
	if over := bound(&result, j.decision.Grant.Limits); err == nil {
		err = over
	}
	if !j.admitted.IsZero() {
		result.Took = max(time.Since(j.admitted)-result.Queued, 0)
	}
	result.Queued += j.queued // an engine may have a queue of its own
	lost := j.recordRefusals(result.Network)
	if lost != nil {
		err = unrecorded(lost, err)
	}
	if failed := j.runtime.recorder.Outcome(j.call, j.decision, result, err); failed != nil {
		lost, err = failed, unrecorded(failed, err)
	}
	if lost != nil {
		return durward.Result{}, errors.Join(err, result.Discard())
	}
	return result, err
}

func (j *job) leave() {
	_ = j.close() // what was prepared only held descriptors
	if !j.admitted.IsZero() {
		j.runtime.gate.leave(j.tool.ID)
	}
	j.cancel()
	j.runtime.dismiss(j.call.ID)
}

// close frees what was prepared, if anything was.
func (j *job) close() (err error) {
	if j.prepared == nil {
		return nil
	}
	defer caught(&err)
	return j.prepared.Close()
}

// bound cuts what an engine kept beyond the grant. Engines keep to it themselves;
// this is the line that holds when one does not. An object cannot be cut: it is
// dropped, and the call is TooLarge.
func bound(r *durward.Result, l durward.Limits) error {
	limit := l.WithDefaults().Output
	if limit < 0 {
		return nil
	}
	for _, c := range []*durward.Capture{&r.Stdout, &r.Stderr} {
		if over := int64(len(c.Head)+len(c.Tail)) - limit; over > 0 {
			cut := min(over, int64(len(c.Tail)))
			c.Tail = c.Tail[cut:]
			c.Head = c.Head[:int64(len(c.Head))-(over-cut)]
		}
	}
	if int64(len(r.Output)) <= limit {
		return nil
	}
	r.Output = nil
	return &durward.Error{
		Reason: durward.OutputTooLarge, Op: "bound", Hint: "ask for less at once",
		Err: fmt.Errorf("the tool answered with more than %d bytes", limit),
	}
}

// caught turns a panic behind the core into an error of kind Internal, so that the
// call still ends once and on record. It is to be deferred.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = &durward.Error{Reason: durward.Defect, Op: "call", Err: fmt.Errorf("panic: %v", p)}
	}
}

// kinded gives the bare error of an ended context its kind.
func (j *job) kinded(err error) error {
	bare := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !bare || j.ctx.Err() == nil || durward.KindOf(err) != durward.Internal {
		return err
	}
	return endError(j.ctx, "call", "the call ran until its time was up")
}

// endError says that ctx ended, as an error of kind Timeout or Cancelled.
func endError(ctx context.Context, op, what string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &durward.Error{Reason: durward.DeadlineExceeded, Op: op, Retry: true, Hint: "allow more time", Err: errors.New(what)}
	}
	return &durward.Error{Reason: durward.CallCancelled, Op: op, Err: context.Cause(ctx)}
}
