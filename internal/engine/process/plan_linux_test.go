//go:build linux && (amd64 || arm64)

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// TestAPlanTellsWhatTheRunReports takes one prepared call at each level: its plan runs
// nothing, and promises what the report of the run then says.
func TestAPlanTellsWhatTheRunReports(t *testing.T) {
	eachLevel(t, func(t *testing.T, at durward.Level) {
		s := subject(t, at)
		mark := filepath.Join(s.Dir, "mark")
		p, err := s.Engine.Prepare(t.Context(), s.Tool, s.Marks(mark), s.Grant)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		plan := p.(core.Planner).Plan(t.Context())
		if _, err := os.Stat(mark); err == nil {
			t.Error("the plan has run the command")
		}
		if !filepath.IsAbs(plan.Program) || !filepath.IsAbs(plan.Dir) || len(plan.Passed) != int(durward.LevelIsolate-at) {
			t.Errorf("%+v", plan)
		}
		if last := plan.Calls[len(plan.Calls)-1]; last == "" || !strings.Contains(strings.Join(plan.Calls, "\n"), "execute the program: exec") {
			t.Errorf("the calls are %q", plan.Calls)
		}
		result, err := p.Run(t.Context())
		if err != nil || result.Report == nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*result.Report, plan.Report, cmpopts.IgnoreFields(durward.Report{}, "SetupUs", "End")); diff != "" {
			t.Errorf("the run reports (-), the plan says (+):\n%s", diff)
		}
	})
}
