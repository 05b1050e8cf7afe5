//go:build linux && (amd64 || arm64)

package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// eachContainment runs a test in every containment that this host offers; a fresh
// engine for each.
func eachContainment(t *testing.T, test func(t *testing.T, e *Engine)) {
	t.Helper()
	host := sandbox.ProbeAll()
	for _, trial := range host.Trials {
		if trial.Err != nil {
			t.Logf("%s is not to be had here: %v", trial.Containment, trial.Err)
			continue
		}
		only := func() sandbox.Host { return host.With(trial.Containment) }
		t.Run(string(trial.Containment), func(t *testing.T) { test(t, newEngine(t, Options{Host: only})) })
		if trial.Containment == sandbox.PIDNamespace {
			t.Run(warm, func(t *testing.T) { test(t, warmEngine(t, only)) })
		}
	}
}

// warm is the name of the tests of an engine that has the first process of a call ready.
const warm = "warm"

// warmEngine gives an engine that has the first process of a call ready.
func warmEngine(t *testing.T, host func() sandbox.Host) *Engine {
	t.Helper()
	e := newEngine(t, Options{Host: host, Warm: true})
	if _, err := e.run(t.Context(), call("true"), confined()); err != nil {
		t.Fatal(err)
	}
	settle(e)
	return e
}

// settle waits until nothing is being made ready: what is has copies of all descriptors
// for a moment.
func settle(e *Engine) {
	if e.spares != nil {
		e.spares.Settle()
	}
	e.later.Wait()
	e.host().Settle()
}

func newEngine(t *testing.T, o Options) *Engine {
	t.Helper()
	o.ScratchDir = t.TempDir()
	e := New(o)
	openToAll(t, e.scratch.parent)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("the engine left something behind: %v", err)
		}
	})
	return e
}

// openToAll lets any user pass through a directory of the test, and its parents.
func openToAll(t *testing.T, dir string) {
	t.Helper()
	for ; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// confined is the grant of a call whose command may not be root.
func confined() durward.Grant {
	return durward.Grant{
		Mode: durward.ReadOnly, Level: durward.LevelNone, StepDown: true, Keep: durward.KeepHeadTail,
		Env:        map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"},
		PrivateDir: []string{"HOME", "TMPDIR"}, Limits: durward.DefaultLimits(),
	}
}

var calls int

// call gives a command an id of its own.
func call(argv ...string) durward.Call {
	calls++
	return durward.Call{ID: durward.CallID("test-" + strconv.Itoa(calls)), Argv: argv, Dir: "/"}
}

func shell(format string, args ...any) durward.Call {
	return call("sh", "-c", fmt.Sprintf(format, args...))
}

// run prepares and runs a call.
func (e *Engine) run(ctx context.Context, c durward.Call, g durward.Grant) (durward.Result, error) {
	p, err := e.Prepare(ctx, durward.Tool{}, c, g)
	if err != nil {
		return durward.Result{}, err
	}
	defer p.Close()
	return p.Run(ctx)
}

// A marker is a number of seconds that nobody else sleeps: it finds the processes of
// one call among all on this machine.
type marker string

func newMarker(t *testing.T, i int) marker {
	t.Helper()
	return marker(fmt.Sprintf("86400.%d%04d%03d", os.Getpid(), time.Now().UnixNano()%10000, i))
}

// alive counts the processes that carry the marker, whoever they belong to.
func (m marker) alive(t *testing.T) int {
	t.Helper()
	return aliveOf(t, m)[0]
}

// aliveOf counts those of each marker, in one look at all processes there are.
func aliveOf(t *testing.T, markers ...marker) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]int, len(markers))
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline") // empty for the dead
		for i, m := range markers {
			if bytes.Contains(line, []byte(m)) {
				counts[i]++
			}
		}
	}
	return counts
}

// waitFor waits until a condition holds, and fails the test when it does not in time.
func waitFor(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, limit)
		}
		time.Sleep(2 * time.Millisecond) // between two looks
	}
}

// escapees starts processes that try to outlive the command: plain, in a session of
// their own with an empty environment, orphans of a double fork, deaf to TERM,
// stopped.
func escapees(m marker) string {
	return fmt.Sprintf(`
sleep %[1]s &
setsid env -i sleep %[1]s &
(sleep %[1]s &)
(setsid sleep %[1]s &)
(trap "" TERM; exec setsid sleep %[1]s) &
sleep %[1]s & kill -STOP $!
`, m)
}

// escaped is the number of processes that escapees starts. A stopped one may still be
// the shell that was to become it; the marker is in its command line, too.
const escaped = 6
