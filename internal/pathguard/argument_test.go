//go:build linux || darwin

package pathguard

import (
	"strings"
	"testing"

	"github.com/durward/durward"
)

func TestArguments(t *testing.T) {
	top := plant(t, map[string]string{
		"root/sub/a": "", "outside/a": "", "root/link": "-> ../outside", "root/in": "-> sub", "root/loop": "-> loop", "root/dangling": "-> none",
		"root/~": "-> ../outside", "home/a": "", "root/odd/~/a": "",
	})
	g := open(t, Options{Home: top + "/home", Start: top + "/outside"}, top+"/root")
	for _, tt := range []struct {
		dir, argument string
		inside        bool
	}{
		{"/root", "sub/a", true},
		{"/root", "./sub", true},
		{"/root", ".", true},
		{"/root/sub", "..", true},
		{"/root/sub", "../..", false},
		{"/root", "new", true},
		{"/root", "new/er/x", true},
		{"/root", "in/a", true},
		{"/root", "link/a", false},
		{"/root", "link", false},
		{"/root", "dangling", true},
		{"/root", "sub/a/x", true},
		{"/root", "sub/a/../../../outside/a", false},
		{"/root", "new/../sub/a", false},
		{"/root", "no/../../outside/a", false},
		{"/root", "loop", false},
		{"/root", "${T}/root/sub/a", true},
		{"/root", "${T}/root", true},
		{"/root", "${T}/root-evil/x", false},
		{"/root", "${T}/outside/none", false},
		{"/root", "/etc/passwd", false},
		{"/root", "~/a", false},
		{"/root/odd", "~/a", false},
		{"/root/odd", "~a", true},
		{"/root", "", true},
		{"/root", strings.Repeat("x", 300) + "/x", true},
		{"/root", strings.Repeat("x", 300) + "/../../outside/a", false},
		{"/root", strings.Repeat("x/", 3000), false},
		{"/root", "a\x00b", false},
		{"/outside", "a", false},
		{"/outside", "../root/sub", true},
		{"/", "root/sub", true},
		{"/none", "sub", false},
	} {
		argument := strings.ReplaceAll(tt.argument, "${T}", top)
		err := g.JudgeArgument(t.Context(), strings.TrimSuffix(top+tt.dir, "/"), argument)
		if tt.inside {
			if err != nil {
				t.Errorf("%.40q in %s: %v", tt.argument, tt.dir, err)
			}
			continue
		}
		wantReason(t, tt.argument, err, durward.ArgOutsideRoots)
	}
	wantReason(t, "in no directory", g.JudgeArgument(t.Context(), "", "sub/a"), durward.ArgOutsideRoots)
}
