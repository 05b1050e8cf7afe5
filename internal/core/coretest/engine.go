package coretest

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A Subject is an engine with calls that make it do what a battery looks at. All calls
// are permitted under Grant, and it serves Tool.
type Subject struct {
	Engine core.Engine
	Tool   durward.Tool
	// Grant is what the calls run under. The batteries change limits of it.
	Grant durward.Grant
	Calls
	// Settle waits until the engine has done what it does when a call has been answered. Nil
	// waits for nothing.
	Settle func()
	// LetsGoLate is set where what a cancelled call holds may be let go a moment after its answer.
	LetsGoLate bool
}

// gone reports whether a call that has ended left nothing.
func (s Subject) gone(t testing.TB, w Work) bool {
	for ctx := within(t); s.LetsGoLate && !w.Gone() && ctx.Err() == nil; {
		runtime.Gosched()
	}
	return w.Gone()
}

func (s Subject) settle() {
	if s.Settle != nil {
		s.Settle()
	}
}

// Calls are what a [Subject] can be asked to do.
type Calls struct {
	// Succeeds ends well. Fails ends with an error by the tool's own account; it is the
	// zero Call where the tool has no way to.
	Succeeds, Fails durward.Call
	// Noisy ends well once it has printed 1 MiB or more to each stream it has.
	Noisy durward.Call
	// Refused is a call that Prepare refuses, as late as possible.
	Refused durward.Call
	// Marks gives a call that makes a file at path, which is in Dir.
	Marks func(path string) durward.Call
	// Dir is a folder that the calls can write to.
	Dir string
	// Endless gives work that never ends by itself. It is called once for each run.
	Endless func(t testing.TB) Work

	// Echo writes what it reads to its standard output, until its input ends. [Session]
	// needs it and what follows; [Engine] does not.
	Echo durward.Call
	// Sizes has a terminal. For each line it reads it prints the terminal's size, as
	// "rows cols".
	Sizes durward.Call
}

// Work is a call that somebody watches.
type Work struct {
	Call durward.Call
	Watch
}

// A Watch observes work from outside the engine.
type Watch struct {
	// Started waits until the work has begun.
	Started func(ctx context.Context) error
	// Gone reports whether nothing of the work is left, at this moment.
	Gone func() bool
}

// Between watches work by two channels, which are closed when it begins and when it is over.
func Between(began, ended <-chan struct{}) Watch {
	return Watch{
		Started: func(ctx context.Context) error {
			select {
			case <-began:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Gone: func() bool { <-ended; return true },
	}
}

// Engine holds an engine to the rules of [core.Engine] and [core.Prepared].
func Engine(t *testing.T, fresh func(t *testing.T) Subject) {
	holdAll(t, fresh, engineRules)
}

var engineRules = []rule[Subject]{
	{"a call that succeeds is a result without an error", func(t testing.TB, s Subject) {
		if result, err := s.do(within(t), t, s.Succeeds); err != nil || durward.OutcomeOf(result, err) != durward.OutcomeOK {
			t.Errorf("it ended with %v, %v", result, err)
		}
	}},
	{"a tool that fails by its own account is a result too", func(t testing.TB, s Subject) {
		if s.Fails.Argv == nil && s.Fails.Input == nil {
			return
		}
		if result, err := s.do(within(t), t, s.Fails); err != nil || durward.OutcomeOf(result, err) != durward.OutcomeToolError {
			t.Errorf("it ended with %v, %v", result, err)
		}
	}},
	{"prepare changes nothing, run does", func(t testing.TB, s Subject) {
		mark := filepath.Join(s.Dir, "mark")
		p := s.prepare(t, s.Marks(mark))
		defer p.Close()
		if exists(mark) {
			t.Fatal("Prepare has made the file")
		}
		if _, err := p.Run(within(t)); err != nil || !exists(mark) {
			t.Fatalf("after Run the file exists: %t, %v", exists(mark), err)
		}
	}},
	{"a call closed without being run has not happened", func(t testing.TB, s Subject) {
		mark := filepath.Join(s.Dir, "mark")
		closeTwice(t, s.prepare(t, s.Marks(mark)))
		if exists(mark) {
			t.Error("the file is there")
		}
	}},
	{"a context that ended before starts nothing", func(t testing.TB, s Subject) {
		mark := filepath.Join(s.Dir, "mark")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p := s.prepare(t, s.Marks(mark))
		defer p.Close()
		if _, err := p.Run(ctx); durward.KindOf(err) != durward.Cancelled || exists(mark) {
			t.Errorf("Run says %v, and the file exists: %t", err, exists(mark))
		}
	}},
	{"cancelling stops the work", func(t testing.TB, s Subject) {
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		work := s.Endless(t)
		var err error
		running := make(chan struct{})
		go func() {
			defer close(running)
			_, err = s.do(ctx, t, work.Call)
		}()
		begun := work.Started(within(t))
		cancel()
		soon(t, "a cancelled call", func() { <-running })
		if gone := s.gone(t, work); begun != nil || durward.KindOf(err) != durward.Cancelled || !gone {
			t.Errorf("started: %v, ended with %v, gone: %t", begun, err, gone)
		}
	}},
	{"a deadline stops the work", func(t testing.TB, s Subject) {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		work := s.Endless(t)
		var err error
		soon(t, "a call after its deadline", func() { _, err = s.do(ctx, t, work.Call) })
		if gone := s.gone(t, work); durward.KindOf(err) != durward.Timeout || !gone {
			t.Errorf("it ended with %v, gone: %t", err, gone)
		}
	}},
	{"what is kept of an output is bounded", func(t testing.TB, s Subject) {
		const limit = 4096
		s.Grant.Limits.Output = limit
		for _, keep := range []durward.Keep{durward.KeepHead, durward.KeepFirst, durward.KeepLast, durward.KeepHeadTail, durward.KeepRefuse} {
			s.Grant.Keep = keep
			result, err := s.do(within(t), t, s.Noisy)
			checkBounded(t, keep, result, err, limit)
		}
	}},
	{"thirty-two at once do not meet", func(t testing.TB, s Subject) {
		var callers sync.WaitGroup
		for range 32 {
			callers.Go(func() {
				if result, err := s.do(within(t), t, s.Succeeds); err != nil || durward.OutcomeOf(result, err) != durward.OutcomeOK {
					t.Errorf("one of many ended with %v, %v", result, err)
				}
			})
		}
		soon(t, "32 calls", callers.Wait)
	}},
	{"one that is cancelled does not touch the others", func(t testing.TB, s Subject) {
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		doomed, other := s.start(ctx, t), s.start(within(t), t)
		cancel()
		soon(t, "the cancelled call", doomed.wait)
		if one, two := s.gone(t, doomed.Work), other.Gone(); !one || two {
			t.Errorf("the cancelled call is gone: %t, the other one: %t", one, two)
		}
		other.cancel()
		soon(t, "the other call", other.wait)
	}},
	{"a refusal has a reason", func(t testing.TB, s Subject) {
		p, err := s.Engine.Prepare(within(t), s.Tool, s.Refused, s.Grant)
		if p != nil || err == nil || durward.ReasonOf(err) == "" {
			t.Errorf("Prepare gives %v, %v", p, err)
		}
	}},
	{"nothing stays open", func(t testing.TB, s Subject) {
		if _, err := s.do(within(t), t, s.Succeeds); err != nil { // what an engine opens once
			t.Fatal(err)
		}
		s.settle()
		before := descriptors(t)
		for _, c := range []durward.Call{s.Succeeds, s.Fails, s.Noisy} {
			_, _ = s.do(within(t), t, c)
			s.settle()
		}
		closeTwice(t, s.prepare(t, s.Succeeds))
		_, _ = s.Engine.Prepare(within(t), s.Tool, s.Refused, s.Grant)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, _ = s.do(ctx, t, s.Succeeds)
		closed(t, before)
	}},
	{"what is declared is said without repeats", func(t testing.TB, s Subject) {
		seen := map[durward.GrantField]bool{}
		for _, field := range s.Engine.Enforces() {
			if seen[field] {
				t.Errorf("%s is declared twice", field)
			}
			seen[field] = true
		}
	}},
}

// checkBounded holds each way to keep output to what it promises of a call that
// printed more than limit.
func checkBounded(t testing.TB, keep durward.Keep, r durward.Result, err error, limit int) {
	t.Helper()
	if keep == durward.KeepRefuse || (err != nil && r.Stdout.Total+r.Stderr.Total == 0) {
		if durward.KindOf(err) != durward.TooLarge {
			t.Errorf("%s: it ended with %v; want %v", keep, err, durward.TooLarge)
		}
		return
	}
	if both := len(r.Stdout.Bytes()) + len(r.Stderr.Bytes()); (keep == durward.KeepFirst || keep == durward.KeepLast) && both > limit {
		t.Errorf("%s: %d bytes of both streams are kept; the limit is %d", keep, both, limit)
	}
	for _, c := range []durward.Capture{r.Stdout, r.Stderr} {
		if len(c.Bytes()) > limit || c.Dropped() < 0 {
			t.Errorf("%s: %d bytes of %d are kept; the limit is %d", keep, len(c.Bytes()), c.Total, limit)
		}
		if len(c.Tail) > 0 && (keep == durward.KeepHead || keep == durward.KeepFirst) {
			t.Errorf("%s: a tail of %d bytes is kept", keep, len(c.Tail))
		}
	}
	if err != nil || len(r.Output) > limit || !r.Truncated() {
		t.Errorf("%s: it ended with %v, %d bytes of output, truncated: %t", keep, err, len(r.Output), r.Truncated())
	}
	if r.Stdout.Total < 1<<20 {
		t.Errorf("%s: %d bytes were counted; at least 1 MiB was printed", keep, r.Stdout.Total)
	}
}

func (s Subject) prepare(t testing.TB, c durward.Call) core.Prepared {
	t.Helper()
	p, err := s.Engine.Prepare(within(t), s.Tool, c, s.Grant)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return p
}

// do takes a call through an engine as the core does. It may be used by any goroutine
// of a test.
func (s Subject) do(ctx context.Context, t testing.TB, c durward.Call) (durward.Result, error) {
	p, err := s.Engine.Prepare(ctx, s.Tool, c, s.Grant)
	if err != nil {
		return durward.Result{}, err
	}
	defer closeTwice(t, p)
	return p.Run(ctx)
}

// A started call runs in the background.
type started struct {
	Work
	cancel context.CancelFunc
	wait   func()
}

// start runs endless work and comes back once it has begun.
func (s Subject) start(ctx context.Context, t testing.TB) started {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	work := s.Endless(t)
	var running sync.WaitGroup
	running.Go(func() { _, _ = s.do(ctx, t, work.Call) })
	if err := work.Started(within(t)); err != nil {
		cancel()
		running.Wait()
		t.Fatalf("the work has not begun: %v", err)
	}
	return started{work, cancel, running.Wait}
}

// closeTwice closes what may be closed any number of times.
func closeTwice(t testing.TB, p core.Prepared) {
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}
