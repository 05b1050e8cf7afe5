package mcp

import (
	"cmp"
	"context"
	"errors"
	"io"
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
	s := newSession(o, out)
	calls, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write()
	}()
	lines := jsonrpc.NewReader(in, 0)
	s.running.Go(s.follow)
	s.running.Go(func() { s.relay.watch(s.stop, func() { go s.read(calls, lines) }) })
	go s.read(calls, lines)
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
	s.takeNoMore()
	s.running.Go(s.unsubscribeAll)
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
