package process

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// exits takes the exit of a session, and what comes behind it.
type exits struct {
	mu     sync.Mutex
	all    []durward.Exit // guarded by mu
	behind int            // guarded by mu; chunks
}

func (e *exits) Exited(x durward.Exit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, x)
}

func (e *exits) Output(durward.Chunk) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.behind += len(e.all)
}

func (e *exits) Progress(float64, float64, string) {}
func (e *exits) Log(string, string)                {}
func (e *exits) Ended(durward.Result)              {}
func (e *exits) Ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

func (e *exits) seen() (all []durward.Exit, behind int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all, e.behind
}

// The exit is told once. It is the last of all only where nobody is left that could print:
// else it is told while they live.
func TestTheLastExit(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		m := newMarker(t, 0)
		for _, test := range []struct {
			script string
			lives  bool
		}{
			{"echo out; echo err >&2; exit 3", false},
			{"exit 3", false},
			{"echo out; sleep " + string(m) + " & exit 3", true},
			{"sleep " + string(m) + " >/dev/null 2>&1 & exit 3", true},
		} {
			g := durward.Grant{
				Mode: durward.DangerFullAccess, Keep: durward.KeepStream, Limits: durward.DefaultLimits(),
				Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"},
			}
			p, err := e.Prepare(t.Context(), durward.Tool{}, shell("%s", test.script), g)
			must(t, err)
			defer p.Close()
			var heard exits
			s, err := p.(*prepared).Open(t.Context(), &heard)
			must(t, err)
			waitFor(t, "the exit is told", 20*time.Second, func() bool { all, _ := heard.seen(); return len(all) > 0 })
			s.Kill()
			_, _ = s.Wait(t.Context()) // that it was killed is an error where somebody lived
			all, behind := heard.seen()
			if len(all) != 1 || all[0].Code != 3 || all[0].Last && test.lives || behind > 0 {
				t.Errorf("%s: %+v, %d chunks behind it", test.script, all, behind)
			}
			if told := p.(*prepared).plan.Containment == sandbox.Cgroup; told && !all[0].Last && !test.lives {
				t.Errorf("%s: nobody is left, and the exit does not say so", test.script)
			}
			must(t, s.Close())
		}
		if n := m.alive(t); n > 0 {
			t.Errorf("%d live", n)
		}
	})
}
