//go:build unix

package policy_test

import (
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

func TestLocateNamesTheMemberThatAsks(t *testing.T) {
	for _, test := range []struct{ name, text, rule, want, at string }{
		{"files by the mode", "limits: {}\nmode: read-only\n", "files", "sandbox.mode", "p.yaml:2:7"},
		{"files by a mode that was left out", "limits: {}\n", "files", "sandbox.mode", "p.yaml:1:1"},
		{"network", "mode: danger-full-access\nnetwork:\n  mode: none\n", "network", "sandbox.network.mode", "p.yaml:3:9"},
		{"what a network requires", "mode: danger-full-access\nnetwork:\n  mode: none\n", "require", "sandbox.network.mode", "p.yaml:3:9"},
		{"what is required", "mode: danger-full-access\nrequire: [net]\n", "require", "sandbox.require", "p.yaml:2:10"},
		{"what a mode requires", "mode: read-only\n", "require", "sandbox.mode", "p.yaml:1:7"},
		{"a level", "mode: danger-full-access\nlevel: 2\nminLevel: 1\n", "level", "sandbox.level", "p.yaml:2:8"},
		{"a least level", "mode: danger-full-access\nminLevel: 1\n", "level", "sandbox.minLevel", "p.yaml:2:11"},
		{"a level that only the call asked for", "mode: danger-full-access\n", "level", "level", ""},
		{"an identity", "mode: danger-full-access\nidentity: 5:5\n", "identity", "sandbox.identity", "p.yaml:2:11"},
		{"something else", "mode: danger-full-access\n", "step 5", "step 5", ""},
	} {
		p := compile(t, test.text)
		if rule, at := p.Locate(test.rule); rule != test.want || at.String() != test.at {
			t.Errorf("%s: %s at %q, want %s at %q", test.name, rule, at, test.want, test.at)
		}
	}
}

func TestLocateOfABuiltInPolicyIsNowhere(t *testing.T) {
	p, err := policy.Default(host(), policy.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	if rule, at := p.Locate("files"); rule != "files" || at != (durward.Position{}) {
		t.Errorf("%s at %s", rule, at)
	}
}
