package cache

import (
	"context"
	"errors"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// changing is a call that may change what others would read.
type changing struct {
	core.Prepared
	server *server
}

// Run has nothing be given any more that is older than the call's beginning or its end.
func (c *changing) Run(ctx context.Context) (durward.Result, error) {
	c.server.clear()
	defer c.server.clear()
	return c.Prepared.Run(ctx)
}

// Open is likewise.
func (c *changing) Open(ctx context.Context, events durward.Events) (durward.Session, error) {
	c.server.clear()
	inner, err := open(ctx, c.Prepared, events)
	if err != nil {
		c.server.clear()
		return nil, err
	}
	return changingSession{inner, c.server}, nil
}

func open(ctx context.Context, p core.Prepared, events durward.Events) (durward.Session, error) {
	opener, ok := p.(core.Opener)
	if !ok {
		return nil, &durward.Error{Reason: durward.NotSupported, Op: op, Err: errors.New("the tool does not run as a session")}
	}
	return opener.Open(ctx, events)
}

type changingSession struct {
	durward.Session
	server *server
}

// Wait clears before anybody hears of the end.
func (s changingSession) Wait(ctx context.Context) (durward.Result, error) {
	defer s.server.clear()
	return s.Session.Wait(ctx)
}

// keeping is a call whose result may be there, or is kept.
type keeping struct {
	inner  core.Prepared
	server *server
	shelf  *shelf
	key    key
	begun  bool
}

// Close frees what has not been begun. Who begins it frees it.
func (k *keeping) Close() error {
	if k.begun {
		return nil
	}
	return k.inner.Close()
}

// Run gives the result that is there, waits for an equal call that is being done, or does it.
func (k *keeping) Run(ctx context.Context) (durward.Result, error) {
	k.begun = true
	return k.do(ctx, nil)
}

// Open is Run in the background. Events are told of the progress that is made while it waits, if
// the first of equal calls asked for that.
func (k *keeping) Open(ctx context.Context, events durward.Events) (durward.Session, error) {
	if ctx.Err() != nil {
		return nil, durward.Ended(ctx, op)
	}
	k.begun = true
	return core.Background(ctx, op, func(ctx context.Context) (durward.Result, error) { return k.do(ctx, events) }), nil
}

func (k *keeping) do(ctx context.Context, events durward.Events) (durward.Result, error) {
	if ctx.Err() != nil {
		return durward.Result{}, errors.Join(durward.Ended(ctx, op), k.inner.Close())
	}
	kept, f, first := k.board(ctx, &events)
	if !first {
		if err := k.inner.Close(); err != nil {
			return durward.Result{}, err
		}
	}
	if f == nil {
		kept.Cached = true
		return kept, nil
	}
	result, err := f.wait(ctx, &events)
	result.Cached = !first && err == nil
	return result, err
}

// board gives what is kept, or the flight on which the call is, and whether it is the first there.
func (k *keeping) board(ctx context.Context, events *durward.Events) (kept durward.Result, f *flight, first bool) {
	s := k.server
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.find(k.key)
	if ok {
		return kept, nil, false
	}
	if f = s.flights[k.key]; f == nil {
		first = true
		f = newFlight(ctx, k)
		s.flights[k.key] = f
	}
	f.aboard++
	f.listen(events)
	if first {
		go f.fly(*events != nil)
	}
	return kept, f, first
}
