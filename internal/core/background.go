package core

import (
	"context"
	"errors"
	"time"

	"github.com/durward/durward"
)

// background is a call that goes on as a session and has no streams.
type background struct {
	op     string
	cancel context.CancelFunc

	done   chan struct{} // closed when result and err are set
	result durward.Result
	err    error
}

// Background has work go on as a session without streams, for engines whose calls have none. The
// work is given a context that ends with ctx, or when the session is cancelled, and comes back
// soon after that. op is what errors of the session are said to be of.
func Background(ctx context.Context, op string, work func(context.Context) (durward.Result, error)) durward.Session {
	ctx, cancel := context.WithCancel(ctx)
	s := &background{op: op, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer cancel()
		defer caught(&s.err)
		s.result, s.err = work(ctx)
	}()
	return s
}

func (s *background) noStreams() error {
	return &durward.Error{Reason: durward.NotSupported, Op: s.op, Err: errors.New("the call has no streams")}
}

// Write has nobody to give anything to.
func (s *background) Write(context.Context, []byte) (int, error) { return 0, s.noStreams() }

// CloseInput finds the input closed.
func (s *background) CloseInput() error { return nil }

// Signal has no process to go to.
func (s *background) Signal(int) error { return s.noStreams() }

// Resize has no terminal to go to.
func (s *background) Resize(durward.WindowSize) error { return s.noStreams() }

// Read has nothing to give. It waits for the end.
func (s *background) Read(ctx context.Context, after uint64, _ int, wait time.Duration) (durward.Page, error) {
	over := durward.Page{Next: after, Ended: true}
	select {
	case <-s.done:
		return over, nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.done:
		return over, nil
	case <-timer.C:
		return durward.Page{Next: after}, nil
	case <-ctx.Done():
		return durward.Page{}, durward.Ended(ctx, "read")
	}
}

// Ack has nothing to let go of.
func (s *background) Ack(uint64) {}

// Cancel ends the context of the work.
func (s *background) Cancel() { s.cancel() }

// Kill does as Cancel.
func (s *background) Kill() { s.cancel() }

// Wait blocks until the work has come back.
func (s *background) Wait(ctx context.Context) (durward.Result, error) {
	select {
	case <-s.done:
		return s.result, s.err
	case <-ctx.Done():
		return durward.Result{}, durward.Ended(ctx, "wait")
	}
}

// Close cancels and waits for the end.
func (s *background) Close() error {
	s.cancel()
	<-s.done
	return nil
}
