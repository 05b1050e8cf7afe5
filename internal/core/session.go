package core

import (
	"context"

	"github.com/durward/durward"
)

// A session is an engine's session whose end is recorded before anybody hears of it.
type session struct {
	durward.Session
	ended  chan struct{} // closed when result and err are set
	told   chan struct{} // closed when the Ended event has been taken, too
	result durward.Result
	err    error
}

// follow waits for the end of a session, records it and tells of it.
func (s *session) follow(j *job, wait func() (durward.Result, error), events durward.Events) {
	defer close(s.told)
	s.result, s.err = j.end(guarded(wait))
	close(s.ended)
	if events != nil {
		events.Ended(s.result)
	}
}

// guarded has a panic of a session end it like an error.
func guarded(wait func() (durward.Result, error)) (result durward.Result, err error) {
	defer caught(&err)
	return wait()
}

// Wait blocks until the call has ended and its outcome is on record.
func (s *session) Wait(ctx context.Context) (durward.Result, error) {
	select {
	case <-s.ended:
		return s.result, s.err
	case <-ctx.Done():
		return durward.Result{}, endError(ctx, "wait", "the session goes on")
	}
}

// Close cancels, waits for the recorded end and frees what the session holds. No event
// comes after it, so an Events must not call it.
func (s *session) Close() error {
	err := s.Session.Close()
	<-s.told
	return err
}
