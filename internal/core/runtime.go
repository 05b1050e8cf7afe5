package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
)

// Options are the parts of a Runtime. Source, Policy, Recorder and at least one
// engine are required.
type Options struct {
	Source   Source
	Policy   Policy
	Recorder Recorder
	// Engines are found by the name a tool gives.
	Engines map[string]Engine
	// MaxConcurrent bounds the calls that run at once. Zero means 16.
	MaxConcurrent int
	// MaxQueue bounds the calls that wait for a slot. Zero means 64; negative none. An engine
	// itself bounds those that wait for their turn at it.
	MaxQueue int
	// QueueTime is how long a call may wait for a slot. One that waited so long, or whose
	// own time ends while it waits, is refused with QueueTimeout. Zero lets a call wait until
	// its time ends, which then is DeadlineExceeded.
	QueueTime time.Duration
}

// A Runtime takes calls down the road. It is safe for concurrent use.
type Runtime struct {
	source   Source
	policy   Policy
	recorder Recorder
	engines  map[string]Engine
	gate     *gate
	// queueTime is zero where only a call's own end bounds its waiting.
	queueTime time.Duration
	queuing   atomic.Int64 // calls that wait for their turn at an engine

	mu      sync.Mutex
	closed  bool                                  // guarded by mu
	calls   map[durward.CallID]context.CancelFunc // guarded by mu
	drained chan struct{}                         // closed when closed and calls is empty
	pulse   pulse                                 // guarded by mu
}

// New makes a Runtime.
func New(o Options) (*Runtime, error) {
	if o.Source == nil || o.Policy == nil || o.Recorder == nil || len(o.Engines) == 0 {
		return nil, errors.New("core: source, policy, recorder and an engine are required")
	}
	if o.MaxConcurrent < 0 {
		return nil, errors.New("core: MaxConcurrent is negative")
	}
	return &Runtime{
		source: o.Source, policy: o.Policy, recorder: o.Recorder, engines: o.Engines,
		gate:      newGate(withDefault(o.MaxConcurrent, 16), max(0, withDefault(o.MaxQueue, 64))),
		queueTime: o.QueueTime,
		calls:     make(map[durward.CallID]context.CancelFunc),
		drained:   make(chan struct{}),
	}, nil
}

func withDefault(n, d int) int {
	if n == 0 {
		return d
	}
	return n
}

// Do runs one call to its end.
//
// The result is meaningful together with an error of kind Timeout, Cancelled or
// TooLarge: it holds what was captured until then.
func (r *Runtime) Do(ctx context.Context, c durward.Call) (durward.Result, error) {
	j, err := r.begin(ctx, c)
	if err != nil {
		return durward.Result{}, err
	}
	result, err := j.run()
	return j.end(result, err)
}

// Refuse records that a door does not take a call on, and gives the error to answer it
// with: why, or that it could not be recorded. Nothing of the call is done.
func (r *Runtime) Refuse(c durward.Call, why error) (err error) {
	defer caught(&err)
	j := r.newJob(context.Background(), c)
	defer j.cancel()
	if tool, err := r.source.Find(j.ctx, c.Tool); err == nil {
		j.call.Server = tool.Server
		j.decision.PolicyHash = r.policy.Decide(j.call, tool).PolicyHash
	}
	return j.deny(why)
}

// Answer records a call that its door answers by itself, without an engine or a slot: it has no
// effect but its answer. Rule says what allows it.
func (r *Runtime) Answer(ctx context.Context, c durward.Call, rule string, answer func() durward.Result) (durward.Result, error) {
	j := r.newJob(ctx, c)
	if err := r.enlist(j.call.ID, j.cancel); err != nil {
		j.cancel()
		return durward.Result{}, j.deny(err)
	}
	j.decision = durward.Decision{
		Allow: true, Rule: rule, PolicyHash: r.policy.Decide(j.call, durward.Tool{ID: c.Tool}).PolicyHash,
		Grant: durward.Grant{Limits: durward.Limits{Output: durward.Unlimited}},
	}
	if err := r.recorder.Intent(j.call, j.decision); err != nil {
		j.leave()
		return durward.Result{}, unrecorded(err, nil)
	}
	result, err := j.answer(answer)
	return j.end(result, err)
}

// Open starts one call and lets it go on as a session. The end of ctx cancels the
// session, so ctx must live as long as the session is to. events may be nil.
func (r *Runtime) Open(ctx context.Context, c durward.Call, events durward.Events) (durward.Session, error) {
	s, follow, err := r.Begin(ctx, c, events)
	if err == nil {
		go follow() // ends with the session, which the job's context bounds
	}
	return s, err
}

// Begin is Open for a caller that has a goroutine left: follow, which it calls once, comes back
// when the session has ended and that is recorded and told.
func (r *Runtime) Begin(ctx context.Context, c durward.Call, events durward.Events) (_ durward.Session, follow func(), err error) {
	j, err := r.begin(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	inner, wait, err := j.open(events)
	if err != nil {
		_, err = j.end(durward.Result{}, err)
		return nil, nil, err
	}
	s := &session{Session: inner, ended: make(chan struct{}), told: make(chan struct{})}
	return s, func() { s.follow(j, wait, events) }, nil
}

// Load says how many calls have a slot, and how many wait for one or for their turn at an engine.
func (r *Runtime) Load() (running, waiting int) {
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	return r.gate.running, len(r.gate.waiting) + int(r.queuing.Load())
}

// Shutdown refuses further calls and waits for those in flight. When ctx ends first
// it cancels them, and still waits until they are over.
func (r *Runtime) Shutdown(ctx context.Context) {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		r.closeIfDrained()
	}
	r.mu.Unlock()
	select {
	case <-r.drained:
		return
	case <-ctx.Done():
	}
	r.mu.Lock()
	for _, cancel := range r.calls {
		cancel()
	}
	r.mu.Unlock()
	<-r.drained
}

func (r *Runtime) enlist(id durward.CallID, cancel context.CancelFunc) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return &durward.Error{
			Reason: durward.ShuttingDown, Op: "admit", Retry: true, Hint: "try again after the restart",
		}
	}
	if _, taken := r.calls[id]; taken {
		return &durward.Error{Reason: durward.BadCall, Op: "admit", Err: fmt.Errorf("call id %s is in use", id)}
	}
	r.calls[id] = cancel
	r.pulse.start(r.beat)
	return nil
}

func (r *Runtime) dismiss(id durward.CallID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, id)
	r.closeIfDrained()
}

func (r *Runtime) closeIfDrained() {
	if r.closed && len(r.calls) == 0 {
		close(r.drained)
	}
}

// stamp gives a call the id, the trace and the time it came without.
func stamp(c durward.Call) durward.Call {
	if c.ID == "" {
		c.ID = newCallID(time.Now())
	}
	if c.Trace.IsZero() {
		c.Trace = newTrace()
	}
	if c.Arrived.IsZero() {
		c.Arrived = time.Now()
	}
	return c
}
