package execpolicy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
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
		{"what clients usually send", usual, `echo x > a.txt && echo in-ok; touch /tmp/durward-$$ && rm /tmp/durward-$$ && echo tmp-ok; echo x > .git/config || echo git-denied; echo x > /etc/durward-n || echo etc-denied; cat /etc/passwd >/dev/null && echo read-ok`, "in-ok tmp-ok git-denied etc-denied read-ok", 0},
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

// entry writes one entry of an object.
func entry(access, path string) string {
	return `{"path":{"type":"path","path":"` + path + `"},"access":"` + access + `"}`
}

func denyGlob(pattern string) string {
	return `{"path":{"type":"glob_pattern","pattern":"` + pattern + `"},"access":"deny"}`
}

// holding gives an object with the files of the system and some entries.
func holding(entries ...string) string {
	all := append([]string{`{"path":{"type":"special","value":{"kind":"minimal"}},"access":"read"}`}, entries...)
	return `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[` + strings.Join(all, ",") + `]},"network":"restricted"},"windowsSandboxLevel":"disabled","cwd":"$T/ws"}`
}

// TestTheMostSpecificEntryWins tries entries within entries.
func TestTheMostSpecificEntryWins(t *testing.T) {
	const try = `for f in a.txt sub/b.txt sub/deep/c.txt; do cat $f >/dev/null && printf r || printf -; echo x >> $f && printf w || printf -; echo; done`
	for _, tt := range []struct {
		name    string
		entries []string
		want    string
	}{
		{"write", []string{entry("write", "$T/ws")}, "rw rw rw"},
		{"read in write", []string{entry("write", "$T/ws"), entry("read", "$T/ws/sub")}, "rw r- r-"},
		{"write in read", []string{entry("read", "$T/ws"), entry("write", "$T/ws/sub")}, "r- rw rw"},
		{"write in read in write", []string{entry("write", "$T/ws"), entry("read", "$T/ws/sub"), entry("write", "$T/ws/sub/deep")}, "rw r- rw"},
		{"deny in write", []string{entry("write", "$T/ws"), entry("deny", "$T/ws/sub")}, "rw -- --"},
		{"deny in read in write", []string{entry("write", "$T/ws"), entry("read", "$T/ws/sub"), entry("deny", "$T/ws/sub/deep")}, "rw r- --"},
		{"deny over read and write", []string{entry("write", "$T/ws"), entry("write", "$T/ws/sub"), entry("read", "$T/ws/sub"), entry("none", "$T/ws/sub")}, "rw -- --"},
		{"write over read", []string{entry("read", "$T/ws"), entry("write", "$T/ws"), entry("read", "$T/ws")}, "rw rw rw"},
		{"a denied directory around what is given", []string{entry("deny", "$T"), entry("write", "$T/ws")}, "rw rw rw"},
		{"everything denied around what is given", []string{`{"path":{"type":"special","value":{"kind":"root"}},"access":"deny"}`, entry("write", "$T/ws")}, "rw rw rw"},
		{"a pattern", []string{entry("write", "$T/ws"), denyGlob("**/[!a].txt")}, "rw -- --"},
		{"dots in a path", []string{entry("write", "$T/out/../ws/./sub/..")}, "rw rw rw"},
		{"a link to the workspace", []string{entry("write", "$T/link")}, "rw rw rw"},
		{"a denied link", []string{entry("write", "$T/ws"), entry("deny", "$T/link/sub")}, "rw -- --"},
		{"a missing path", []string{entry("write", "$T/ws"), entry("write", "$T/none"), entry("read", "$T/none/x")}, "rw rw rw"},
		{"a path below a file", []string{entry("write", "$T/ws"), entry("write", "$T/ws/a.txt/x"), entry("read", "$T/ws/a.txt/y")}, "rw rw rw"},
		{"what a command has for itself", []string{entry("write", "$T/ws"), entry("write", "/dev/shm"), entry("read", "/proc/1"), entry("write", "/proc/sys")}, "rw rw rw"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			must(t, os.MkdirAll(w.at("ws/sub/deep"), 0o777))
			must(t, os.WriteFile(w.at("ws/sub/deep/c.txt"), nil, 0o666))
			must(t, os.Symlink("ws", w.at("link")))
			w.ofUser()
			e := w.run(w.policy(execpolicy.Options{}), w.call(holding(tt.entries...), "ws", "exec 2>/dev/null; "+try))
			if got := strings.Join(strings.Fields(e.out), " "); got != tt.want || e.err != nil {
				t.Errorf("%q, %v; want %q", got, e.err, tt.want)
			}
		})
	}
}

// TestWhatCannotBeHeldIsRefused names the member that asks for it.
func TestWhatCannotBeHeldIsRefused(t *testing.T) {
	const entries = "sandbox.permissions.file_system.entries"
	for _, tt := range []struct {
		name, object string
		reason       durward.Reason
		rule         string
	}{
		{"what is given in what is denied", holding(entry("write", "$T/ws"), entry("deny", "$T/ws/sub"), entry("read", "$T/ws/sub/b.txt")), durward.SandboxUnavailable, entries},
		{"a link that leads out of what is written", holding(entry("write", "$T/ws"), entry("write", "$T/ws/dirlink")), durward.OutsideRoot, entries},
		{"a link on the way", holding(entry("write", "$T/ws"), entry("write", "$T/ws/dirlink/in")), durward.OutsideRoot, entries},
		{"all of the machine", holding(entry("write", "/"), entry("deny", "/root")), durward.SandboxUnavailable, "filesystem"},
		{"files without a network", `{"permissions":{"type":"managed","file_system":{"type":"unrestricted"},"network":"restricted"},"windowsSandboxLevel":"disabled"}`, durward.SandboxUnavailable, "sandbox.permissions.network"},
		{"a directory that is not seen", holding(entry("write", "$T/ws/sub")), durward.DirDenied, "sandbox"},
		{"a denied directory", holding(entry("write", "$T"), entry("deny", "$T/ws")), durward.DirDenied, "sandbox"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			must(t, os.Mkdir(w.at("out/in"), 0o777))
			e := w.run(w.policy(execpolicy.Options{}), w.call(tt.object, "ws", "echo ran > $T/out/ran"))
			if durward.ReasonOf(e.err) != tt.reason || durward.AsError(e.err).Rule != tt.rule || w.holds("out/ran") != "" {
				t.Errorf("%v (%+v)", e.err, durward.AsError(e.err))
			}
		})
	}
}
