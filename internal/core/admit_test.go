package core_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

// sleeping makes each run take that long, or until its context ends.
func sleeping(r *road, long time.Duration) {
	r.OnRun = func(ctx context.Context, c durward.Call) (durward.Result, error) {
		r.note("run " + c.Argv[0])
		select {
		case <-time.After(long):
			return durward.Result{}, nil
		case <-ctx.Done():
			return durward.Result{}, coretest.EndOf(ctx)
		}
	}
}

// TestQueueAndWorkSpendOneDeadline has two calls and one slot: each works for four
// seconds, and has six.
func TestQueueAndWorkSpendOneDeadline(t *testing.T) {
	for name, limit := range map[string]struct {
		wall time.Duration
		own  time.Duration
	}{
		"the policy's limit":         {wall: 6 * time.Second},
		"the caller's deadline":      {wall: time.Hour, own: 6 * time.Second},
		"the earlier one of both":    {wall: 6 * time.Second, own: time.Hour},
		"a policy without any limit": {wall: durward.Unlimited, own: 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoad()
				sleeping(r, 4*time.Second)
				r.decide = func(durward.Call) durward.Decision {
					return allowed(durward.Grant{Limits: durward.Limits{Wall: limit.wall}})
				}
				runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent = 1 })
				began := time.Now()
				call := command("x")
				if limit.own > 0 {
					call.Deadline = began.Add(limit.own)
				}
				var first sync.WaitGroup
				first.Go(func() {
					result, err := runtime.Do(t.Context(), call)
					if err != nil || result.Queued != 0 || result.Took != 4*time.Second {
						t.Errorf("the first waited %s and took %s, %v", result.Queued, result.Took, err)
					}
				})
				synctest.Wait()
				result, err := runtime.Do(t.Context(), call)
				checkKind(t, err, durward.Timeout)
				if result.Queued != 4*time.Second || result.Took != 2*time.Second || time.Since(began) != 6*time.Second {
					t.Errorf("the second waited %s and took %s", result.Queued, result.Took)
				}
				first.Wait()
			})
		})
	}
}

func TestNoLimitOfItsOwnMeansTheDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoad()
		sleeping(r, time.Hour)
		began := time.Now()
		_, err := r.runtime(t).Do(t.Context(), command("x"))
		checkKind(t, err, durward.Timeout)
		if took := time.Since(began); took != durward.DefaultLimits().Wall {
			t.Errorf("the call took %s", took)
		}
	})
}

func TestACallWhoseTimeIsUpInTheQueueNeverRuns(t *testing.T) {
	for name, end := range map[string]struct {
		stop func(*durward.Call, context.CancelFunc)
		kind durward.Kind
		says durward.Outcome
	}{
		"deadline":  {func(c *durward.Call, _ context.CancelFunc) { c.Deadline = time.Now().Add(time.Second) }, durward.Timeout, durward.OutcomeTimeout},
		"cancelled": {func(_ *durward.Call, cancel context.CancelFunc) { time.AfterFunc(time.Second, cancel) }, durward.Cancelled, durward.OutcomeCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoad()
				sleeping(r, 10*time.Second)
				runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent = 1 })
				var first sync.WaitGroup
				first.Go(func() { _, _ = runtime.Do(t.Context(), command("first")) })
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				call, began := command("second"), time.Now()
				end.stop(&call, cancel)
				result, err := runtime.Do(ctx, call)
				checkKind(t, err, end.kind)
				if waited := time.Since(began); waited != time.Second || result.Queued != waited || result.Took != 0 {
					t.Errorf("after %s it waited %s and took %s", waited, result.Queued, result.Took)
				}
				checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "cause": string(end.says)})
				first.Wait()
				r.check(t, "find", "decide", "prepare", "intent", "run first", "find", "decide", "prepare", "intent", "outcome", "close", "outcome", "close")
			})
		})
	}
}

func TestCancellingARunningCallFreesItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoad()
		sleeping(r, 20*time.Second)
		runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent, o.MaxQueue = 1, -1 })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := runtime.Do(ctx, command("x"))
		checkKind(t, err, durward.Cancelled)
		checkRecord(t, r.last(t), coretest.Record{"cause": "cancelled"})
		if _, err := runtime.Do(t.Context(), command("x")); err != nil {
			t.Errorf("the next call ends with %v", err)
		}
	})
}

func TestAFullQueueIsBusy(t *testing.T) {
	for _, test := range []struct{ option, room int }{{2, 2}, {0, 64}, {-1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRoad()
			sleeping(r, time.Millisecond)
			runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent, o.MaxQueue = 1, test.option })
			var busy atomic.Int32
			var calls sync.WaitGroup
			const extra = 3
			for range 1 + test.room + extra {
				calls.Go(func() {
					_, err := runtime.Do(t.Context(), command("x"))
					if err == nil {
						return
					}
					busy.Add(1)
					checkKind(t, err, durward.Busy)
				})
			}
			calls.Wait()
			if busy.Load() != extra {
				t.Errorf("with a queue of %d, %d of %d calls are refused", test.option, busy.Load(), 1+test.room+extra)
			}
			if left := len(r.Records(t)); left != 2*(1+test.room+extra) {
				t.Errorf("%d calls left %d records", 1+test.room+extra, left)
			}
		})
	}
}

// TestAToolAtItsLimitHoldsUpNobodyElse queues four calls of a tool that runs alone,
// then one of another tool.
func TestAToolAtItsLimitHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoad()
		sleeping(r, time.Second)
		runtime := r.runtime(t, func(o *core.Options) {
			o.MaxConcurrent = 2
			o.Source = core.Catalogue{{ID: "alone", Engine: "script", Concurrent: 1}, {ID: "other", Engine: "script"}}
		})
		began := time.Now()
		var calls sync.WaitGroup
		do := func(tool durward.ToolID, name string, after time.Duration) {
			calls.Go(func() {
				c := command(name)
				c.Tool = tool
				if _, err := runtime.Do(t.Context(), c); err != nil || time.Since(began) != after {
					t.Errorf("%s was over after %s, %v; want %s", name, time.Since(began), err, after)
				}
			})
			synctest.Wait()
		}
		for i := range 4 {
			do("alone", "alone", time.Duration(i+1)*time.Second)
		}
		do("other", "other", time.Second)
		calls.Wait()
	})
}

func TestCallsRunInTheOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoad()
		var order []string
		r.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
			order = append(order, c.Argv[0]) // one slot: one at a time
			time.Sleep(time.Second)
			return durward.Result{}, nil
		}
		runtime := r.runtime(t, func(o *core.Options) { o.MaxConcurrent = 1 })
		var calls sync.WaitGroup
		want := []string{"a", "b", "c", "d", "e", "f"}
		for _, name := range want {
			calls.Go(func() { _, _ = runtime.Do(t.Context(), command(name)) })
			synctest.Wait()
		}
		calls.Wait()
		for i, name := range order {
			if name != want[i] {
				t.Fatalf("calls ran as %q; they came as %q", order, want)
			}
		}
	})
}

// A turning engine lets one call in at a time, each before it has a slot.
type turning struct {
	core.Engine
	turn chan struct{}
}

func (e turning) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	p, err := e.Engine.Prepare(ctx, t, c, g)
	return &turned{p, e, false}, err
}

type turned struct {
	core.Prepared
	engine turning
	has    bool
}

func (p *turned) Queue(ctx context.Context) error {
	select {
	case p.engine.turn <- struct{}{}:
		p.has = true
		return nil
	case <-ctx.Done():
		return &durward.Error{Reason: durward.QueueTimeout}
	}
}

func (p *turned) Close() error {
	if p.has {
		<-p.engine.turn
	}
	return p.Prepared.Close()
}

// TestWhoWaitsForATurnHasNoSlot queues three calls at an engine that does one at a time, and has
// another engine's use the second slot. Both waits are one, for the time they may take, too.
func TestWhoWaitsForATurnHasNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoad()
		sleeping(r, 4*time.Second)
		runtime := r.runtime(t, func(o *core.Options) {
			o.MaxConcurrent, o.QueueTime = 2, 6*time.Second
			o.Engines["turning"] = turning{&r.Script, make(chan struct{}, 1)}
			o.Source = core.Catalogue{{ID: "slow", Engine: "turning"}, {ID: "other", Engine: "script"}}
		})
		began := time.Now()
		var calls sync.WaitGroup
		do := func(tool durward.ToolID, queued time.Duration, kind durward.Kind) {
			calls.Go(func() {
				c := command(string(tool))
				c.Tool = tool
				result, err := runtime.Do(t.Context(), c)
				if durward.KindOf(err) != kind || result.Queued != queued {
					t.Errorf("%s waited %s, and ended after %s with %v", tool, result.Queued, time.Since(began), err)
				}
			})
			synctest.Wait()
		}
		do("slow", 0, 0)
		do("slow", 4*time.Second, 0)
		do("slow", 6*time.Second, durward.Busy)
		if running, waiting := runtime.Load(); running != 1 || waiting != 2 {
			t.Errorf("%d run and %d wait", running, waiting)
		}
		do("other", 0, 0)
		do("other", 4*time.Second, 0) // behind both that run
		calls.Wait()
		if running, waiting := runtime.Load(); running != 0 || waiting != 0 {
			t.Errorf("in the end %d run and %d wait", running, waiting)
		}
	})
}
