package mcpclient

import (
	"context"
	"errors"
	"time"

	"github.com/durward/durward"
)

// A session is a call whose progress somebody hears of. It has no streams.
type session struct {
	cancel context.CancelFunc

	done   chan struct{} // closed when result and err are set
	result durward.Result
	err    error
}

// Open has the server do the call in the background. Events are told of its progress, in the
// order in which the server reports it, and of nothing behind its end.
func (p *prepared) Open(ctx context.Context, events durward.Events) (durward.Session, error) {
	if ctx.Err() != nil {
		return nil, durward.Ended(ctx, op)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &session{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer cancel()
		s.result, s.err = p.carryOut(ctx, events)
	}()
	return s, nil
}

var errNoStreams = &durward.Error{Reason: durward.NotSupported, Op: op, Err: errors.New("a call of an MCP server has no streams")}

// Write has nobody to give anything to.
func (s *session) Write(context.Context, []byte) (int, error) { return 0, errNoStreams }

// CloseInput finds the input closed.
func (s *session) CloseInput() error { return nil }

// Signal has no process to go to.
func (s *session) Signal(int) error { return errNoStreams }

// Resize has no terminal to go to.
func (s *session) Resize(durward.WindowSize) error { return errNoStreams }

// Read has nothing to give. It waits for the end.
func (s *session) Read(ctx context.Context, after uint64, _ int, wait time.Duration) (durward.Page, error) {
	if isClosed(s.done) {
		return durward.Page{Next: after, Ended: true}, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.done:
		return durward.Page{Next: after, Ended: true}, nil
	case <-timer.C:
		return durward.Page{Next: after}, nil
	case <-ctx.Done():
		return durward.Page{}, durward.Ended(ctx, "read")
	}
}

// Ack has nothing to let go of.
func (s *session) Ack(uint64) {}

// Cancel tells the server that the call is over.
func (s *session) Cancel() { s.cancel() }

// Kill ends the call as Cancel does.
func (s *session) Kill() { s.cancel() }

// Wait blocks until the call has been answered or given up.
func (s *session) Wait(ctx context.Context) (durward.Result, error) {
	select {
	case <-s.done:
		return s.result, s.err
	case <-ctx.Done():
		return durward.Result{}, durward.Ended(ctx, "wait")
	}
}

// Close cancels and waits for the end.
func (s *session) Close() error {
	s.cancel()
	<-s.done
	return nil
}
