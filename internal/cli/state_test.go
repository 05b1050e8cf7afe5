//go:build linux

package cli

import (
	"testing"

	"github.com/durward/durward"
)

func TestStateDir(t *testing.T) {
	for _, test := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"the variable of durward", map[string]string{varStateDir: "/s/", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/s"},
		{"the place of the desktop", map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/durward"},
		{"a relative place counts as none", map[string]string{"XDG_STATE_HOME": "x", "HOME": "/h"}, "/h/.local/state/durward"},
		{"the home", map[string]string{"HOME": "/h"}, "/h/.local/state/durward"},
		{"nothing known", nil, ""},
		{"a relative folder", map[string]string{varStateDir: "state", "HOME": "/h"}, ""},
	} {
		p, _, _ := start(t, test.env, "/", nil)
		got, err := p.stateDir()
		if got != test.want || (test.want == "") != (durward.ReasonOf(err) == durward.AuditUnavailable) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}
