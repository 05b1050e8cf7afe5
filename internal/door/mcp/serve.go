package mcp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

const (
	// grace is what running calls get to end by themselves once no more are taken.
	grace = 5 * time.Second
	// farewell is what cancelled calls get to end, to be answered, and answers to be read.
	farewell = 5 * time.Second
)

// ErrStuck says that a call did not end although it was cancelled, and goes on.
var ErrStuck = errors.New("a call did not end when it was told to, and is left behind")

// Serve answers what comes in until there is no more, or ctx ends. Calls that run then
// have 5 seconds to end by themselves, or until ctx ends, too; then they are cancelled, and
// Serve waits for them, though within bounds: it comes back after 20 seconds at the latest.
// The error is that of the streams, or has [ErrStuck] in it.
//
// A read that goes on when ctx ends cannot be broken off: it is left behind, as is a
// write that nobody takes.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	s := newSession(o)
	calls, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write(jsonrpc.NewWriter(out))
	}()
	s.running.Go(func() { s.loop(calls, in) })
	hurry := ctx.Done()
	select {
	case <-ctx.Done():
		hurry = nil
	case <-s.ended:
	case <-s.gone:
	}
	stuck := s.finish(cancel, hurry)
	wait(written, nil, nil, farewell)
	return cmp.Or(stuck, s.err, s.readErr)
}

// finish comes back when nothing of the session runs any more but the writer, or with
// ErrStuck. When hurry comes the calls have no more time to end by themselves.
func (s *session) finish(cancel context.CancelCauseFunc, hurry <-chan struct{}) error {
	defer close(s.over)
	close(s.stop)
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		s.running.Wait()
	}()
	wait(idle, s.gone, hurry, grace)
	cancel(&durward.Error{Reason: durward.ShuttingDown, Op: Name})
	wait(idle, s.gone, nil, farewell)
	s.giveUp(nil)
	if !wait(idle, nil, nil, farewell) {
		return &durward.Error{Reason: durward.DeadlineExceeded, Op: Name, Err: ErrStuck}
	}
	return nil
}

// wait waits for one of three events, so long at most, and reports whether the first came.
func wait(one, other, another <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-one:
		return true
	case <-other:
	case <-another:
	case <-timer.C:
	}
	return false
}

// loop takes lines and changes one after the other. Everything that lasts goes on beside
// it.
func (s *session) loop(calls context.Context, in io.Reader) {
	defer close(s.ended)
	defer s.unsubscribeAll()
	lines := make(chan line)
	go read(jsonrpc.NewReader(in, 0), lines, s.stop)
	for {
		select {
		case <-s.stop:
			return
		case _, ok := <-s.Changed:
			s.changed(ok)
		case l := <-lines:
			if err := s.line(calls, l); err != nil {
				if !errors.Is(err, io.EOF) {
					s.readErr = err
				}
				return
			}
		}
	}
}

// A line is what one read gave.
type line struct {
	text []byte
	err  error
}

// read hands on lines until the stream has ended or nobody takes them.
func read(in *jsonrpc.Reader, lines chan<- line, stop <-chan struct{}) {
	for {
		text, err := in.ReadLine()
		select {
		case lines <- line{text, err}:
		case <-stop:
			return
		}
		if err != nil && err != jsonrpc.ErrTooLong {
			return
		}
		// Whoever took the line goes on first, here: the next read keeps this processor for as
		// long as the stream has nothing, and another one would have to be woken.
		runtime.Gosched()
	}
}

// line answers one line, or gives the error that ended the stream.
func (s *session) line(calls context.Context, l line) error {
	switch {
	case l.err == jsonrpc.ErrTooLong:
		s.send(jsonrpc.Message{}.Refuse(jsonrpc.ErrTooLong))
	case l.err != nil:
		return l.err
	case s.version == batchVersion && jsonrpc.IsBatch(l.text):
		s.batch(calls, l.text)
	default:
		if t, ok := s.take(calls, l.text, false); ok {
			s.start(t)
		}
	}
	return nil
}
