//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/durward/durward"
)

// What the grant requires and level 0 does not hold is refused, unless the grant is a
// default that may step down; then the report names it.
func TestRequire(t *testing.T) {
	r := newTrial(t, Probe().WithoutMemory())
	kernel := durward.Requirement{Guarantee: durward.Kill, Kernel: true}
	for _, test := range []struct {
		name    string
		grant   durward.Grant
		refused bool
	}{
		{"kill by the kernel", durward.Grant{Require: []durward.Requirement{kernel}}, false},
		{"files", durward.Grant{Require: []durward.Requirement{{Guarantee: durward.FSWrite}}}, true},
		{"files of a default", durward.Grant{StepDown: true, Require: []durward.Requirement{{Guarantee: durward.FSWrite}}}, false},
		{"files of a default, firmly", durward.Grant{StepDown: true, Require: []durward.Requirement{{Guarantee: durward.FSWrite, Firm: true}}}, true},
		{"memory by the runtime", durward.Grant{Limits: durward.DefaultLimits(), Require: []durward.Requirement{{Guarantee: durward.Mem}}}, false},
		{"memory by the kernel", durward.Grant{Limits: durward.DefaultLimits(), Require: []durward.Requirement{{Guarantee: durward.Mem, Kernel: true}}}, true},
		{"a level that there is none of", durward.Grant{Level: durward.LevelContainer}, true},
		{"level 0, at least level 2", durward.Grant{MinLevel: durward.LevelIsolate}, true},
		{"a vouched sandbox", durward.Grant{Mode: durward.External, Require: []durward.Requirement{{Guarantee: durward.FSWrite}}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := r.request
			request.Grant = test.grant
			request.Grant.Level = max(request.Grant.Level, durward.LevelNone)
			p, err := Compile(t.Context(), request, r.host)
			if refused := durward.ReasonOf(err) == durward.SandboxUnavailable; refused != test.refused || (err != nil) != test.refused {
				t.Fatalf("%v", err)
			}
			if test.grant.StepDown && !test.refused && !slices.ContainsFunc(p.Report.Weak, func(s string) bool { return strings.HasPrefix(s, "fs.write") }) {
				t.Fatalf("the report does not name what is missing: %v", p.Report.Weak)
			}
		})
	}
}

// Who wrote a requirement that is refused is told to take it out, not to use a mode that
// does not require it by itself either.
func TestHintOfARequirement(t *testing.T) {
	r := newTrial(t, Probe().WithoutMemory())
	for _, test := range []struct {
		mode durward.Mode
		q    durward.Requirement
		want string
	}{
		{durward.DangerFullAccess, durward.Requirement{Guarantee: durward.Mem, Kernel: true}, "take mem! out of require"},
		{durward.ReadOnly, durward.Requirement{Guarantee: durward.Mem, Kernel: true}, "take mem! out of require"},
		{durward.DangerFullAccess, durward.Requirement{Guarantee: durward.FSWrite}, "take fs.write out of require"},
		{durward.WorkspaceWrite, durward.Requirement{Guarantee: durward.FSWrite}, "use a mode that does not require it"},
	} {
		request := r.request
		request.Grant = durward.Grant{Mode: test.mode, Level: durward.LevelNone, Limits: durward.DefaultLimits(), Require: []durward.Requirement{test.q}}
		_, err := Compile(t.Context(), request, r.host)
		var e *durward.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Hint, test.want) {
			t.Errorf("%s, %s: %+v, want %q", test.mode, test.q, e, test.want)
		}
	}
}

// Without a containment nothing is run.
func TestNoContainmentNoCommand(t *testing.T) {
	r := newTrial(t, Probe())
	r.host.Trials = []Trial{{PIDNamespace, syscall.EPERM}, {Cgroup, syscall.EPERM}, {Subreaper, syscall.EPERM}}
	if _, err := Compile(t.Context(), r.request, r.host); durward.ReasonOf(err) != durward.SandboxUnavailable {
		t.Fatalf("%v", err)
	}
}
