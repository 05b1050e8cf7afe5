package core_test

import (
	"context"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

// A beginEngine leaves it to the core to follow its sessions.
type beginEngine struct {
	core.Engine
	road   *road
	follow func() (durward.Result, error)
}

func (e beginEngine) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	p, err := e.Engine.Prepare(ctx, t, c, g)
	return beginning{p, e}, err
}

type beginning struct {
	core.Prepared
	engine beginEngine
}

func (b beginning) Begin(ctx context.Context, _ durward.Events) (durward.Session, func() (durward.Result, error), error) {
	b.engine.road.note("begin")
	return coretest.NewScriptSession(ctx), b.engine.follow, nil
}

// Whoever has begun a session follows it, and its end is on record before it is told, whatever
// comes of it.
func TestWhoBeginsFollows(t *testing.T) {
	for _, test := range []struct {
		name   string
		follow func() (durward.Result, error)
		cause  string
		kind   durward.Kind
	}{
		{"ends", func() (durward.Result, error) { return durward.Result{}, nil }, "ok", 0},
		{"panics", func() (durward.Result, error) { panic("oh") }, "tool_error", durward.Internal},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRoad()
			e := beginEngine{Engine: &r.Script, road: r, follow: func() (durward.Result, error) { r.note("follow"); return test.follow() }}
			runtime := r.runtime(t, func(o *core.Options) { o.Engines = map[string]core.Engine{"script": e} })
			s, follow, err := runtime.Begin(t.Context(), command("x"), &endings{road: r})
			if err != nil {
				t.Fatal(err)
			}
			r.check(t, "find", "decide", "prepare", "intent", "begin")
			follow()
			r.check(t, "find", "decide", "prepare", "intent", "begin", "follow", "outcome", "close", "ended")
			checkRecord(t, r.last(t), coretest.Record{"phase": coretest.PhaseOutcome, "cause": test.cause})
			if _, err := s.Wait(t.Context()); err != nil || test.kind != 0 {
				checkKind(t, err, test.kind)
			}
			runtime.Shutdown(t.Context())
		})
	}
}
