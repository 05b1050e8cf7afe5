//go:build linux

package cli

import (
	"strings"
	"testing"

	"github.com/durward/durward"
)

func TestStateDir(t *testing.T) {
	for _, test := range []struct {
		name string
		env  map[string]string
		want string
		why  string
	}{
		{"the variable of durward", map[string]string{varStateDir: "/s/", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/s", ""},
		{"the place of the desktop", map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/durward", ""},
		{"a relative place counts as none", map[string]string{"XDG_STATE_HOME": "x", "HOME": "/h"}, "/h/.local/state/durward", ""},
		{"the home", map[string]string{"HOME": "/h"}, "/h/.local/state/durward", ""},
		{"nothing known", nil, "", "neither DURWARD_STATE_DIR nor HOME is set"},
		{"a relative folder", map[string]string{varStateDir: "state", "HOME": "/h"}, "", `DURWARD_STATE_DIR is "state", which is no absolute path`},
		{"a relative home", map[string]string{"HOME": "h"}, "", `HOME is "h", which is no absolute path`},
	} {
		p, _, _ := start(t, test.env, "/", nil)
		got, err := p.stateDir()
		if got != test.want || (test.want == "") != (durward.ReasonOf(err) == durward.AuditUnavailable) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
		if test.why != "" && !strings.HasSuffix(err.Error(), test.why) {
			t.Errorf("%s: %v, want %s", test.name, err, test.why)
		}
	}
}
