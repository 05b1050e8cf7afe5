package coretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// An actor keeps the rules of an engine with nothing but a Script: its calls say in
// Argv what it is to do.
type actor struct {
	Script
	granted *durward.Grant // where the grant of each call is put; may be nil
	works   sync.Map       // from the second argument of "work" to its signals
}

// Prepare tells the script what the grant of the call is.
func (a *actor) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	script := a.Script
	if a.granted != nil {
		*a.granted = g
	}
	if a.OnRun == nil {
		script.OnRun = func(ctx context.Context, c durward.Call) (durward.Result, error) { return a.run(ctx, c, g) }
	}
	if a.OnPrepare == nil {
		script.OnPrepare = func(_ context.Context, c durward.Call) error { return a.judge(c) }
	}
	return script.Prepare(ctx, t, c, g)
}

func (a *actor) judge(c durward.Call) error {
	if c.Argv[0] == "refuse" {
		return &durward.Error{Reason: durward.ProgramNotFound, Op: "prepare"}
	}
	return nil
}

func (a *actor) run(ctx context.Context, c durward.Call, g durward.Grant) (durward.Result, error) {
	if ctx.Err() != nil {
		return durward.Result{}, EndOf(ctx)
	}
	switch c.Argv[0] {
	case "fail":
		return durward.Result{Failed: true}, nil
	case "crash":
		return durward.Result{Signal: 11}, nil
	case "noise":
		return noise(g)
	case "mark":
		return durward.Result{}, os.WriteFile(c.Argv[1], nil, 0o600)
	case "work":
		return a.work(ctx, c.Argv[1])
	}
	return durward.Result{}, nil
}

func noise(g durward.Grant) (durward.Result, error) {
	if g.Keep == durward.KeepRefuse {
		return durward.Result{}, &durward.Error{Reason: durward.OutputTooLarge, Op: "run"}
	}
	kept := bytes.Repeat([]byte("x"), int(g.Limits.WithDefaults().Output))
	return durward.Result{Stdout: durward.Capture{Head: kept, Total: 2 << 20}}, nil
}

type signals struct {
	begun, gone chan struct{}
}

func (a *actor) work(ctx context.Context, name string) (durward.Result, error) {
	s, _ := a.works.Load(name)
	defer close(s.(signals).gone)
	close(s.(signals).begun)
	<-ctx.Done()
	return durward.Result{}, EndOf(ctx)
}

func (a *actor) endless(testing.TB) Work {
	s := signals{make(chan struct{}), make(chan struct{})}
	name := fmt.Sprintf("%p", s.begun)
	a.works.Store(name, s)
	return Work{Call: durward.Call{Argv: []string{"work", name}}, Watch: watchSignals(s)}
}

func watchSignals(s signals) Watch {
	return Watch{
		Started: func(ctx context.Context) error {
			select {
			case <-s.begun:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Gone: func() bool {
			select {
			case <-s.gone:
				return true
			default:
				return false
			}
		},
	}
}

func subjectOf(t testing.TB, a *actor) Subject {
	call := func(argv ...string) durward.Call { return durward.Call{Argv: argv} }
	return Subject{Engine: a, Tool: durward.Tool{ID: "act"}, Calls: Calls{
		Dir: t.TempDir(), Succeeds: call("succeed"), Fails: call("fail"), Noisy: call("noise"), Refused: call("refuse"),
		Marks: func(path string) durward.Call { return call("mark", path) }, Endless: a.endless,
	}}
}

func TestActor(t *testing.T) {
	Engine(t, func(t *testing.T) Subject { return subjectOf(t, &actor{}) })
}

func TestEngineBatteryBites(t *testing.T) {
	honest := &actor{}
	for _, test := range []struct {
		name   string
		script Script
		want   string
	}{
		{"an effect of prepare", Script{OnPrepare: func(_ context.Context, c durward.Call) error {
			if c.Argv[0] == "mark" {
				return os.WriteFile(c.Argv[1], nil, 0o600)
			}
			return honest.judge(c)
		}}, "prepare changes nothing"},
		{"a refusal without a reason", Script{OnPrepare: func(_ context.Context, c durward.Call) error {
			if c.Argv[0] == "refuse" {
				return errors.New("no")
			}
			return nil
		}}, "a refusal has a reason"},
		{"a failure of a tool as a failure of ours", Script{OnRun: func(ctx context.Context, c durward.Call) (durward.Result, error) {
			if c.Argv[0] == "fail" {
				return durward.Result{}, errors.New("exit 1")
			}
			return honest.run(ctx, c, durward.Grant{})
		}}, "fails by its own account"},
		{"output without a bound", Script{OnRun: func(ctx context.Context, c durward.Call) (durward.Result, error) {
			return honest.run(ctx, c, durward.Grant{Limits: durward.Limits{Output: 1 << 20}})
		}}, "bounded"},
		{"work in spite of an ended context", Script{OnRun: func(ctx context.Context, c durward.Call) (durward.Result, error) {
			if c.Argv[0] == "mark" {
				ctx = context.WithoutCancel(ctx)
			}
			return honest.run(ctx, c, durward.Grant{})
		}}, "starts nothing"},
		{"the bare error of a context", Script{OnRun: func(ctx context.Context, c durward.Call) (durward.Result, error) {
			if result, err := honest.run(ctx, c, durward.Grant{}); err == nil {
				return result, nil
			}
			return durward.Result{}, ctx.Err()
		}}, "a deadline stops"},
		{"a descriptor for each call", Script{OnPrepare: func(_ context.Context, c durward.Call) error {
			if f, err := os.Open(os.DevNull); err == nil {
				t.Cleanup(func() { f.Close() })
			}
			return honest.judge(c)
		}}, "nothing stays open"},
		{"an error of the second close", Script{OnClose: func() error { return errors.New("closed") }}, "closed without being run"},
		{"a field declared twice", Script{Holds: []durward.GrantField{durward.FieldEnv, durward.FieldEnv}}, "without repeats"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fresh := func() Subject {
				engine := &actor{Script: test.script}
				s := subjectOf(t, engine)
				if engine.OnRun != nil {
					s.Endless = honest.endless
				}
				return s
			}
			checkBites(t, broken(t, fresh, engineRules), test.want)
		})
	}
}
