//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/engine/cache"
	"github.com/durward/durward/internal/hubconfig"
)

// Calls that wait for their server take no slot from those of another one, whether results are kept
// or not; and none of those that leave keeps the server's slot.
func TestASlowServerHoldsUpNoOther(t *testing.T) {
	for name, effect := range map[string]*durward.Effect{"alone": nil, "kept": {ReadOnly: true, Idempotent: true}, "changing": {}} {
		t.Run(name, func(t *testing.T) {
			h := started(t, entry("a"), entry("b"))
			engine := core.Engine(h.Engine)
			var tools core.Catalogue
			for _, server := range h.order {
				for _, tool := range []string{"echo", "wait"} {
					one := durward.Tool{ID: durward.ToolID(server + "__" + tool), Engine: Name, Spec: &hubconfig.Target{Server: server, Tool: tool}}
					if effect != nil {
						one.Effect = *effect
					}
					tools = append(tools, one)
				}
			}
			if effect != nil {
				e := entry("a")
				e.Cache = &hubconfig.Cache{Keep: hubconfig.Keep{TTL: time.Hour, MaxEntries: 10}}
				engine = cache.New(cache.Options{Engine: engine, Servers: []hubconfig.Server{e}})
			}
			runtime, err := core.New(core.Options{
				Source: tools, Policy: coretest.AllowAll(durward.Grant{Mode: durward.External, Limits: durward.DefaultLimits()}), Recorder: &coretest.Memory{},
				Engines: map[string]core.Engine{Name: engine}, MaxConcurrent: 2, QueueTime: time.Hour,
			})
			must(t, err)
			do := func(ctx context.Context, tool durward.ToolID, input string) (durward.Result, error) {
				return runtime.Do(ctx, durward.Call{Tool: tool, Door: "test", Input: json.RawMessage(input), Deadline: time.Now().Add(patience)})
			}
			arguments, began, _ := waiting(t)
			slow, stop := context.WithCancel(patient(t))
			gone, leave := context.WithCancel(patient(t))
			var calls sync.WaitGroup
			calls.Go(func() { _, _ = do(slow, "a__wait", arguments) })
			appears(t, began)
			for i := range 9 {
				calls.Go(func() {
					ctx, want := patient(t), "ok"
					if i%3 == 0 {
						ctx, want = gone, "cancelled"
					}
					r, err := do(ctx, "a__echo", fmt.Sprintf(`{"n":%d}`, i/2))
					if got := reason(r, err); got != want || r.Queued <= 0 {
						t.Errorf("%d: %s after %s", i, got, r.Queued)
					}
				})
			}
			load := func(running, waiting int) {
				t.Helper()
				for ctx := patient(t); ; time.Sleep(time.Millisecond) {
					r, w := runtime.Load()
					if r == running && w == waiting {
						return
					}
					if ctx.Err() != nil {
						t.Fatalf("%d run and %d wait", r, w)
					}
				}
			}
			load(1, 9)
			if r, err := do(patient(t), "b__echo", `{"n":1}`); err != nil {
				t.Errorf("another server: %+v, %v", r, err)
			}
			short, end := context.WithTimeout(patient(t), 50*time.Millisecond)
			if got := reason(do(short, "a__echo", `{"n":1}`)); got != "queue_timeout" {
				t.Errorf("without a slot: %s", got)
			}
			end()
			leave()
			load(1, 6)
			stop()
			calls.Wait()
			load(0, 0)
			if s := &h.servers["a"].slots; s.free != 1 || len(s.waiting) != 0 {
				t.Errorf("%d slots are free, and %d wait", s.free, len(s.waiting))
			}
		})
	}
}

// A call that has its turn and does not run gives it to the next one.
func TestATurnThatIsNotTaken(t *testing.T) {
	h := started(t, entry("a"))
	p, err := h.Prepare(t.Context(), durward.Tool{Spec: &hubconfig.Target{Server: "a", Tool: "echo"}}, durward.Call{Input: json.RawMessage(`{}`)}, durward.Grant{})
	must(t, err)
	must(t, core.Queue(patient(t), p))
	short, end := context.WithTimeout(patient(t), 50*time.Millisecond)
	defer end()
	if got := reason(h.call(short, "a", "echo", `{}`)); got != "queue_timeout" {
		t.Errorf("it had no turn: %s", got)
	}
	must(t, p.Close())
	must(t, p.Close())
	h.works(t, "a")
}
