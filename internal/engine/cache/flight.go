package cache

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A flight is one call that is done for all who ask for the same meanwhile. It goes on as long as
// somebody waits for it.
type flight struct {
	*keeping   // the first of them
	ctx        context.Context
	cancel     context.CancelCauseFunc
	generation uint64
	aboard     int // guarded by the server's mu; who waits

	ready  chan struct{} // closed when it is the call's turn at its engine
	start  sync.Once
	begun  chan struct{} // closed when one of those aboard may have it run
	aloud  bool          // set before begun is closed; its progress is told
	done   chan struct{} // closed when result and err are set
	result durward.Result
	err    error

	ears sync.Mutex
	told []*durward.Events // guarded by ears, also while they are told
}

// flightOf takes a call aboard the flight that is for it, and tells whether that is a new one. It
// needs mu.
func (s *server) flightOf(ctx context.Context, k *keeping) (f *flight, first bool) {
	if f = s.flights[k.key]; f == nil {
		first = true
		f = &flight{keeping: k, generation: s.generation, ready: make(chan struct{}), begun: make(chan struct{}), done: make(chan struct{})}
		f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		s.flights[k.key] = f
		go f.fly()
	}
	f.aboard++
	return f, first
}

// begin has the call run. What the first one says who begins it counts.
func (f *flight) begin(aloud bool) {
	f.start.Do(func() {
		f.aloud = aloud
		close(f.begun)
	})
}

// fly does the call, once one of those aboard has begun it. It ends before the last of those who
// wait for it come back.
func (f *flight) fly() {
	defer close(f.done)
	defer f.cancel(nil)
	f.result, f.err = f.work()
	f.err = errors.Join(f.err, f.inner.Close())
	s := f.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flights[f.key] != f {
		return // all have left, and another one may be under way
	}
	delete(s.flights, f.key)
	if f.err == nil && !f.result.Failed && s.generation == f.generation {
		s.keep(f.key, f.shelf, f.result)
	}
}

func (f *flight) work() (durward.Result, error) {
	if err := core.Queue(f.ctx, f.inner); err != nil {
		return durward.Result{}, err
	}
	close(f.ready)
	select {
	case <-f.begun:
	case <-f.ctx.Done():
		return durward.Result{}, durward.Ended(f.ctx, op)
	}
	if !f.aloud {
		return f.inner.Run(f.ctx)
	}
	session, err := open(f.ctx, f.inner, f)
	if err != nil {
		return durward.Result{}, err
	}
	result, err := session.Wait(context.WithoutCancel(f.ctx)) // the end of which ends the session
	return result, errors.Join(err, session.Close())
}

// wait gives what the flight came to, unless ctx ends first. The last who leaves so ends it.
func (f *flight) wait(ctx context.Context, events *durward.Events) (durward.Result, error) {
	defer f.hush(events)
	select {
	case <-f.done:
		return f.result, f.err
	case <-ctx.Done():
	}
	if f.leave(context.Cause(ctx)) {
		<-f.done
		return f.result, f.err
	}
	return durward.Result{}, durward.Ended(ctx, op)
}

// leave reports whether nobody is left.
func (f *flight) leave(why error) (last bool) {
	s := f.server
	s.mu.Lock()
	defer s.mu.Unlock()
	f.aboard--
	if f.aboard > 0 {
		return false
	}
	if s.flights[f.key] == f {
		delete(s.flights, f.key)
	}
	f.cancel(why)
	return true
}

func (f *flight) listen(events *durward.Events) {
	if *events == nil {
		return
	}
	f.ears.Lock()
	defer f.ears.Unlock()
	f.told = append(f.told, events)
}

// hush has events be told nothing any more once it returns.
func (f *flight) hush(events *durward.Events) {
	if *events == nil {
		return
	}
	f.ears.Lock()
	defer f.ears.Unlock()
	if i := slices.Index(f.told, events); i >= 0 {
		f.told = slices.Delete(f.told, i, i+1)
	}
}

func (f *flight) tell(what func(durward.Events)) {
	f.ears.Lock()
	defer f.ears.Unlock()
	for _, events := range f.told {
		what(*events)
	}
}

// Output tells all who listen.
func (f *flight) Output(c durward.Chunk) { f.tell(func(e durward.Events) { e.Output(c) }) }

// Progress tells all who listen.
func (f *flight) Progress(done, total float64, message string) {
	f.tell(func(e durward.Events) { e.Progress(done, total, message) })
}

// Log tells all who listen.
func (f *flight) Log(level, message string) {
	f.tell(func(e durward.Events) { e.Log(level, message) })
}

// Ask has nobody to ask: an answer would be that of one of several.
func (f *flight) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, &durward.Error{Reason: durward.NotSupported, Op: op, Err: errors.New("a call whose result is kept cannot ask its caller")}
}

// CanAsk reports that nothing can be asked.
func (f *flight) CanAsk(string) bool { return false }

// Answers reports that nothing would be answered, so that the server is offered nothing.
func (f *flight) Answers(string) bool { return false }

// Ended is for the core to tell.
func (f *flight) Ended(durward.Result) {}
