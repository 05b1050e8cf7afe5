package execpolicy_test

import (
	"strings"
	"testing"

	"github.com/durward/durward/internal/execpolicy"
)

func TestWhatAConfinementHolds(t *testing.T) {
	for _, tt := range []struct {
		name, object, script string
		want                 string // what is printed, sorted out by the script
		code                 int
	}{
		{"writes inside and not outside", workspace, `echo x > in.txt && echo in-ok; echo x > ../out/n.txt || echo out-denied; exit 3`, "in-ok out-denied", 3},
		{"the older form does the same", seedOld, `echo x > in.txt && echo in-ok; echo x > ../out/n.txt || echo out-denied; exit 3`, "in-ok out-denied", 3},
		{"a link does not lead out", workspace, `echo x > dirlink/n.txt || echo denied`, "denied", 0},
		{"reads everything", workspace, `cat $T/out/secret.txt`, "in out/secret.txt", 0},
		{".git is kept", workspace, `cat .git/config; echo x > .git/config || echo denied; mv .git g || echo denied; mkdir .git/x || echo denied`, "in ws/.git/config denied denied denied", 0},
		{"nothing is written", readOnly, `echo x > a.txt || echo denied; echo x > $T/ws/n || echo denied; touch /tmp/durward-n || echo denied; cat a.txt`, "denied denied denied in ws/a.txt", 0},
		{"what is not named is not there", little, `cat a.txt; cat $T/out/secret.txt || echo absent; ls $T; echo x > a.txt || echo denied`, "in ws/a.txt absent ws denied", 0},
		{"no sockets", readOnly, `if bash -c 'exec 3<>/dev/tcp/127.0.0.1/1' 2>&1 | grep -q 'refused'; then echo connected; else echo none; fi`, "none", 0},
		{"nothing is confined", disabled, `echo x > ../out/n.txt && echo written`, "written", 0},
		{"nothing is confined without an object", `null`, `echo x > ../out/n.txt && echo "$PLAIN"; echo "${HOME-none}${TMPDIR-none}"`, "as it is nonenone", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			e := w.run(w.policy(execpolicy.Options{}), w.call(tt.object, "ws", `exec 2>/dev/null; `+tt.script))
			if got := strings.Join(strings.Fields(e.out), " "); got != tt.want || e.code != tt.code {
				t.Errorf("it printed %q and ended with %d, %v; want %q and %d", got, e.code, e.err, tt.want, tt.code)
			}
			if confined := tt.object != disabled && tt.object != `null`; confined == (w.holds("out/n.txt") != "") {
				t.Errorf("outside stands %q", w.holds("out/n.txt"))
			}
		})
	}
}
