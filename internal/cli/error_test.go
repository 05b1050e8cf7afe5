package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// TestEveryFailureSaysWhatWhyAndFix asks it of every reason there is, also where the
// error itself says nothing.
func TestEveryFailureSaysWhatWhyAndFix(t *testing.T) {
	for _, reason := range durward.Reasons() {
		p, _, stderr := start(t, nil, "/", nil)
		p.tell(&durward.Error{Reason: reason, Err: errors.New("because")}, "subject")
		for _, want := range []string{
			"error: subject: " + reason.Summary() + " (" + reason.Code() + ")\n", "\n  why: because\n", "\n  fix: ", "\n  more: ",
		} {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%s: %q is not in\n%s", reason, want, stderr)
			}
		}
		if lines := strings.Count(stderr.String(), "\n"); lines != 4 {
			t.Errorf("%s: %d lines", reason, lines)
		}
	}
}

func TestFailureOfAnErrorWithoutAReason(t *testing.T) {
	f := failureOf(fmt.Errorf("write: %w", errors.New("disk\x1b[2J\nfull")), "")
	if f.Code != durward.Defect.Code() || f.Why != `write: disk\x1b[2J; full` {
		t.Errorf("%+v", f)
	}
}

func TestExitStatuses(t *testing.T) {
	for _, test := range []struct {
		reason     durward.Reason
		exec, rest int
	}{
		{durward.BadUsage, 125, 2},
		{durward.PolicyInvalid, 125, 3},
		{durward.ConfigInvalid, 125, 3},
		{durward.LimitDenied, 125, 4},
		{durward.DeadlineExceeded, 124, 6},
		{durward.ProgramNotFound, 127, 7},
		{durward.ProgramNotExecutable, 126, 8},
		{durward.QueueFull, 125, 8},
		{durward.SandboxUnavailable, 125, 9},
		{durward.AuditUnavailable, 125, 9},
		{durward.AuditBroken, 125, 9},
		{durward.LimitCPU, 137, 6},
		{durward.LimitMemory, 137, 1},
		{durward.LimitOutput, 137, 1},
		{durward.Defect, 125, 1},
	} {
		err := &durward.Error{Reason: test.reason}
		if got := execStatus(err); got != test.exec {
			t.Errorf("exec: %s gives %d, want %d", test.reason, got, test.exec)
		}
		if got := statusOf(err); got != test.rest {
			t.Errorf("%s gives %d, want %d", test.reason, got, test.rest)
		}
	}
}

func TestAsksForJSON(t *testing.T) {
	for _, test := range []struct {
		args string
		want bool
	}{
		{"durward exec --json -- true", true},
		{"durward --json exec true", true},
		{"durward exec -- true --json", false},
		{"durward exec", false},
	} {
		if got := asksForJSON(strings.Fields(test.args)); got != test.want {
			t.Errorf("%s: %v", test.args, got)
		}
	}
}
