//go:build abuse && linux && (amd64 || arm64)

package process

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/policy"
)

// mixed are the kinds of calls of the test, and how each one ends.
var mixed = []struct {
	argv []string
	env  map[string]string
	wall time.Duration
	want durward.Outcome
}{
	{[]string{"true"}, nil, 0, durward.OutcomeOK},
	{[]string{"sh", "-c", "exit 3"}, nil, 0, durward.OutcomeToolError},
	{[]string{"true"}, map[string]string{"LD_PRELOAD": "x.so"}, 0, durward.OutcomeDenied},
	{[]string{"sh", "-c", "kill -SEGV $$"}, nil, 0, durward.OutcomeToolError},
	{[]string{"no-such-program"}, nil, 0, durward.OutcomeToolError},
	{[]string{"sleep", "60"}, nil, 20 * time.Millisecond, durward.OutcomeTimeout},
}

// aHouse is a runtime over the real policy, engine and log.
func aHouse(t *testing.T, dir string) *core.Runtime {
	t.Helper()
	p, err := policy.Default(policy.Host{Home: "/", Resolve: filepath.EvalSymlinks}, policy.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(dir, audit.Options{MaxBytes: 1 << 20, Keep: 1000})
	if err != nil {
		t.Fatal(err)
	}
	e := New(Options{ScratchDir: t.TempDir()})
	openToAll(t, e.scratch.parent)
	r, err := core.New(core.Options{
		Source: core.Catalogue{{ID: "exec", Engine: "process"}}, Policy: p, Recorder: log,
		Engines: map[string]core.Engine{"process": e}, MaxConcurrent: 32,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Shutdown(context.Background())
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// clients runs so many calls from 32 clients at once, every kind in turn.
func clients(t *testing.T, r *core.Runtime, total int) {
	const n = 32
	var all sync.WaitGroup
	for client := range n {
		all.Go(func() {
			for i := client; i < total; i += n {
				m := mixed[i%len(mixed)]
				result, err := r.Do(t.Context(), durward.Call{
					Door: "test", Tool: "exec", Argv: m.argv, Env: m.env, Dir: "/usr", Ask: durward.Ask{Limits: durward.Limits{Wall: m.wall, Grace: m.wall}},
				})
				if got := durward.OutcomeOf(result, err); got != m.want {
					t.Errorf("call %d %v: %s, want %s (%v)", i, m.argv, got, m.want, err)
				}
			}
		})
	}
	all.Wait()
}

// The log of 10 000 mixed calls from 32 clients proves itself, and tells exactly where
// one byte was changed and that a tail was cut.
func TestTenThousandCallsAreProven(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	const total = 10_000
	t.Run("calls", func(t *testing.T) { clients(t, aHouse(t, dir), total) })
	summary, err := audit.Verify(t.Context(), dir)
	if err != nil || len(summary.Problems) > 0 {
		t.Fatalf("%v %v", err, summary.Problems)
	}
	counts := map[audit.Phase]int{}
	for entry, err := range audit.Records(t.Context(), dir, audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		counts[entry.Phase]++
	}
	denied := 0
	for i := range total {
		if w := i % len(mixed); w == 2 || w == 4 {
			denied++
		}
	}
	if counts["deny"] != denied || counts["intent"] != total-denied || counts["outcome"] != total-denied {
		t.Fatalf("%v, want %d denied of %d", counts, denied, total)
	}
	t.Logf("%d records in %d segments verify", summary.Chains[0].Records, summary.Chains[0].Segments)

	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	active := summary.Chains[0].File
	damage(t, dir, files[0], func(b []byte) []byte {
		middle := len(b)/2 + bytes.IndexByte(b[len(b)/2:], ':') + 2
		b[middle] ^= 1
		return b
	})
	damage(t, dir, active, func(b []byte) []byte {
		return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
	})
}

// damage changes a file, expects verify to name it, and puts it back.
func damage(t *testing.T, dir, file string, change func([]byte) []byte) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	after := change(bytes.Clone(before))
	if err := os.WriteFile(file, after, 0o600); err != nil {
		t.Fatal(err)
	}
	line := 1
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			line += bytes.Count(before[:i], []byte("\n"))
			break
		}
	}
	summary, err := audit.Verify(t.Context(), dir)
	if durward.ReasonOf(err) != durward.AuditBroken || len(summary.Problems) == 0 {
		t.Fatalf("%s was changed and verifies: %v", file, err)
	}
	problem := summary.Problems[0].Error()
	if !strings.Contains(problem, filepath.Base(file)) {
		t.Fatalf("the damage is in %s line %d, verify names %s", file, line, problem)
	}
	t.Logf("damage at line %d: %s", line, problem)
	if err := os.WriteFile(file, before, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A runtime that is killed in the middle leaves a log that verifies once the next one
// has started: the calls in flight are closed as unknown.
func TestAKilledRuntimesLogIsProven(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	self := exec.Command(os.Args[0], "-test.run=^TestRuntimeKilledWhileItRecords$")
	tmp := t.TempDir()
	openToAll(t, tmp)
	self.Env = append(os.Environ(), "DURWARD_TEST_AUDIT="+dir, "TMPDIR="+tmp)
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "some hundred records", 30*time.Second, func() bool { return size(dir) > 300_000 })
	if err := self.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = self.Wait() // it was killed
	if _, err := audit.Verify(t.Context(), dir); err != nil {
		t.Fatalf("before the next start: %v", err)
	}
	t.Run("next", func(t *testing.T) { clients(t, aHouse(t, dir), 64) })
	if _, err := audit.Verify(t.Context(), dir); err != nil {
		t.Fatalf("after the next start: %v", err)
	}
	open, unknown := map[durward.CallID]bool{}, 0
	for entry, err := range audit.Records(t.Context(), dir, audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch entry.Phase {
		case "intent":
			open[entry.ReqID] = true
		case "outcome":
			delete(open, entry.ReqID)
			if entry.Cause == string(durward.OutcomeUnknown) {
				unknown++
			}
		}
	}
	if len(open) > 0 || unknown == 0 {
		t.Fatalf("%d calls have no outcome, %d are unknown", len(open), unknown)
	}
	t.Logf("%d calls were in flight and are closed as unknown", unknown)
}

// TestRuntimeKilledWhileItRecords is the other runtime of the test above; by itself it
// does nothing.
func TestRuntimeKilledWhileItRecords(t *testing.T) {
	if dir := os.Getenv("DURWARD_TEST_AUDIT"); dir != "" {
		clients(t, aHouse(t, dir), 1_000_000)
	}
}

func size(dir string) (n int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			n += info.Size()
		}
	}
	return n
}
