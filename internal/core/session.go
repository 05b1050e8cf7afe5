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

// follow waits for the end of a session in the background; the goroutine ends with
// the session, which the job's context bounds.
func follow(j *job, inner durward.Session, events durward.Events) *session {
	s := &session{Session: inner, ended: make(chan struct{}), told: make(chan struct{})}
	go func() {
		defer close(s.told)
		s.result, s.err = j.end(j.wait(inner))
		close(s.ended)
		if events != nil {
			events.Ended(s.result)
		}
	}()
	return s
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
