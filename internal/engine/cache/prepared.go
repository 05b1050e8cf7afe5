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

// Queue changes nothing yet.
func (c *changing) Queue(ctx context.Context) error { return core.Queue(ctx, c.Prepared) }

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

	begun, freed bool
	found        *durward.Result // what was kept; nil for nothing
	flight       *flight         // that the call is on; nil before it has boarded
	first        bool            // of those on it
}

// Close frees what has not been begun. Who begins it frees it.
func (k *keeping) Close() error {
	if k.begun {
		return nil
	}
	return k.free()
}

func (k *keeping) free() error {
	switch {
	case k.freed || k.found != nil:
		return nil
	case k.flight == nil:
		return k.inner.Close()
	}
	k.freed = true
	if k.flight.leave(context.Canceled) {
		<-k.flight.done
	}
	return nil
}

// Queue waits until the call that is done for this one has its turn, if there is anything to be
// done for it.
func (k *keeping) Queue(ctx context.Context) error {
	if err := k.board(ctx); err != nil || k.found != nil {
		return err
	}
	f := k.flight
	select {
	case <-f.ready:
		return nil
	case <-f.done:
		return f.err
	case <-ctx.Done():
	}
	k.freed = true
	if f.leave(context.Cause(ctx)) {
		if <-f.done; f.err != nil {
			return f.err
		}
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &durward.Error{
			Reason: durward.QueueTimeout, Op: op, Retry: true, Hint: "allow more time",
			Err: errors.New("an equal call waited for its server all the time"),
		}
	}
	return durward.Ended(ctx, op)
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
		return durward.Result{}, errors.Join(durward.Ended(ctx, op), k.free())
	}
	if err := k.board(ctx); err != nil {
		return durward.Result{}, err
	}
	if k.found != nil {
		return *k.found, nil
	}
	k.flight.listen(&events)
	k.flight.begin(events != nil)
	result, err := k.flight.wait(ctx, &events)
	result.Cached = !k.first && err == nil
	return result, err
}

// board finds what is kept, or the flight on which the call is from now on, unless it was found
// before. The call itself is closed where another one is done for it.
func (k *keeping) board(ctx context.Context) error {
	if k.found != nil || k.flight != nil {
		return nil
	}
	s := k.server
	s.mu.Lock()
	if kept, ok := s.find(k.key); ok {
		kept.Cached = true
		k.found = &kept
	} else {
		k.flight, k.first = s.flightOf(ctx, k)
	}
	s.mu.Unlock()
	if k.first {
		return nil
	}
	return k.inner.Close()
}
