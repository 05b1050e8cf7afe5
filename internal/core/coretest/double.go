package coretest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A PolicyFunc is a test double of a policy: one function.
type PolicyFunc func(c durward.Call, t durward.Tool) durward.Decision

// Decide calls the function.
func (f PolicyFunc) Decide(c durward.Call, t durward.Tool) durward.Decision { return f(c, t) }

// AllowAll is a test double of a policy that permits every call under one grant.
func AllowAll(g durward.Grant) core.Policy {
	return PolicyFunc(func(durward.Call, durward.Tool) durward.Decision {
		return durward.Decision{Allow: true, Rule: "allowAll", PolicyHash: "sha256:00", Grant: g}
	})
}

// A Script is a test double of an engine that does what a test wrote down. The zero
// value holds every field of a grant, permits every call and does nothing.
type Script struct {
	// Holds is what the engine declares; nil means every field.
	Holds []durward.GrantField
	// OnPrepare may refuse the call.
	OnPrepare func(ctx context.Context, c durward.Call) error
	OnRun     func(ctx context.Context, c durward.Call) (durward.Result, error)
	// OnOpen starts a session. Without it the engine has none.
	OnOpen func(ctx context.Context, c durward.Call, events durward.Events) (durward.Session, error)
	// OnPlan says what would be run. Without it the engine does not.
	OnPlan func() core.Plan
	// OnRefused is given who is to be told of refusals.
	OnRefused func(tell func(durward.Contact))
	OnClose   func() error
}

// Enforces gives Holds.
func (s *Script) Enforces() []durward.GrantField {
	if s.Holds != nil {
		return s.Holds
	}
	return []durward.GrantField{
		durward.FieldLevel, durward.FieldFiles, durward.FieldNetwork, durward.FieldEnv, durward.FieldIdentity, durward.FieldLimits,
	}
}

// Prepare follows OnPrepare.
func (s *Script) Prepare(ctx context.Context, _ durward.Tool, c durward.Call, _ durward.Grant) (core.Prepared, error) {
	if s.OnPrepare != nil {
		if err := s.OnPrepare(ctx, c); err != nil {
			return nil, err
		}
	}
	p := &scriptPrepared{script: s, call: c}
	switch {
	case s.OnOpen != nil:
		return &scriptOpener{p}, nil
	case s.OnPlan != nil:
		return &scriptPlanner{p}, nil
	}
	return p, nil
}

type scriptPrepared struct {
	script *Script
	call   durward.Call
	closed sync.Once
}

func (p *scriptPrepared) Run(ctx context.Context) (durward.Result, error) {
	if p.script.OnRun == nil {
		return durward.Result{}, nil
	}
	return p.script.OnRun(ctx, p.call)
}

func (p *scriptPrepared) Close() (err error) {
	if p.script.OnClose != nil {
		p.closed.Do(func() { err = p.script.OnClose() })
	}
	return err
}

func (p *scriptPrepared) OnRefused(tell func(durward.Contact)) {
	if p.script.OnRefused != nil {
		p.script.OnRefused(tell)
	}
}

type scriptPlanner struct{ *scriptPrepared }

func (p *scriptPlanner) Plan(context.Context) core.Plan { return p.script.OnPlan() }

type scriptOpener struct{ *scriptPrepared }

func (o *scriptOpener) Open(ctx context.Context, events durward.Events) (durward.Session, error) {
	return o.script.OnOpen(ctx, o.call, events)
}

// A ScriptSession is a test double of a session that goes on until it is told to end,
// is cancelled, or its context ends. It has no input, no output and no terminal.
type ScriptSession struct {
	ended  chan struct{} // closed when result and err are set
	once   sync.Once
	cancel context.CancelFunc
	result durward.Result
	err    error
}

// NewScriptSession starts a session.
func NewScriptSession(ctx context.Context) *ScriptSession {
	ctx, cancel := context.WithCancel(ctx)
	s := &ScriptSession{ended: make(chan struct{}), cancel: cancel}
	context.AfterFunc(ctx, func() { s.End(durward.Result{}, EndOf(ctx)) })
	return s
}

// EndOf gives the error with which an engine answers the end of a context.
func EndOf(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &durward.Error{Reason: durward.DeadlineExceeded, Op: "script", Err: ctx.Err()}
	}
	return &durward.Error{Reason: durward.CallCancelled, Op: "script", Err: ctx.Err()}
}

// End ends the session in this way, unless it has ended.
func (s *ScriptSession) End(result durward.Result, err error) {
	s.once.Do(func() {
		s.result, s.err = result, err
		close(s.ended)
	})
	s.cancel()
}

// Write refuses.
func (s *ScriptSession) Write(context.Context, []byte) (int, error) { return 0, s.refuse("write") }

// CloseInput refuses.
func (s *ScriptSession) CloseInput() error { return s.refuse("closeInput") }

// Signal refuses.
func (s *ScriptSession) Signal(int) error { return s.refuse("signal") }

// Resize refuses.
func (s *ScriptSession) Resize(durward.WindowSize) error { return s.refuse("resize") }

// Read gives an empty page.
func (s *ScriptSession) Read(context.Context, uint64, int, time.Duration) (durward.Page, error) {
	select {
	case <-s.ended:
		return durward.Page{Ended: true}, nil
	default:
		return durward.Page{}, nil
	}
}

// Cancel ends the session.
func (s *ScriptSession) Cancel() { s.cancel() }

// Ack does nothing: there is no output.
func (s *ScriptSession) Ack(uint64) {}

// Kill ends the session as Cancel does.
func (s *ScriptSession) Kill() { s.cancel() }

// Wait waits for the end.
func (s *ScriptSession) Wait(ctx context.Context) (durward.Result, error) {
	select {
	case <-s.ended:
		return s.result, s.err
	case <-ctx.Done():
		return durward.Result{}, EndOf(ctx)
	}
}

// Close cancels and waits for the end.
func (s *ScriptSession) Close() error {
	s.cancel()
	<-s.ended
	return nil
}

func (s *ScriptSession) refuse(op string) error {
	return &durward.Error{Reason: durward.NotSupported, Op: op}
}
