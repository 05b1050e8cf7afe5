package changeset

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

func shown(t *testing.T, s *Set) string {
	t.Helper()
	var b strings.Builder
	must(t, s.Show(&b))
	return b.String()
}

func TestOverlayShow(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "one\ntwo\nthree\n", "b": "x", "d/c": "y", "m": "mode\n", "t": "t"})
	w.shell(t, `
printf 'one\n2\nthree\n' >a; rm b; rm -r d; mkdir n; printf 'new' >n/f; chmod 600 m
printf '\000\001' >binary; ln -s /etc l; rm t; mkdir t; printf x >"$(printf 'e\033[2J\nx')"; printf 'bell \007\n' >bell`)
	same(t, "what is shown", shown(t, w.read(t)), `M  a (12 B)
D  b (1 B)
A  bell (7 B)
A  binary (2 B)
D  d/
D  d/c (1 B)
A  e\x1b[2J\nx (1 B) cannot be applied: the name holds bytes that are not plain text
A  l (symbolic link) cannot be applied: the path is a symbolic link
M  m (5 B, mode 0644 → 0600)
A  n/
A  n/f (3 B)
T  t (file → directory, mode 0755)

diff a/a b/a
--- a/a
+++ b/a
@@ -1,3 +1,3 @@
 one
-two
+2
 three

diff /dev/null b/bell
--- /dev/null
+++ b/bell
@@ -0,0 +1,1 @@
+bell \x07

diff /dev/null b/e\x1b[2J\nx
--- /dev/null
+++ b/e\x1b[2J\nx
@@ -0,0 +1,1 @@
+x
\ No newline at end of file

diff /dev/null b/n/f
--- /dev/null
+++ b/n/f
@@ -0,0 +1,1 @@
+new
\ No newline at end of file

not shown line by line: 1 files that are large, not text, not what they were, or too many
`)
}

// What takes the place of a link or a directory is shown like any other new file.
func TestOverlayShowWhatTookAPlace(t *testing.T) {
	w := newWorld(t, map[string]string{"d/": "", "e/": ""})
	must(t, os.Symlink("d", w.lower+"/l"))
	w.shell(t, `rm l; printf 'evil\n' >l; chmod 755 l; rmdir d; printf 'more\n' >d; chmod 606 d; rmdir e; ln -s d e`)
	same(t, "what is shown", shown(t, w.read(t)), `T  d (directory → file, 5 B, mode 0606)
T  e (directory → symbolic link) cannot be applied: the path is a symbolic link
T  l (symbolic link → file, 5 B, mode 0755)

diff /dev/null b/d
--- /dev/null
+++ b/d
@@ -0,0 +1,1 @@
+more

diff /dev/null b/l
--- /dev/null
+++ b/l
@@ -0,0 +1,1 @@
+evil
`)
}

// What is new is shown with its rights where these are not what most have.
func TestOverlayShowRights(t *testing.T) {
	w := newWorld(t, map[string]string{"gone/a": "x"})
	must(t, os.Chmod(w.lower+"/gone", 0o777))
	must(t, os.Chmod(w.lower+"/gone/a", 0o666))
	w.shell(t, `for m in 600 644 700 755 666 640 4755; do >f$m; chmod $m f$m; done
for m in 700 755 777 750; do mkdir d$m; chmod $m d$m; done; rm -r gone`)
	same(t, "what is shown", shown(t, w.read(t)), `A  d700/
A  d750/ (mode 0750)
A  d755/
A  d777/ (mode 0777)
A  f4755 (0 B, mode 4755) cannot be applied: `+durward.SetIDBits.Summary()+`
A  f600 (0 B)
A  f640 (0 B, mode 0640)
A  f644 (0 B)
A  f666 (0 B, mode 0666)
A  f700 (0 B)
A  f755 (0 B)
D  gone/
D  gone/a (1 B)
`)
}

func TestOverlayShowNothing(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, "true")
	same(t, "what is shown", shown(t, w.read(t)), "nothing was changed\n")
}

func TestOverlayShowIsBounded(t *testing.T) {
	w := newWorld(t, map[string]string{"y/": "", "z/gone": "", "z/kept": "kept\n"})
	w.command(t, func(merged string) {
		for i := range maxShown + 10 {
			put(t, fmt.Sprintf("%s/%04d", merged, i), strings.Repeat(fmt.Sprintf("line %d\n", i), 100))
		}
		must(t, os.Remove(merged+"/y"))
		put(t, merged+"/y", "y\n")
		must(t, os.Remove(merged+"/z/gone"))
		put(t, merged+"/z/kept", "changed\n")
	})
	s := w.read(t)
	text := shown(t, s)
	if len(text) > maxDiffBytes+200*maxShown || s.Whole() {
		t.Errorf("it is %d bytes", len(text))
	}
	// What became of files that were there is not hidden by what was added.
	lines := strings.Split(text, "\n")
	same(t, "the first lines", lines[:4], []string{"T  y (directory → file, 2 B, mode 0644)", "D  z/gone (0 B)", "M  z/kept (8 B)", "A  0000 (700 B)"})
	if !strings.Contains(text, "\n-kept\n+changed\n") || !strings.Contains(text, "\n+y\n") {
		t.Error("what was changed is not shown line by line")
	}
	const unlisted = "… and 13 more changes that are not listed: 13 A"
	same(t, "the line after the list", lines[maxShown], unlisted)
	same(t, "the last line", lines[len(lines)-2], unlisted)
}

// Each kind that is not listed is counted.
func TestOverlayShowCountsKinds(t *testing.T) {
	w := newWorld(t, nil)
	for i := range maxShown + 1 {
		put(t, fmt.Sprintf("%s/%04d", w.lower, i), "")
	}
	w.command(t, func(merged string) {
		for i := range maxShown {
			must(t, os.Remove(fmt.Sprintf("%s/%04d", merged, i)))
		}
	})
	s := w.read(t)
	if !s.Whole() || strings.Contains(shown(t, s), "…") {
		t.Error("as many as can be listed are not")
	}
	w.command(t, func(merged string) {
		must(t, os.Remove(fmt.Sprintf("%s/%04d", merged, maxShown)))
		put(t, merged+"/new", "")
	})
	s = w.read(t)
	if text := shown(t, s); s.Whole() || !strings.HasSuffix(text, "\n… and 2 more changes that are not listed: 1 D, 1 A\n") {
		t.Errorf("it ends in %q", text[len(text)-80:])
	}
}

func TestOverlayAttributesAreNamed(t *testing.T) {
	w := newWorld(t, plain)
	w.command(t, func(merged string) {
		put(t, merged+"/n", "n")
		if err := unix.Setxattr(merged+"/n", "user.note", []byte("x"), 0); err != nil {
			t.Skip("no attributes can be had:", err)
		}
	})
	s := w.read(t)
	if !s.Changes()[0].Bare || !strings.Contains(shown(t, s), "without its extended attributes") {
		t.Errorf("it is shown as %q", shown(t, s))
	}
	must(t, w.apply(s))
	if n, err := unix.Getxattr(w.lower+"/n", "user.note", nil); err != unix.ENODATA {
		t.Errorf("the attribute was applied: %d, %v", n, err)
	}
}

func TestOverlayJSON(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, `printf 'n\n' >>a; mkdir m; printf x >"$(printf 'z\377')"; rm b`)
	got, err := json.Marshal(w.read(t).Changes())
	must(t, err)
	same(t, "the list", string(got), `[`+
		`{"path":"a","kind":"M","size":6,"sha256":"d117f2c9c61a5dc01b64b0ea460ee6f1fa794349303256f7278e0e35348e6d8c"},`+
		`{"path":"b","kind":"D","size":4},`+
		`{"path":"m","kind":"A","size":0},`+
		`{"path":"z\ufffd","kind":"A","size":1,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","raw":"ev8="}]`)
}

// FuzzLine wants one visible line for whatever a command made.
func FuzzLine(f *testing.F) {
	f.Add("a", byte(0), byte(1))
	f.Add("\x1b]0;x\x07\nA  b", byte(1), byte(3))
	f.Add("\xff\u202e", byte(5), byte(0))
	forms := []Form{Nothing, File, Directory, Symlink, CharDevice, BlockDevice, FIFO, Socket}
	f.Fuzz(func(t *testing.T, path string, was, is byte) {
		c := change{was: node{form: forms[int(was)%len(forms)]}, is: node{form: forms[int(is)%len(forms)]}}
		c.Change = Change{Path: path, Was: c.was.form, Is: c.is.form, Kind: kindOf(c.was, c.is)}
		if line := c.line(); strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is shown as %q", path, line)
		}
	})
}

// FuzzRefused wants nothing applied but plain files and directories, with rights for nobody
// but those who use them.
func FuzzRefused(f *testing.F) {
	f.Add(uint32(unix.S_IFREG|0o644), uint32(unix.S_IFREG|0o600), int64(1), int64(1), "a/b", false, uint32(0))
	f.Add(uint32(0), uint32(unix.S_IFDIR|0o2755), int64(0), int64(2), "a", false, uint32(unix.S_ISGID))
	f.Fuzz(func(t *testing.T, was, is uint32, wasLinks, isLinks int64, path string, capability bool, inherits uint32) {
		c := &change{was: nodeFor(was, wasLinks), is: nodeFor(is, isLinks)}
		c.Path = path
		if refused(c, attributes{capability: capability}, inherits&unix.S_ISGID) != "" || c.is.form == Nothing {
			return
		}
		switch {
		case c.is.form != File && c.is.form != Directory:
			t.Errorf("a %s is applied", c.is.form)
		case c.is.form == File && (is&0o7000 != 0 || isLinks > 1 || capability):
			t.Errorf("a file of mode %o and %d links is applied", is, isLinks)
		case c.was.links > 1:
			t.Error("one name of several is replaced")
		case c.is.form == Directory && is&unix.S_ISUID != 0 && was&unix.S_ISUID == 0:
			t.Error("a directory gets a set-user-id bit")
		case c.is.form == Directory && is&unix.S_ISVTX != 0 && was&unix.S_ISVTX == 0:
			t.Error("a directory gets a sticky bit")
		case c.is.form == Directory && is&unix.S_ISGID != 0 && was&unix.S_ISGID == 0 && inherits&unix.S_ISGID == 0:
			t.Error("a directory gets a set-group-id bit")
		}
	})
}

// nodeFor makes a node of a mode; zero is nothing.
func nodeFor(mode uint32, links int64) node {
	if mode == 0 {
		return node{}
	}
	st := unix.Stat_t{Mode: mode}
	n := nodeOf(&st)
	if n.form != Directory {
		n.links = links
	}
	return n
}

// FuzzAttributes wants every note of overlayfs understood, or the tree refused.
func FuzzAttributes(f *testing.F) {
	for _, names := range []string{"trusted.overlay.opaque", "user.overlay.opaque\x00user.x", "user.overlay.redirect", "user.overlay.overlay.x", "security.capability", "user.overlay.whiteout"} {
		f.Add(names, "y")
	}
	f.Fuzz(func(t *testing.T, joined, value string) {
		const prefix = "user.overlay."
		names := strings.Split(joined, "\x00")
		a, err := judgeAttributes(names, prefix, func(string) (string, error) { return value, nil })
		var opaque, whiteout, capability, unknown bool
		for _, name := range names {
			switch {
			case name == prefix+"opaque":
				opaque = opaque || value == "y"
				unknown = unknown || value != "y" && value != "x"
			case name == prefix+"whiteout":
				whiteout = true
			case name == "security.capability":
				capability = true
			case name == prefix+"origin", name == prefix+"impure", name == prefix+"uuid", strings.HasPrefix(name, prefix+"overlay."):
			default:
				unknown = unknown || strings.HasPrefix(name, prefix)
			}
		}
		if unknown != (err != nil) {
			t.Fatalf("%q: %v", names, err)
		}
		if err == nil && (a.opaque != opaque || a.whiteout != whiteout || a.capability != capability) {
			t.Errorf("%q: %+v", names, a)
		}
	})
}

func TestFoldedNames(t *testing.T) {
	for _, same := range [][2]string{{"/a/.GIT/Hooks", "/a/.git/hooks"}, {"/ſ/\u212a", "/S/k"}, {"/É", "/é"}} {
		if folded(same[0]) != folded(same[1]) {
			t.Errorf("%q is not %q", same[0], same[1])
		}
	}
	if folded("/a") == folded("/b") {
		t.Error("different names are the same")
	}
}

func TestPartialIsTold(t *testing.T) {
	p := &Partial{Applied: []string{"/w/a"}, Left: []string{"/w/b", "/w/c"}, Remains: []string{"/w/\x1b"}, Err: unix.EIO}
	same(t, "the text", p.Error(), `1 changes were applied and 2 were not; "/w/\x1b" remains and is to be looked at, it may be of others: input/output error`)
	if reasonFor(unix.EIO) != durward.FileIO {
		t.Error("another reason")
	}
}

func BenchmarkRead(b *testing.B) {
	w := newWorldIn(b, b.TempDir(), nil)
	for i := range 1000 {
		put(b, fmt.Sprintf("%s/%d/%d", w.upper, i%10, i), strings.Repeat("small\n", 100))
	}
	for b.Loop() {
		if s := w.read(b); len(s.Changes()) != 1010 {
			b.Fatal(len(s.Changes()))
		}
	}
}
