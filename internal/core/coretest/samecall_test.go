package coretest

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house gives a runtime whose engine is the actor, both as a call and as a session.
func house(t testing.TB, a *actor, recorder core.Recorder, records func(testing.TB) []Record) House {
	t.Helper()
	a.OnOpen = func(ctx context.Context, c durward.Call, _ durward.Events) (durward.Session, error) {
		s := NewScriptSession(context.WithoutCancel(ctx))
		go func() { s.End(a.run(ctx, c, durward.Grant{})) }()
		return s, nil
	}
	runtime, err := core.New(core.Options{
		Source: core.Catalogue{{ID: "act", Engine: "actor"}, {ID: "mask", Engine: "actor"}}, Recorder: recorder,
		Engines: map[string]core.Engine{"actor": a},
		Policy: PolicyFunc(func(c durward.Call, tool durward.Tool) durward.Decision {
			if len(c.Env) > 0 {
				return durward.Decision{Rule: "env", Code: durward.EnvDenied, Reason: "no variables", PolicyHash: "sha256:00"}
			}
			return AllowAll(durward.Grant{}).Decide(c, tool)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return House{Runtime: runtime, Records: records}
}

func standing(t testing.TB, a *actor) House {
	memory := new(Memory)
	return house(t, a, memory, memory.Records)
}

// fiveCases are the standard cases for an actor.
func fiveCases(a *actor) []Case {
	call := func(argv ...string) durward.Call { return durward.Call{Tool: "act", Argv: argv} }
	denied := call("succeed")
	denied.Env = map[string]string{"LD_PRELOAD": "x"}
	ran := []string{PhaseIntent, PhaseOutcome}
	watch := func(testing.TB) Watch {
		a.works.Store("work", signals{make(chan struct{}), make(chan struct{})})
		s, _ := a.works.Load("work")
		return watchSignals(s.(signals))
	}
	return []Case{
		{Name: "an allowed call", Call: call("succeed"), Leaves: ran, Ends: Record{"cause": "ok"}},
		{Name: "a denied call", Call: denied, Leaves: []string{PhaseDeny}, Ends: Record{"code": durward.EnvDenied}},
		{Name: "a timed-out call", Call: call("work", "work"), Within: 50 * time.Millisecond, Watch: watch, Leaves: ran, Ends: Record{"cause": "timeout", "timedOut": true}},
		{Name: "a cancelled call", Call: call("work", "work"), GoesAway: true, Watch: watch, Leaves: ran, Ends: Record{"cause": "cancelled"}},
		{Name: "a crashed call", Call: call("crash"), Leaves: ran, Ends: Record{"cause": "tool_error", "signal": 11}},
	}
}

func TestSameCall(t *testing.T) {
	a := &actor{}
	SameCall(t, fiveCases(a), CoreDoors(func(t testing.TB) House { return standing(t, a) }))
}

// unwritten is a recorder that writes nothing, or only what is left of it.
type unwritten struct{ core.Recorder }

func (unwritten) Intent(durward.Call, durward.Decision) error { return nil }

func (unwritten) Refused(durward.Call, durward.Decision, durward.Contact) error       { return nil }
func (unwritten) Outcome(durward.Call, durward.Decision, durward.Result, error) error { return nil }

func TestSameCallBites(t *testing.T) {
	a := &actor{}
	fresh := func(t testing.TB) House { return standing(t, a) }
	good := CoreDoors(fresh)[0]
	enter := func(change func(*durward.Call)) Door {
		return Door{Name: "bad", Enter: func(ctx context.Context, t testing.TB, c Case) []Record {
			change(&c.Call)
			return good.Enter(ctx, t, c)
		}}
	}
	rewrite := func(change func([]Record) []Record) Door {
		return Door{Name: "bad", Enter: func(ctx context.Context, t testing.TB, c Case) []Record {
			return change(good.Enter(ctx, t, c))
		}}
	}
	for name, test := range map[string]struct {
		door Door
		want string
	}{
		"a door that skips the recorder": {CoreDoors(func(t testing.TB) House {
			memory := new(Memory)
			return house(t, a, unwritten{memory}, memory.Records)
		})[0], "leaves []"},
		"a door that runs the work itself": {Door{Name: "bad", Enter: func(ctx context.Context, _ testing.TB, c Case) []Record {
			if c.Within > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.Within)
				defer cancel()
			}
			_, _ = a.run(ctx, c.Call, durward.Grant{})
			return nil
		}}, "leaves []"},
		"a door that changes the tool":      {enter(func(c *durward.Call) { c.Tool = "mask" }), "mask"},
		"a door that changes the directory": {enter(func(c *durward.Call) { c.Dir = "/" }), "cwd"},
		"a door that drops a variable":      {enter(func(c *durward.Call) { c.Env = nil }), `want ["deny"]`},
		"a door that adds an argument":      {enter(func(c *durward.Call) { c.Argv = append(c.Argv[:1:1], append(c.Argv[1:], "x")...) }), "args"},
		"a door that records twice":         {rewrite(func(r []Record) []Record { return append(r, r...) }), "leaves"},
		"a door that loses the outcome":     {rewrite(func(r []Record) []Record { return r[:1] }), "leaves"},
		"a door without a caller": {rewrite(func(r []Record) []Record {
			delete(r[0], "caller")
			return r
		}), "no caller"},
		"a door that changes the id on the way": {rewrite(func(r []Record) []Record {
			r[len(r)-1]["reqId"] = "another"
			return r
		}), "reqId"},
		"a door that adds a member": {rewrite(func(r []Record) []Record {
			r[0]["note"] = "x"
			return r
		}), "note"},
		"a door that answers before the work is over": {Door{Name: "bad", Enter: func(ctx context.Context, t testing.TB, c Case) []Record {
			if !c.GoesAway {
				return good.Enter(ctx, t, c)
			}
			h, ended := fresh(t), make(chan struct{})
			t.Cleanup(func() { <-ended })
			apart, cancel := context.WithCancel(context.WithoutCancel(ctx))
			t.Cleanup(cancel)
			go func() {
				defer close(ended)
				_, _ = h.Runtime.Do(apart, c.Call)
			}()
			<-ctx.Done()
			return h.Records(t)
		}}, "goes on after the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			said := complaints(t, func(t testing.TB) { SameCall(t, fiveCases(a), []Door{good, test.door}) })
			if text := strings.Join(said, "\n"); !strings.Contains(text, test.want) {
				t.Errorf("SameCall says %q; want %q", text, test.want)
			}
		})
	}
}
