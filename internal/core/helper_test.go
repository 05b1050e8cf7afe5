package core_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A diary lists what happened, in order.
type diary struct {
	mu   sync.Mutex
	said []string // guarded by mu
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, what)
}

func (d *diary) check(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.said, want) {
		t.Errorf("what happened is %q; want %q", d.said, want)
	}
}

// A road is a runtime whose every stage writes into the diary and can be made to fail.
type road struct {
	*diary
	coretest.Script
	coretest.Memory
	find   func(ctx context.Context) (durward.Tool, error)
	decide func(durward.Call) durward.Decision
}

func newRoad() *road {
	r := &road{diary: new(diary)}
	r.find = func(context.Context) (durward.Tool, error) { return durward.Tool{ID: "t", Engine: "script"}, nil }
	r.decide = func(durward.Call) durward.Decision { return allowed(durward.Grant{}) }
	r.OnPrepare = func(context.Context, durward.Call) error { r.note("prepare"); return nil }
	r.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		r.note("run")
		return durward.Result{}, nil
	}
	r.OnClose = func() error { r.note("close"); return nil }
	return r
}

func allowed(g durward.Grant) durward.Decision {
	return durward.Decision{Allow: true, Rule: "rule", PolicyHash: "sha256:00", Grant: g}
}

func (r *road) Find(ctx context.Context, _ durward.ToolID) (durward.Tool, error) {
	r.note("find")
	return r.find(ctx)
}

func (r *road) Tools(context.Context) ([]durward.Tool, error) { return nil, nil }

func (r *road) Decide(c durward.Call, _ durward.Tool) durward.Decision {
	r.note("decide")
	return r.decide(c)
}

func (r *road) Deny(c durward.Call, d durward.Decision) error {
	r.note("deny")
	return r.Memory.Deny(c, d)
}

func (r *road) Intent(c durward.Call, d durward.Decision) error {
	r.note("intent")
	return r.Memory.Intent(c, d)
}

func (r *road) Outcome(c durward.Call, d durward.Decision, result durward.Result, err error) error {
	r.note("outcome")
	return r.Memory.Outcome(c, d, result, err)
}

func (r *road) runtime(t testing.TB, change ...func(*core.Options)) *core.Runtime {
	t.Helper()
	o := core.Options{Source: r, Policy: r, Recorder: r, Engines: map[string]core.Engine{"script": &r.Script}}
	for _, f := range change {
		f(&o)
	}
	runtime, err := core.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return runtime
}

// last gives the last record.
func (r *road) last(t testing.TB) coretest.Record {
	t.Helper()
	records := r.Records(t)
	if len(records) == 0 {
		t.Fatal("nothing is recorded")
	}
	return records[len(records)-1]
}

func command(argv ...string) durward.Call {
	return durward.Call{Tool: "t", Door: "test", Caller: durward.Caller{Name: "tester"}, Argv: argv}
}

func checkKind(t testing.TB, err error, want durward.Kind) {
	t.Helper()
	if durward.KindOf(err) != want {
		t.Errorf("the error is %v, of kind %s; want %s", err, durward.KindOf(err), want)
	}
}

func checkRecord(t testing.TB, r, want coretest.Record) {
	t.Helper()
	for member, value := range want {
		if r[member] != value {
			t.Errorf("the record says %s: %v; want %v", member, r[member], value)
		}
	}
}
