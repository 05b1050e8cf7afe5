//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
)

// The kernel looks at a command before it looks at us or at the reaper, whose end would
// be everybody's.
func TestTheCommandIsKilledFirst(t *testing.T) {
	own, err := os.ReadFile(victimFile)
	if err != nil || Probe().VictimErr != nil {
		t.Logf("not to be had here: %v, %v", err, Probe().VictimErr)
		return
	}
	eachTrial(t, func(t *testing.T, r *trial) {
		modes := []durward.Mode{r.request.Grant.Mode}
		if r.request.Grant.Level == durward.LevelNone {
			modes = append(modes, durward.DangerFullAccess)
		}
		for _, mode := range modes {
			program, err := FindProgram("sh", "/usr/bin:/bin", "/")
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close()
			said := filepath.Join(filepath.Dir(r.marker), string(mode))
			r.request.Grant.Mode, r.request.Program = mode, program
			r.request.Argv = []string{"sh", "-c", fmt.Sprintf("echo > %s; exec sleep 86400", said)}
			p, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host)
			if err != nil {
				t.Fatal(err)
			}
			for began := time.Now(); !exists(said) && time.Since(began) < 10*time.Second; {
				time.Sleep(time.Millisecond) // between two looks
			}
			command := p.pid
			if !p.plan.direct {
				of, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.pid))
				if err != nil || string(of) != string(own) {
					t.Errorf("%s: the reaper has %q, and we have %q: %v", mode, of, own, err)
				}
				if left := children(p.pid); len(left) > 0 {
					command = left[0]
				}
			}
			of, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", command))
			if err != nil || strings.TrimSpace(string(of)) != "1000" || command == p.pid && !p.plan.direct {
				t.Errorf("%s: the command has %q: %v", mode, of, err)
			}
			p.Kill()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if now, err := os.ReadFile(victimFile); err != nil || string(now) != string(own) {
			t.Errorf("we have %q now: %v", now, err)
		}
	})
}

// Where a command cannot be made the first to be killed, the report says so.
func TestNobodyCanBeMadeTheFirstToBeKilled(t *testing.T) {
	r := newTrial(t, Probe())
	r.host.VictimErr = nil
	before := r.compile(t)
	r.host.VictimErr = errors.New("read-only file system")
	p := r.compile(t)
	if len(p.Command) >= len(before.Command) || len(p.Report.Weak) != len(before.Report.Weak)+1 {
		t.Fatalf("%s\n%v", p, p.Report.Weak)
	}
	if err := r.start(p); err != nil || !r.ran() {
		t.Fatalf("%v; ran: %v", err, r.ran())
	}
}
