package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

// opening makes the engine of a road start scripted sessions and gives the newest.
func opening(r *road) (newest func() *coretest.ScriptSession) {
	var session *coretest.ScriptSession
	r.OnOpen = func(ctx context.Context, _ durward.Call, _ durward.Events) (durward.Session, error) {
		r.note("open")
		session = coretest.NewScriptSession(ctx)
		return session, nil
	}
	return func() *coretest.ScriptSession { return session }
}

// endings notes when the last event comes, and with what.
type endings struct {
	road   *road
	result durward.Result
}

func (e *endings) Output(durward.Chunk) {}

func (e *endings) Progress(float64, float64, string) {}

func (e *endings) Log(string, string) {}

func (e *endings) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errors.New("nobody is there")
}

func (e *endings) Ended(r durward.Result) {
	e.result = r
	e.road.note("ended")
}

func TestASessionIsOnRecordBeforeItsEndIsTold(t *testing.T) {
	r := newRoad()
	newest := opening(r)
	told := &endings{road: r}
	s, err := r.runtime(t).Open(t.Context(), command("x"), told)
	if err != nil {
		t.Fatal(err)
	}
	r.check(t, "find", "decide", "prepare", "intent", "open")
	newest().End(durward.Result{Output: json.RawMessage(`7`)}, nil)
	result, err := s.Wait(t.Context())
	if err != nil || string(result.Output) != "7" {
		t.Errorf("Wait = %s, %v", result.Output, err)
	}
	checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "cause": "ok"})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	r.check(t, "find", "decide", "prepare", "intent", "open", "outcome", "close", "ended")
	if string(told.result.Output) != "7" {
		t.Errorf("the last event says %s", told.result.Output)
	}
}

func TestCloseCancelsAndWaits(t *testing.T) {
	r := newRoad()
	newest := opening(r)
	runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent, o.MaxQueue = 1, -1 })
	for range 3 { // each finds the slot free
		s, err := runtime.Open(t.Context(), command("x"), &endings{road: r})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "cause": "cancelled"})
		_, err = newest().Wait(t.Context())
		checkKind(t, err, durward.Cancelled)
	}
	runtime.Shutdown(t.Context())
}

func TestASessionEndsWithItsContextAndItsDeadline(t *testing.T) {
	for name, test := range map[string]struct {
		limit durward.Limits
		after time.Duration
		kind  durward.Kind
	}{
		"the caller goes away": {durward.Limits{}, time.Second, durward.Cancelled},
		"the wall clock":       {durward.Limits{Wall: time.Second}, time.Hour, durward.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoad()
				opening(r)
				r.decide = func(durward.Call) durward.Decision { return allowed(durward.Grant{Limits: test.limit}) }
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				defer time.AfterFunc(test.after, cancel).Stop()
				began := time.Now()
				s, err := r.runtime(t).Open(ctx, command("x"), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				_, err = s.Wait(t.Context())
				checkKind(t, err, test.kind)
				if took := time.Since(began); took != time.Second {
					t.Errorf("it ended after %s", took)
				}
				checkRecord(t, r.last(t), coretest.Record{"cause": test.kind.String()})
			})
		})
	}
}

func TestWaitingForASessionDoesNotEndIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoad()
		newest := opening(r)
		s, err := r.runtime(t).Open(t.Context(), command("x"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Wait(ctx); err == nil || r.last(t)["phase"] != coretest.PhaseIntent {
			t.Errorf("Wait gives %v, and the last record is %v", err, r.last(t))
		}
		newest().End(durward.Result{}, nil)
		if _, err := s.Wait(t.Context()); err != nil {
			t.Errorf("the session ended with %v", err)
		}
	})
}

func TestOpeningWhatDoesNotGoOnIsNotSupported(t *testing.T) {
	r := newRoad()
	runtime := r.runtime(t)
	s, err := runtime.Open(t.Context(), command("x"), nil)
	checkKind(t, err, durward.Invalid)
	if s != nil || durward.ReasonOf(err) != durward.NotSupported {
		t.Errorf("Open = %v, %v", s, err)
	}
	checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "code": string(durward.NotSupported)})
	r.check(t, "find", "decide", "prepare", "intent", "outcome", "close")
	runtime.Shutdown(t.Context())
}

func TestASessionThatCannotStartIsOnRecord(t *testing.T) {
	for name, open := range map[string]func(context.Context, durward.Call, durward.Events) (durward.Session, error){
		"an error": func(context.Context, durward.Call, durward.Events) (durward.Session, error) {
			return nil, &durward.Error{Reason: durward.Defect}
		},
		"a panic":       func(context.Context, durward.Call, durward.Events) (durward.Session, error) { panic("boom") },
		"a bad session": func(context.Context, durward.Call, durward.Events) (durward.Session, error) { return rotten{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoad()
			r.OnOpen = open
			runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent, o.MaxQueue = 1, -1 })
			for range 2 {
				s, err := runtime.Open(t.Context(), command("x"), nil)
				if err == nil {
					_, err = s.Wait(t.Context())
				}
				checkKind(t, err, durward.Internal)
				checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "code": string(durward.Defect)})
			}
			runtime.Shutdown(t.Context())
		})
	}
}

// rotten is a session that panics when one waits for it.
type rotten struct{ durward.Session }

func (rotten) Wait(context.Context) (durward.Result, error) { panic("boom") }

func TestNoSessionStartsUnrecorded(t *testing.T) {
	r := newRoad()
	opening(r)
	r.Break(coretest.PhaseIntent)
	s, err := r.runtime(t).Open(t.Context(), command("x"), nil)
	checkKind(t, err, durward.Unavailable)
	if s != nil {
		t.Error("there is a session")
	}
	r.check(t, "find", "decide", "prepare", "intent", "close")
}

func TestAnUnrecordedEndOfASessionIsItsResult(t *testing.T) {
	r := newRoad()
	newest := opening(r)
	s, err := r.runtime(t).Open(t.Context(), command("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r.Break(coretest.PhaseOutcome)
	newest().End(durward.Result{Output: json.RawMessage(`7`)}, nil)
	result, err := s.Wait(t.Context())
	checkKind(t, err, durward.Unavailable)
	if result.Output != nil {
		t.Errorf("the result is %s", result.Output)
	}
}

func TestShutdownWaitsForTheRecordOfEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoad()
		sleeping(r, 5*time.Second)
		runtime := r.runtime(t)
		go func() { _, _ = runtime.Do(t.Context(), command("x")) }()
		synctest.Wait()
		began := time.Now()
		runtime.Shutdown(t.Context())
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("Shutdown took %s", took)
		}
		checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "cause": "ok"})
		runtime.Shutdown(t.Context()) // again, at once
	})
}

func TestShutdownCancelsWhatIsLeftWhenItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoad()
		opening(r)
		r.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
			<-ctx.Done()
			time.Sleep(3 * time.Second) // the grace that a tree is given
			return durward.Result{}, coretest.EndOf(ctx)
		}
		runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent = 2 })
		s, err := runtime.Open(context.WithoutCancel(t.Context()), command("session"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // one runs, two wait
			go func() { _, _ = runtime.Do(context.WithoutCancel(t.Context()), command("x")) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		runtime.Shutdown(ctx)
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("Shutdown took %s", took)
		}
		var ends []any
		for _, record := range r.Records(t) {
			if record["phase"] == coretest.PhaseOutcome {
				ends = append(ends, record["cause"])
			}
		}
		if !slices.Equal(ends, []any{"cancelled", "cancelled", "cancelled", "cancelled"}) {
			t.Errorf("the calls ended as %q", ends)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAfterAShutdownEveryCallIsRefused(t *testing.T) {
	r := newRoad()
	mark := marking(t, r)
	opening(r)
	runtime := r.runtime(t)
	runtime.Shutdown(t.Context())
	_, err := runtime.Do(t.Context(), command("x"))
	checkKind(t, err, durward.Unavailable)
	if durward.ReasonOf(err) != durward.ShuttingDown || exists(mark) {
		t.Errorf("Do says %v, and the call has run: %t", err, exists(mark))
	}
	if s, err := runtime.Open(t.Context(), command("x"), nil); s != nil || durward.ReasonOf(err) != durward.ShuttingDown {
		t.Errorf("Open = %v, %v", s, err)
	}
	r.check(t, "deny", "deny")
}

func TestACallIDIsOneCall(t *testing.T) {
	r := newRoad()
	newest := opening(r)
	runtime := r.runtime(t)
	call := command("x")
	call.ID = "01933b6e-0000-7000-8000-000000000000"
	first, err := runtime.Open(t.Context(), call, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = runtime.Do(t.Context(), call)
	checkKind(t, err, durward.Invalid)
	r.check(t, "find", "decide", "prepare", "intent", "open", "deny")
	newest().End(durward.Result{}, nil)
	if _, err := first.Wait(t.Context()); err != nil {
		t.Errorf("the first call ended with %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if _, err := runtime.Do(t.Context(), call); err != nil {
		t.Errorf("once it is over the id is free again: %v", err)
	}
	runtime.Shutdown(t.Context())
}

// slowRecorder takes a second to write an outcome.
type slowRecorder struct{ core.Recorder }

func (r slowRecorder) Outcome(c durward.Call, d durward.Decision, result durward.Result, err error) error {
	time.Sleep(time.Second)
	return r.Recorder.Outcome(c, d, result, err)
}

func TestNobodyHearsOfAnEndThatIsNotYetOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, hear := range map[string]func(*core.Runtime, durward.Session){
			"Wait":     func(_ *core.Runtime, s durward.Session) { _, _ = s.Wait(t.Context()) },
			"Close":    func(_ *core.Runtime, s durward.Session) { _ = s.Close() },
			"Shutdown": func(r *core.Runtime, _ durward.Session) { r.Shutdown(t.Context()) },
		} {
			r := newRoad()
			newest := opening(r)
			runtime := r.runtime(t, func(o *core.Options) { o.Recorder = slowRecorder{r} })
			s, err := runtime.Open(t.Context(), command("x"), nil)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			newest().End(durward.Result{}, nil)
			hear(runtime, s)
			if last := r.last(t); last["phase"] != coretest.PhaseOutcome || time.Since(began) != time.Second {
				t.Errorf("%s came back after %s, when the last record was %v", name, time.Since(began), last)
			}
			_ = s.Close()
		}
	})
}
