//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/engine/cache"
	"github.com/durward/durward/internal/hubconfig"
)

// subject shows the engine to the battery, with one tool for all calls: which one of the
// fixture's is meant says the member tool.
func subject(t *testing.T) coretest.Subject {
	e := entry("a")
	e.Concurrency = 64
	h := newHub(t, Options{}, e)
	h.Start(patient(t))
	call := func(arguments map[string]any) durward.Call {
		text, err := json.Marshal(arguments)
		must(t, err)
		return durward.Call{Input: text}
	}
	return coretest.Subject{
		Engine: h.Engine, Tool: durward.Tool{ID: "a__any", Engine: Name, Spec: &hubconfig.Target{Server: "a", Tool: "any"}},
		Grant: durward.Grant{Mode: durward.External, Limits: durward.DefaultLimits()},
		Calls: coretest.Calls{
			Dir:      t.TempDir(),
			Succeeds: call(map[string]any{"tool": "dir"}), Fails: call(map[string]any{"tool": "failed"}),
			Noisy:   call(map[string]any{"tool": "big", "bytes": 2 << 20}),
			Refused: durward.Call{Argv: []string{"a command"}},
			Marks:   func(path string) durward.Call { return call(map[string]any{"tool": "mark", "path": path}) },
			Endless: func(t testing.TB) coretest.Work {
				dir := t.TempDir()
				began, gone := filepath.Join(dir, "began"), filepath.Join(dir, "gone")
				return coretest.Work{
					Call: call(map[string]any{"tool": "wait", "began": began, "gone": gone}),
					Watch: coretest.Watch{
						Started: func(ctx context.Context) error { return there(ctx, began) },
						Gone: func() bool { // the server is told, and nobody waits for it
							ctx, cancel := context.WithTimeout(context.Background(), time.Second)
							defer cancel()
							return there(ctx, gone) == nil
						},
					},
				}
			},
		},
	}
}

// there waits for a file.
func there(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func TestEngineBattery(t *testing.T) { coretest.Engine(t, subject) }

// An engine that keeps results in front of this one is held to the same: with a tool of which it
// keeps them, and with one that it takes for changing something.
func TestEngineBatteryWithACache(t *testing.T) {
	for name, effect := range map[string]durward.Effect{"kept": {ReadOnly: true, Idempotent: true}, "changing": {}} {
		t.Run(name, func(t *testing.T) {
			coretest.Engine(t, func(t *testing.T) coretest.Subject {
				s := subject(t)
				e := entry("a")
				e.Cache = &hubconfig.Cache{Keep: hubconfig.Keep{TTL: time.Hour, MaxEntries: 10}}
				s.Engine, s.Tool.Effect = cache.New(cache.Options{Engine: s.Engine, Servers: []hubconfig.Server{e}}), effect
				return s
			})
		})
	}
}

// The calls of all doors leave the same records when a server carries them out.
func TestRecords(t *testing.T) {
	s := subject(t)
	file := filepath.Join(t.TempDir(), "log", "calls")
	log, err := audit.Open(filepath.Dir(file), audit.Options{File: file})
	must(t, err)
	runtime, err := core.New(core.Options{
		Source: core.Catalogue{s.Tool}, Policy: coretest.AllowAll(s.Grant), Recorder: log, Engines: map[string]core.Engine{Name: s.Engine},
	})
	must(t, err)
	arguments, began, gone := waiting(t)
	for _, tt := range []struct{ input, cause string }{
		{`{"tool":"dir","x":"INSECRET"}`, "ok"},
		{`{"tool":"failed"}`, "tool_error"},
		{`{"tool":"error","code":1,"text":"ERRSECRET"}`, "tool_error"},
		{`{"tool":"wait",` + arguments[1:], "cancelled"},
	} {
		ctx, cancel := context.WithCancel(patient(t))
		if tt.cause == "cancelled" {
			go func() { _ = there(ctx, began); cancel() }()
		}
		r, err := runtime.Do(ctx, durward.Call{Tool: s.Tool.ID, Door: "test", Input: json.RawMessage(tt.input)})
		if got := string(durward.OutcomeOf(r, err)); got != tt.cause {
			t.Errorf("%s: %s, %v", tt.input, got, err)
		}
		cancel()
	}
	appears(t, gone)
	runtime.Shutdown(patient(t))
	must(t, log.Close())
	text, err := os.ReadFile(file)
	must(t, err)
	for part, times := range map[string]int{
		`"phase":"intent"`: 4, `"phase":"outcome"`: 4, `"cause":"ok"`: 1, `"cause":"tool_error"`: 2, `"cause":"cancelled"`: 1, "SECRET": 0,
	} {
		if n := strings.Count(string(text), part); n != times {
			t.Errorf("%s stands there %d times, want %d:\n%s", part, n, times, text)
		}
	}
}
