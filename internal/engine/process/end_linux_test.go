//go:build linux && (amd64 || arm64)

package process

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// An ending is one call in one of the ways a call can be made.
type ending struct {
	engine *Engine
	grant  durward.Grant
	dir    string // anybody may write there
	open   bool   // as a session
	// linger, unless zero, replaces what survivors get between TERM and KILL.
	linger time.Duration
}

// eachEnding runs a test in every containment, with and without a change of user, and
// as a run and as a session.
func eachEnding(t *testing.T, test func(t *testing.T, c ending)) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		for _, mode := range []durward.Mode{durward.ReadOnly, durward.DangerFullAccess} {
			for _, open := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/open=%v", mode, open), func(t *testing.T) {
					c := ending{engine: e, grant: confined(), dir: t.TempDir(), open: open}
					c.grant.Mode = mode
					openToAll(t, c.dir)
					if err := os.Chmod(c.dir, 0o777); err != nil {
						t.Fatal(err)
					}
					test(t, c)
				})
			}
		}
	})
}

// call makes the call; the command works in dir.
func (c ending) call(t *testing.T, script string, args ...any) (durward.Result, error) {
	t.Helper()
	p, err := c.engine.Prepare(t.Context(), durward.Tool{}, withDir(shell(script, args...), c.dir), c.grant)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if c.linger > 0 {
		p := p.(*prepared)
		p.request.Linger = c.linger
		if p.plan, err = sandbox.Compile(t.Context(), p.request, p.host); err != nil {
			t.Fatal(err)
		}
	}
	if !c.open {
		return p.Run(t.Context())
	}
	s, err := p.(*prepared).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.Wait(t.Context())
}

func (c ending) has(name string) bool {
	_, err := os.Stat(filepath.Join(c.dir, name))
	return err == nil
}

// onTERM is a process that makes a file when it gets TERM, and ends; ready tells that
// it would.
const onTERM = `trap "touch warned; exit" TERM; touch ready; while :; do sleep 0.01; done`

const untilReady = `until [ -e ready ]; do sleep 0.01; done; `

// What a command leaves in its process group is asked to end before it is killed, and
// has ended when the call is answered.
func TestSurvivorsGetTERM(t *testing.T) {
	eachEnding(t, func(t *testing.T, c ending) {
		c.linger = 20 * time.Second // for a busy machine
		began := time.Now()
		r, err := c.call(t, `(%s) & %s exit 7`, onTERM, untilReady)
		if err != nil || r.ExitStatus() != 7 {
			t.Fatalf("exit %d, %v", r.ExitStatus(), err)
		}
		if !c.has("warned") {
			t.Fatal("it was killed without TERM")
		}
		if took := time.Since(began); took >= c.linger {
			t.Fatalf("nobody was left and the answer took %s", took)
		}
	})
}

// Who ignores TERM, and who is in a session of its own, is killed.
func TestSurvivorsGetKILL(t *testing.T) {
	eachEnding(t, func(t *testing.T, c ending) {
		m := newMarker(t, 0)
		r, err := c.call(t, `(trap "" TERM; exec sleep %[1]s) & setsid sh -c '%[2]s; : %[1]s' & %[3]s exit 7`, m, onTERM, untilReady)
		if err != nil || r.ExitStatus() != 7 {
			t.Fatalf("exit %d, %v", r.ExitStatus(), err)
		}
		if left := m.alive(t); left != 0 || c.has("warned") {
			t.Fatalf("%d live; TERM was sent outside the group: %v", left, c.has("warned"))
		}
	})
}

// A command that breaks a cap is killed without a warning.
func TestNoTERMForABrokenCap(t *testing.T) {
	eachEnding(t, func(t *testing.T, c ending) {
		c.grant.Limits.OutputHard = 1000
		_, err := c.call(t, `(%s) & %s exec yes`, onTERM, untilReady)
		if durward.ReasonOf(err) != durward.LimitOutput || c.has("warned") {
			t.Fatalf("%v; TERM was sent: %v", err, c.has("warned"))
		}
	})
}

// The end of a command is told as it was, whether or not it left somebody behind.
func TestTheExitIsToldBesideSurvivors(t *testing.T) {
	eachEnding(t, func(t *testing.T, c ending) {
		m := newMarker(t, 0)
		for _, left := range []string{":", "sleep " + string(m) + " &"} {
			for script, want := range map[string]int{"exit 0": 0, "exit 255": 255, "kill -SEGV $$": 128 + 11, "kill -TERM $$": 128 + 15} {
				if r, err := c.call(t, "%s\n%s", left, script); err != nil || r.ExitStatus() != want {
					t.Errorf("%s; %s: %d, %v", left, script, r.ExitStatus(), err)
				}
			}
		}
		if left := m.alive(t); left != 0 {
			t.Errorf("%d live", left)
		}
	})
}

// Where nothing is known to end a tree, nobody says that it has ended.
func TestSurvivorsAreNotKnown(t *testing.T) {
	for held, want := range map[durward.Holder]int{durward.HeldKernel: 0, durward.HeldBestEffort: 0, durward.HeldNone: -1} {
		p, err := newEngine(t, Options{}).Prepare(t.Context(), durward.Tool{}, call("true"), confined())
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		report := &p.(*prepared).plan.Report
		report.Guarantees = maps.Clone(report.Guarantees)
		report.Guarantees[durward.Kill] = durward.Held{Held: held}
		result, err := p.Run(t.Context())
		if err != nil || result.Report.End.Survivors != want {
			t.Errorf("kill held by %s: %d survivors, %v; want %d", held, result.Report.End.Survivors, err, want)
		}
	}
}
