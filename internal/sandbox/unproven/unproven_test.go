package unproven

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
)

func need(list ...durward.Requirement) []durward.Requirement { return list }

// What somebody asked to be held is refused, with the member at fault and a way out.
func TestRefuses(t *testing.T) {
	for _, test := range []struct {
		name  string
		grant durward.Grant
		rule  string
	}{
		{"a written policy", durward.Grant{Mode: durward.ReadOnly}, "mode"},
		{"a written policy that writes", durward.Grant{Mode: durward.WorkspaceWrite}, "mode"},
		{"a mode that nobody knows", durward.Grant{Mode: "read_only"}, "mode"},
		{"no mode", durward.Grant{}, "mode"},
		{"level 0, written", durward.Grant{Mode: durward.ReadOnly, Level: durward.LevelNone}, "mode"},
		{"level 0, written beside a default", durward.Grant{Mode: durward.ReadOnly, Level: durward.LevelNone, StepDown: true}, "mode"},
		{"level 1", durward.Grant{Mode: durward.ReadOnly, Level: durward.LevelRestrict}, "level"},
		{"level 2 beside external", durward.Grant{Mode: durward.External, Level: durward.LevelIsolate}, "level"},
		{"a microVM", durward.Grant{Mode: durward.External, Level: durward.LevelMicroVM}, "level"},
		{"a least level", durward.Grant{Mode: durward.DangerFullAccess, MinLevel: durward.LevelRestrict}, "minLevel"},
		{"a least level for a default", durward.Grant{Mode: durward.ReadOnly, MinLevel: durward.LevelRestrict, StepDown: true}, "minLevel"},
		{"the end of the tree", durward.Grant{Mode: durward.External, Require: need(durward.Requirement{Guarantee: durward.Kill})}, "require"},
		{"memory", durward.Grant{Mode: durward.External, Require: need(durward.Requirement{Guarantee: durward.Mem})}, "require"},
		{"the network by the kernel", durward.Grant{Mode: durward.External, Require: need(durward.Requirement{Guarantee: durward.Net, Kernel: true})}, "require"},
		{"files without confinement", durward.Grant{Mode: durward.DangerFullAccess, Require: need(durward.Requirement{Guarantee: durward.FSRead})}, "require"},
		{"what a flag was written for", durward.Grant{Mode: durward.WorkspaceWrite, StepDown: true, Require: need(durward.Requirement{Guarantee: durward.FSWrite, Firm: true})}, "require"},
		{"no guarantee", durward.Grant{Mode: durward.External, Require: need(durward.Requirement{Guarantee: "fs"})}, "require"},
		{"a copy", durward.Grant{Mode: durward.External, Files: durward.Files{CopyOnWrite: true}}, "filesystem.copyOnWrite"},
	} {
		r, err := Judge(test.grant, durward.ReportIdentity{}, nil)
		e := durward.AsError(err)
		if e == nil || e.Reason != durward.SandboxUnavailable || e.Rule != test.rule || !strings.Contains(e.Hint, "external") {
			t.Errorf("%s: %+v, %v; want a refusal by %s", test.name, r, err, test.rule)
		}
	}
}

// What passes is promised nothing: no guarantee is reported as held.
func TestPromisesNothing(t *testing.T) {
	asked := need(durward.Requirement{Guarantee: durward.FSRead}, durward.Requirement{Guarantee: durward.Net})
	for _, g := range []durward.Grant{
		{Mode: durward.ReadOnly, StepDown: true, Require: asked},
		{Mode: durward.DangerFullAccess},
		{Mode: durward.DangerFullAccess, Level: durward.LevelNone, MinLevel: durward.LevelNone},
		{Mode: durward.External, Require: asked},
	} {
		r, err := Judge(g, durward.ReportIdentity{Inner: 501, Host: 501}, []string{"seatbelt"})
		if err != nil {
			t.Errorf("%s: %v", g.Mode, err)
			continue
		}
		if r.Level != 0 || r.Mode != g.Mode || r.Identity.Host != 501 || len(r.Guarantees) != len(durward.Guarantees()) {
			t.Errorf("%s: %+v", g.Mode, r)
		}
		if !slices.Contains(r.Weak, "seatbelt: built in, but never proven on this system") {
			t.Errorf("%s: weak is %q", g.Mode, r.Weak)
		}
		for guarantee, held := range r.Guarantees {
			vouched := g.Mode == durward.External && held.Held == durward.HeldVouched
			if held.Held != durward.HeldNone && !vouched || len(held.By) > 0 {
				t.Errorf("%s: %s is reported as %+v", g.Mode, guarantee, held)
			}
		}
		if named := slices.Contains(r.Weak, "fs.read: none at level 0"); named != g.StepDown {
			t.Errorf("%s: weak is %q", g.Mode, r.Weak)
		}
	}
}

func TestErrIsTold(t *testing.T) {
	if _, err := Judge(durward.Grant{Mode: durward.ReadOnly}, durward.ReportIdentity{}, nil); !errors.Is(err, Err) {
		t.Errorf("%v does not tell why", err)
	}
}
