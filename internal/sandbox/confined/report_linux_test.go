package confined

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// The report names the kernel where it holds alone, durward where it helps, and says what
// that is about.
func TestReport(t *testing.T) {
	abi, err := landlock.Probe()
	must(t, err)
	w, g := project(t)
	plain := under(t, w.grant()).Report()
	for _, guarantee := range []durward.Guarantee{durward.FSRead, durward.FSWrite} {
		if held := plain.Guarantees[guarantee]; abi >= 5 && (held.Held != durward.HeldKernel || fmt.Sprint(held.By) != "["+abi.String()+"]") {
			t.Errorf("%s: %+v", guarantee, held)
		}
	}
	if held := plain.Guarantees[durward.FSMeta]; held.Held != durward.HeldRuntime {
		t.Errorf("fs.meta: %+v", held)
	}
	if plain.Mode != durward.WorkspaceWrite || plain.Level != 1 || plain.Identity.Inner != uint32(os.Geteuid()) || len(plain.Guarantees) != 3 {
		t.Errorf("%+v", plain)
	}
	report := under(t, g).Report()
	for _, guarantee := range []durward.Guarantee{durward.FSRead, durward.FSWrite} {
		if held := report.Guarantees[guarantee]; held.Held != durward.HeldRuntime || fmt.Sprint(held.By) != "["+abi.String()+" descriptor]" {
			t.Errorf("%s: %+v", guarantee, held)
		}
	}
	weak := strings.Join(report.Weak, "\n")
	for _, want := range []string{"fs.read: deny " + w.work + "/.env", "fs.write: deny " + w.work + "/keys", "more of the policy's paths"} {
		if !strings.Contains(weak, want) {
			t.Errorf("%q is not in\n%s", want, weak)
		}
	}
	if text := string(report.AppendJSON(nil)); !json.Valid([]byte(text)) {
		t.Error(text)
	}
}

// What the kernel's Landlock is too old to know is durward's to hold, and is named.
func TestReportOfAnOldKernel(t *testing.T) {
	w := newWorld(t)
	terms, gaps, err := termsOf(w.grant())
	must(t, err)
	r, err := terms.report(w.grant(), 2, append(gaps, terms.rules.Gaps(2)...))
	must(t, err)
	if held := r.Guarantees[durward.FSWrite]; held.Held != durward.HeldRuntime || r.Guarantees[durward.FSRead].Held != durward.HeldKernel {
		t.Errorf("%+v", r.Guarantees)
	}
	if weak := strings.Join(r.Weak, "\n"); !strings.Contains(weak, "fs.write: truncate is held by durward") {
		t.Error(weak)
	}
}

// A built-in default that asks for more of the kernel than it can hold is told, not
// refused, unless the operator wrote it.
func TestStepDown(t *testing.T) {
	w := newWorld(t)
	g := w.grant()
	g.StepDown = true
	g.Require = []durward.Requirement{{Guarantee: durward.FSMeta, Kernel: true}, {Guarantee: durward.Kill, Kernel: true}}
	if weak := strings.Join(under(t, g).Report().Weak, "\n"); !strings.Contains(weak, "fs.meta!: runtime") {
		t.Error(weak)
	}
	g.Require[0].Firm = true
	_, err := newKeeper(t).Under(g)
	wantReason(t, "firm", err, durward.SandboxUnavailable)
}
