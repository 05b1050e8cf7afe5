package execserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/execserver/protocol"
)

func TestEnvironment(t *testing.T) {
	server := []string{"PATH=/bin", "HOME=/h", "lc_all=C", "API_KEY=k", "My_Secret=s", "GITHUB_TOKEN=t", "EDITOR=vi", "=odd", "plain", "A=b=c"}
	own := map[string]string{"OWN": "1", "PATH": "/own"}
	for _, test := range []struct {
		name   string
		policy *protocol.EnvPolicy
		want   map[string]string
	}{
		{"nothing is inherited without a policy", nil, own},
		{"none", &protocol.EnvPolicy{Inherit: protocol.InheritNone, Set: map[string]string{"X": "y"}}, map[string]string{"OWN": "1", "PATH": "/own", "X": "y"}},
		{
			"core", &protocol.EnvPolicy{Inherit: protocol.InheritCore},
			map[string]string{"OWN": "1", "PATH": "/own", "HOME": "/h", "lc_all": "C"},
		},
		{
			"all but secrets", &protocol.EnvPolicy{Inherit: protocol.InheritAll},
			map[string]string{"OWN": "1", "PATH": "/own", "HOME": "/h", "lc_all": "C", "EDITOR": "vi", "A": "b=c"},
		},
		{
			"all, and what is left out goes before what is set", &protocol.EnvPolicy{
				Inherit: protocol.InheritAll, IgnoreDefaultExcludes: true, Exclude: []string{"*key", "ED?TOR", "own"},
				Set: map[string]string{"EDITOR": "ed", "NEW_TOKEN": "n"},
			},
			map[string]string{
				"OWN": "1", "PATH": "/own", "HOME": "/h", "lc_all": "C", "My_Secret": "s", "GITHUB_TOKEN": "t", "A": "b=c",
				"EDITOR": "ed", "NEW_TOKEN": "n",
			},
		},
		{
			"what is included alone, but for the request's own", &protocol.EnvPolicy{
				Inherit: protocol.InheritAll, IncludeOnly: []string{"ho*", "x"}, Set: map[string]string{"X": "1", "Y": "2"},
			},
			map[string]string{"OWN": "1", "PATH": "/own", "HOME": "/h", "X": "1"},
		},
	} {
		got := environment(protocol.StartParams{Env: own, EnvPolicy: test.policy}, server)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestMatches(t *testing.T) {
	for pattern, names := range map[string]map[string]bool{
		"":      {"": true, "A": false},
		"*":     {"": true, "ABC": true},
		"A*C":   {"AC": true, "ABBC": true, "ABCB": false, "XAC": false},
		"*KEY*": {"KEY": true, "MONKEYS": true, "KE": false},
		"?":     {"A": true, "": false, "AB": false},
		"A**B?": {"ABC": true, "AXXBC": true, "AB": false},
		"*A*B":  {"AAB": true, "ABA": false, "ABAB": true},

		"[A-Z]*TOKEN": {"MY_TOKEN": true, "_TOKEN": false, "TOKEN": false},
		"*[!_]KEY":    {"AKEY": true, "A_KEY": false, "KEY": false},
		"[^A-C]":      {"D": true, "B": false},
		"A[BD-F]":     {"AB": true, "AC": false, "AE": true, "AG": false},
		"[]A]":        {"]": true, "A": true, "B": false},
		"[A-]":        {"-": true, "A": true, "B": false},
		"[AB":         {"[AB": true, "A": false},
		"[":           {"[": true, "": false},
		"[!":          {"[!": true, "A": false},
	} {
		for name, want := range names {
			if matches(pattern, name) != want {
				t.Errorf("matches(%q, %q) is not %v", pattern, name, want)
			}
		}
	}
}
