package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/door/gateway"
)

// counting has each run answer with how many there were.
func counting(b *bench) *atomic.Int64 {
	var runs atomic.Int64
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		return durward.Result{Output: json.RawMessage(fmt.Sprintf(`{"run":%d}`, runs.Add(1)))}, nil
	}
	return &runs
}

// The same key with the same input runs once, and gives the same answer to the byte.
func TestAKeyRunsOnce(t *testing.T) {
	b := open(t)
	runs := counting(b)
	first := b.run(`{"input":{"a":1}}`, "Idempotency-Key", "k")
	again := b.run(`{"input":{"a":1}}`, "Idempotency-Key", "k")
	if again.body != first.body || again.status != 200 || runs.Load() != 1 {
		t.Errorf("%d runs\n%s\n%s", runs.Load(), first.body, again.body)
	}
	if again.header.Get("X-Tool-Run-Id") != first.header.Get("X-Tool-Run-Id") || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the headers are %v", again.header)
	}
	b.run(`{"input":{"a":2}}`, "Idempotency-Key", "k").wantError(t, 409, "VALIDATION_ERROR", false)
	if runs.Load() != 1 {
		t.Error("the other input ran")
	}
	for name, a := range map[string]answer{
		"another key":  b.run(`{"input":{"a":1}}`, "Idempotency-Key", "other"),
		"another tool": b.send("POST", "/v1/tools/c:run", `{"input":{"a":1}}`, "Idempotency-Key", "k"),
		"no key":       b.run(`{"input":{"a":1}}`),
	} {
		if a.status != 200 || a.body == first.body {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if runs.Load() != 4 {
		t.Errorf("%d runs", runs.Load())
	}
	if b.phases() != strings.TrimSpace(strings.Repeat("intent outcome ", 1)+"deny "+strings.Repeat("intent outcome ", 3)) {
		t.Errorf("the records are %q", b.phases())
	}
}

// A second request that comes while the first runs waits for its answer.
func TestAKeyIsWaitedFor(t *testing.T) {
	b := open(t, func(b *bench, _ *gateway.Options, _ *core.Options) { b.domain.Tools[1].Timeout = time.Minute })
	var runs atomic.Int64
	began, goOn := make(chan bool), make(chan bool)
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		runs.Add(1)
		began <- true
		<-goOn
		return durward.Result{Output: json.RawMessage(`{}`)}, nil
	}
	var asking sync.WaitGroup
	answers := make([]answer, 8)
	for i := range answers {
		asking.Go(func() { answers[i] = b.run(`{"input":{}}`, "Idempotency-Key", "k") })
	}
	<-began
	close(goOn)
	asking.Wait()
	for _, a := range answers {
		if a.body != answers[0].body || a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if runs.Load() != 1 {
		t.Errorf("%d runs", runs.Load())
	}
}

// unsent stands for a worker that could not be connected to.
const unsent durward.Reason = "unsent"

// What was never tried is not kept, and what was tried is, whatever came of it.
func TestOnlyWhatWasTriedIsKept(t *testing.T) {
	b := open(t)
	for i, test := range []struct {
		reason durward.Reason
		kept   bool
	}{
		{durward.QueueFull, false},
		{durward.CircuitOpen, false},
		{durward.ShuttingDown, false},
		{durward.AuditUnavailable, false},
		{durward.WorkerUnreachable, true},
		{unsent, false},
		{durward.DeadlineExceeded, true},
		{durward.NonStandardReply, true},
	} {
		key := fmt.Sprint("k", i)
		b.fails(&durward.Error{Reason: test.reason, Err: errors.New("x")})
		if test.reason == unsent {
			b.fails(&durward.Error{Reason: durward.WorkerUnreachable, Err: domain.ErrUnsent})
		}
		first := b.run(`{"input":{}}`, "Idempotency-Key", key)
		b.answers(`{}`)
		second := b.run(`{"input":{}}`, "Idempotency-Key", key)
		if kept := second.body == first.body; kept != test.kept {
			t.Errorf("%s is kept: %v\n%s%s", test.reason, kept, first.body, second.body)
		}
	}
}

// When the first caller leaves, one that waits becomes the first.
func TestAWaiterTakesOver(t *testing.T) {
	b := open(t, func(b *bench, _ *gateway.Options, _ *core.Options) { b.domain.Tools[1].Timeout = time.Minute })
	began := make(chan bool, 2)
	var runs atomic.Int64
	b.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
		began <- true
		if runs.Add(1) == 1 {
			<-ctx.Done()
			return durward.Result{}, durward.Ended(ctx, "run")
		}
		return durward.Result{Output: json.RawMessage(`{}`)}, nil
	}
	ctx, leave := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		r := strings.NewReader(`{"input":{}}`)
		_, _ = b.try(ctx, "POST", "/v1/tools/a.b:run", r, "Idempotency-Key", "k") // it leaves
	})
	<-began
	asking.Go(func() {
		if a := b.run(`{"input":{}}`, "Idempotency-Key", "k"); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
	leave()
	asking.Wait()
	if runs.Load() != 2 {
		t.Errorf("%d runs", runs.Load())
	}
}

// Who waits for another's answer waits no longer than it would for its own, and white space
// makes no other input.
func TestAWaiterHasItsOwnTime(t *testing.T) {
	b := open(t, func(b *bench, _ *gateway.Options, _ *core.Options) { b.domain.Tools[1].Timeout = time.Minute })
	began, goOn := make(chan bool), make(chan bool)
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		began <- true
		<-goOn
		return durward.Result{Output: json.RawMessage(`{}`)}, nil
	}
	var asking sync.WaitGroup
	asking.Go(func() { b.run(`{"input":{"a":1}}`, "Idempotency-Key", "k") })
	<-began
	e := b.run(`{"input":{"a": 1},"timeout_sec":0.02}`, "Idempotency-Key", "k").wantError(t, 504, "TIMEOUT", true)
	if d := e["details"].(map[string]any); d["timeout_sec"] != 0.02 {
		t.Errorf("%v", d)
	}
	close(goOn)
	asking.Wait()
	if a := b.run(`{"input":{"a" :1}}`, "Idempotency-Key", "k"); a.status != 200 || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if run := b.runs()[len(b.runs())-1]; run["replay_of"] == nil || run["replay_of"] == run["tool_run_id"] {
		t.Errorf("the log says %v", run)
	}
}

func TestBadKeys(t *testing.T) {
	b := open(t)
	runs := counting(b)
	for _, headers := range [][]string{
		{"Idempotency-Key", ""},
		{"Idempotency-Key", "two words"},
		{"Idempotency-Key", "é"},
		{"Idempotency-Key", strings.Repeat("x", 256)},
		{"Idempotency-Key", "a", "Idempotency-Key", "b"},
	} {
		b.run(`{"input":{}}`, headers...).wantError(t, 400, "VALIDATION_ERROR", false)
	}
	if runs.Load() != 0 {
		t.Errorf("%d runs", runs.Load())
	}
}
