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
	call     durward.Call
	tool     durward.Tool
	decision durward.Decision
	prepared Prepared

	began  time.Time
	queued time.Duration
	slot   bool
}

// begin takes a call as far as the recorded intent. An error has been recorded.
func (r *Runtime) begin(ctx context.Context, c durward.Call) (*job, error) {
	ctx, cancel := context.WithCancel(ctx)
	j := &job{runtime: r, ctx: ctx, cancel: cancel, call: stamp(c), began: time.Now()}
	if err := r.enlist(j.call.ID, cancel); err != nil {
		cancel()
		return nil, j.deny(err)
	}
	if err := j.decide(); err != nil {
		defer j.leave()
		return nil, j.deny(err)
	}
	if err := r.recorder.Intent(j.call, j.decision); err != nil {
		j.leave()
		return nil, err // nothing runs unrecorded
	}
	j.spend()
	return j, nil
}

// decide finds, binds, decides and prepares.
func (j *job) decide() (err error) {
	if j.tool, err = j.runtime.source.Find(j.ctx, j.call.Tool); err != nil {
		return err
	}
	if err = bind(j.tool, j.call); err != nil {
		return err
	}
	j.decision = j.runtime.policy.Decide(j.call, j.tool)
	if err = j.decision.Err("decide"); err != nil {
		return err
	}
	engine, ok := j.runtime.engines[j.tool.Engine]
	if !ok {
		return fmt.Errorf("tool %q names an engine %q that does not exist", j.tool.ID, j.tool.Engine)
	}
	if err = holds(engine, j.decision.Grant); err != nil {
		return err
	}
	j.prepared, err = guard(func() (Prepared, error) {
		return engine.Prepare(j.ctx, j.tool, j.call, j.decision.Grant)
	})
	return err
}

// bind checks that the call has the one form its tool reads.
func bind(t durward.Tool, c durward.Call) error {
	if (c.Argv == nil) == (c.Input == nil) {
		return &durward.Error{
			Reason: durward.BadCall, Op: "bind", Hint: "give a command or an input object, not both",
			Err: fmt.Errorf("tool %q takes one of argv and input", t.ID),
		}
	}
	return nil
}

// holds reports whether the engine can hold all that the grant asks for.
func holds(e Engine, g durward.Grant) error {
	if g.StepDown {
		return nil
	}
	can := e.Enforces()
	for _, field := range g.Asks() {
		if !slices.Contains(can, field) {
			return &durward.Error{
				Reason: durward.SandboxUnavailable, Op: "prepare", Rule: string(field),
				Hint: fmt.Sprintf("take %s out of the policy, or run on a host that can hold it (durward doctor)", field),
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
		return errors.Join(failed, err)
	}
	return err
}

// refusal gives a denial from any stage the form of a decision.
func (j *job) refusal(err error) durward.Decision {
	d := j.decision
	if d.Allow || d.Code == "" {
		d = durward.Decision{PolicyHash: d.PolicyHash, Rule: d.Rule, Where: d.Where}
	}
	d.Code = durward.ReasonOf(err)
	if d.Code == "" {
		d.Code = durward.Defect
	}
	d.Reason = err.Error()
	var e *durward.Error
	if errors.As(err, &e) {
		d.Remedy = e.Hint
		if e.Rule != "" {
			d.Rule, d.Where = e.Rule, e.Where
		}
	}
	return d
}

// spend puts the call under its one deadline, which queue and work both spend.
func (j *job) spend() {
	deadline := j.call.Deadline
	if wall := j.decision.Grant.Limits.Wall; wall > 0 {
		if end := j.began.Add(wall); deadline.IsZero() || end.Before(deadline) {
			deadline = end
		}
	}
	if deadline.IsZero() {
		return
	}
	ctx, cancel := context.WithDeadline(j.ctx, deadline)
	outer := j.cancel
	j.ctx, j.cancel = ctx, func() { cancel(); outer() }
}

// admit waits for a slot.
func (j *job) admit() error {
	err := j.runtime.gate.enter(j.ctx, j.tool)
	j.queued = time.Since(j.began)
	j.slot = err == nil
	return err
}

func (j *job) run() (durward.Result, error) {
	if err := j.admit(); err != nil {
		return durward.Result{}, err
	}
	return guard(func() (durward.Result, error) { return j.prepared.Run(j.ctx) })
}

func (j *job) open(events durward.Events) (durward.Session, error) {
	opener, ok := j.prepared.(Opener)
	if !ok {
		return nil, &durward.Error{
			Reason: durward.NotSupported, Op: "open", Hint: "run it as one call",
			Err: fmt.Errorf("tool %q does not run as a session", j.tool.ID),
		}
	}
	if err := j.admit(); err != nil {
		return nil, err
	}
	return guard(func() (durward.Session, error) { return opener.Open(j.ctx, events) })
}

// end bounds the result, frees what the call held and records the outcome.
func (j *job) end(result durward.Result, err error) (durward.Result, error) {
	bound(&result, j.decision.Grant.Limits)
	result.Queued = j.queued
	result.Took = time.Since(j.began)
	defer j.leave() // after the record: a shutdown waits for it
	if failed := j.runtime.recorder.Outcome(j.call, j.decision, result, err); failed != nil {
		return durward.Result{}, errors.Join(failed, err)
	}
	return result, err
}

func (j *job) leave() {
	if j.prepared != nil {
		_ = j.prepared.Close() // what was prepared only held descriptors
	}
	if j.slot {
		j.runtime.gate.leave(j.tool.ID)
	}
	j.cancel()
	j.runtime.dismiss(j.call.ID)
}

// bound cuts what an engine kept beyond the grant. Engines keep to it themselves;
// this is the line that holds when one does not.
func bound(r *durward.Result, l durward.Limits) {
	if l.Output <= 0 {
		return
	}
	for _, c := range []*durward.Capture{&r.Stdout, &r.Stderr} {
		if over := int64(len(c.Head)+len(c.Tail)) - l.Output; over > 0 {
			cut := min(over, int64(len(c.Tail)))
			c.Tail = c.Tail[cut:]
			c.Head = c.Head[:int64(len(c.Head))-(over-cut)]
		}
	}
}

// guard turns a panic of an engine into an error of kind Internal, so that the call
// still ends once and on record.
func guard[T any](f func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &durward.Error{Reason: durward.Defect, Op: "engine", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	return f()
}

// endError says that ctx ended, as an error of kind Timeout or Cancelled.
func endError(ctx context.Context, op, what string) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &durward.Error{Reason: durward.DeadlineExceeded, Op: op, Retry: true, Hint: "allow more time", Err: errors.New(what)}
	}
	return &durward.Error{Reason: durward.CallCancelled, Op: op, Err: context.Cause(ctx)}
}
