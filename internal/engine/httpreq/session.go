package httpreq

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/chunks"
)

// chunkBytes is the most that one chunk of a body holds.
const chunkBytes = 64 << 10

// A session is an answer that comes piece by piece.
type session struct {
	ring   *chunks.Ring
	cancel context.CancelFunc

	done   chan struct{} // closed when result and err are set
	result durward.Result
	err    error
}

// Open sends the request and hands on what comes, in the background. What keeps the head
// from coming is an error of Wait.
func (p *prepared) Open(ctx context.Context, events durward.Events) (durward.Session, error) {
	if ctx.Err() != nil {
		return nil, durward.Ended(ctx, op)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &session{
		ring:   chunks.New(chunks.Options{Limit: max(p.limits.Output, chunkBytes), Keep: p.keep, Events: events}),
		cancel: cancel, done: make(chan struct{}),
	}
	stop := context.AfterFunc(ctx, s.ring.Abandon) // nobody may be left to read
	go func() {
		defer close(s.done)
		defer cancel()
		defer stop()
		s.result, s.err = p.carryOut(ctx, s.pass)
		s.ring.End()
	}()
	return s, nil
}

// pass hands an answer on.
func (s *session) pass(a *answer, body *measured) error {
	head, err := form(a, []byte{})
	if err != nil {
		return err
	}
	s.ring.Put(durward.Head, head)
	room := make([]byte, chunkBytes)
	for {
		n, err := body.Read(room)
		if n > 0 {
			s.ring.Put(durward.Body, room[:n])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Write has nobody to give anything to.
func (s *session) Write(context.Context, []byte) (int, error) {
	return 0, &durward.Error{Reason: durward.InputClosed, Op: op, Err: errors.New("the whole request was in the call")}
}

// CloseInput finds the input closed.
func (s *session) CloseInput() error { return nil }

// Signal has no process to go to.
func (s *session) Signal(int) error { return noCommand }

// Resize has no terminal to go to.
func (s *session) Resize(durward.WindowSize) error { return noCommand }

var noCommand = &durward.Error{Reason: durward.NotSupported, Op: op, Err: errors.New("a request is no command")}

// Read gives the chunks behind the cursor.
func (s *session) Read(ctx context.Context, after uint64, maxBytes int, wait time.Duration) (durward.Page, error) {
	return s.ring.Page(ctx, after, maxBytes, wait)
}

// Cancel breaks the connection.
func (s *session) Cancel() { s.cancel() }

// Ack says that every chunk up to a number has been taken.
func (s *session) Ack(seq uint64) { s.ring.Ack(seq) }

// Kill ends the request as Cancel does.
func (s *session) Kill() { s.cancel() }

// Wait blocks until the answer is there or given up, and nothing is open.
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
