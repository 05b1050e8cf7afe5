package changeset

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/durward/durward"
)

var plain = map[string]string{
	"a": "one\n", "b": "two\n", "d/a": "three\n", "d/b": "four\n", "d/e/a": "five\n", "e/": "", "f/a": "six\n", "f/g/h/a": "seven\n",
}

func TestOverlayKinds(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         []string
	}{
		{"nothing", "cat a d/a; ls -R . >/dev/null", nil},
		{"opened for writing and left as it was", "exec 3>>a; touch d/a; chmod 644 b", nil},
		{"written again the same", "cp a x; cat x >a; rm x", nil},
		{"made and deleted again", "mkdir n; echo x >n/x; rm -r n", nil},
		{"deleted and made again the same", "printf 'three\\n' >n; rm d/a; mv n d/a", nil},
		{"added", "echo n >n; mkdir -p o/p q", []string{"A n", "A o", "A o/p", "A q"}},
		{"content, of the same length too", "printf 'eno\\n' >a; echo longer >>d/e/a", []string{"M a", "M d/e/a"}},
		{"mode", "chmod 600 a; chmod 700 d", []string{"M a", "M d"}},
		{"deleted", "rm a; rm -r d", []string{"D a", "D d", "D d/a", "D d/b", "D d/e", "D d/e/a"}},
		{"an opaque directory", "rm -r d; mkdir d; echo n >d/n; printf 'four\\n' >d/b; mkdir d/e", []string{"D d/a", "D d/e/a", "A d/n"}},
		{"file to directory", "rm a; mkdir a; echo n >a/n", []string{"T a", "A a/n"}},
		{"directory to file", "rm -r f; echo n >f", []string{"T f", "D f/a", "D f/g", "D f/g/h", "D f/g/h/a"}},
		{"renamed", "mv a z; mv e y", []string{"D a", "D e", "A y", "A z"}},
		{"order", "mkdir m; echo >m-n; echo >m/n; echo >m.n", []string{"A m", "A m/n", "A m-n", "A m.n"}},
		{"to a link", "ln -sf b a", []string{"T a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, plain)
			before := tree(t, w.lower)
			w.shell(t, test.script)
			s := w.read(t)
			got, want := list(s), slices.Clone(test.want)
			slices.Sort(got)
			slices.Sort(want)
			same(t, "the list", got, want)
			same(t, "the workspace", tree(t, w.lower), before)
		})
	}
}

// What Read tells is what two pictures of the tree tell, and what Apply makes is what the
// command saw.
func TestOverlayAppliesWhatWasSeen(t *testing.T) {
	newWorld(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		w := newWorldIn(t, room, plain)
		defer os.RemoveAll(w.top)
		must(t, os.Chmod(w.lower+"/f", 0o755|os.ModeSticky)) // it may keep that, and lose it
		before := tree(t, w.lower)
		var seen map[string]string
		w.command(t, func(merged string) {
			for range rapid.IntRange(1, 30).Draw(r, "steps") {
				step(r, merged)
			}
			seen = tree(t, merged)
		})
		s := w.read(t)
		if got, want := slices.Sorted(slices.Values(list(s))), pictured(before, seen); !slices.Equal(got, want) {
			r.Fatalf("the list is %q, want %q", got, want)
		}
		same(t, "the workspace that was only read", tree(t, w.lower), before)
		must(t, w.apply(s))
		same(t, "the workspace", tree(t, w.lower), seen)
		must(t, w.apply(s)) // again, and nothing is left
		same(t, "the workspace", tree(t, w.lower), seen)
	})
}

// step does something that may or may not be possible.
func step(r *rapid.T, dir string) {
	name := rapid.SampledFrom([]string{"a", "b", "d", "e", "f", "g", "h"})
	draw := func(label string) string {
		parts := rapid.SliceOfN(name, 1, 3).Draw(r, label)
		return filepath.Join(dir, filepath.Join(parts...))
	}
	at := draw("path")
	switch rapid.IntRange(0, 8).Draw(r, "step") {
	case 0, 1:
		text := rapid.StringMatching(`[xyz]{0,3}`).Draw(r, "text")
		os.WriteFile(at, []byte(text), 0o644)
	case 2:
		os.Mkdir(at, 0o755)
	case 3:
		os.RemoveAll(at)
	case 4:
		os.Rename(at, draw("to"))
	case 5:
		mode := rapid.SampledFrom([]os.FileMode{0o600, 0o640, 0o644, 0o700, 0o755, 0o777 | os.ModeSticky})
		bits := mode.Draw(r, "mode")
		if info, err := os.Lstat(at); err == nil && (bits&os.ModeSticky == 0 || info.IsDir() && info.Mode()&os.ModeSticky != 0) {
			os.Chmod(at, bits)
		}
	case 6:
		os.Truncate(at, 2)
	case 7:
		os.RemoveAll(at)
		os.Mkdir(at, 0o755)
	case 8:
		if os.RemoveAll(at) == nil {
			os.WriteFile(at, []byte("in its place"), 0o600)
		}
	}
}

// pictured lists the changes between two pictures.
func pictured(before, after map[string]string) []string {
	var lines []string
	for path, was := range before {
		is, there := after[path]
		switch {
		case !there:
			lines = append(lines, "D "+path)
		case is == was:
		case (is[0] == 'd') != (was[0] == 'd'):
			lines = append(lines, "T "+path)
		default:
			lines = append(lines, "M "+path)
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			lines = append(lines, "A "+path)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestOverlayHostile has commands, and others, do what is not to reach the workspace.
func TestOverlayHostile(t *testing.T) {
	inUpper := func(do func(t *testing.T, upper string)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { do(t, w.upper) }
	}
	for _, test := range []struct {
		name, script string
		upper        func(*testing.T, *world) // after the command, before Read
		meanwhile    func(*testing.T, *world) // after Read
		files        durward.Files            // relative to the workspace
		linked       bool                     // a has another name
		trusted      bool                     // nobody else can make it
		want         durward.Reason
	}{
		{name: "symlink", script: "ln -s /etc/passwd n", want: durward.SymlinkTarget},
		{name: "symlink in a new directory", script: "mkdir n; ln -s .. n/n", want: durward.SymlinkTarget},
		{name: "symlink in place of a directory", script: "rm -r d; ln -s / d", want: durward.SymlinkTarget},
		{name: "hard link", script: "echo n >n; ln n m", want: durward.HardLink},
		{name: "hard link of what was there", script: "ln a m", want: durward.HardLink},
		{name: "FIFO", script: "mkfifo n", want: durward.NotRegularFile},
		{name: "character device", script: "mknod n c 1 3", trusted: true, want: durward.NotRegularFile},
		{name: "block device", script: "mknod n b 7 0", trusted: true, want: durward.NotRegularFile},
		{name: "socket", upper: inUpper(func(t *testing.T, upper string) { must(t, unix.Mknod(upper+"/n", unix.S_IFSOCK|0o600, 0)) }), want: durward.NotRegularFile},
		{name: "set-user-id", script: "echo n >n; chmod 4755 n", want: durward.SetIDBits},
		{name: "set-group-id", script: "chmod 2755 a", want: durward.SetIDBits},
		{name: "sticky file", script: "chmod 1644 a", want: durward.SetIDBits},
		{name: "sticky directory", script: "mkdir n; chmod 1777 n", want: durward.SetIDBits},
		{name: "sticky on a directory that was there", script: "chmod 1755 d", want: durward.SetIDBits},
		{name: "sticky directory in place of a file", script: "rm a; mkdir a; chmod 1755 a", want: durward.SetIDBits},
		{name: "set-group-id directory", script: "mkdir n; chmod 2755 n", want: durward.SetIDBits},
		{name: "set-group-id on a directory that was there", script: "chmod 2755 d", want: durward.SetIDBits},
		{name: "set-user-id in a new directory", script: "mkdir n; echo n >n/n; chmod 4755 n/n", want: durward.SetIDBits},
		{name: "file capability", script: "echo n >n", upper: inUpper(func(t *testing.T, upper string) {
			// All capabilities but effective: revision 2, and what the kernel makes of it.
			value := append([]byte{0, 0, 0, 2}, make([]byte, 16)...)
			value[4] = 1
			must(t, unix.Setxattr(upper+"/n", "security.capability", value, 0))
		}), want: durward.SetIDBits},
		{name: "line end in a name", script: `printf x >"$(printf 'n\nA  ok')"`, want: durward.NameNotText},
		{name: "escape in a name", script: `mkdir "$(printf 'n\033[2J')"`, want: durward.NameNotText},
		{name: "name that is not UTF-8", script: `printf x >"$(printf 'n\377')"`, want: durward.NameNotText},
		{name: "one of several names in the workspace", script: "echo n >>a", linked: true, want: durward.HardLink},
		{name: "one of several names deleted", script: "rm a", linked: true, want: durward.HardLink},

		{name: "protected", script: "mkdir -p .git/hooks; echo n >.git/hooks/x", files: durward.Files{Protect: []string{".git/hooks"}}, want: durward.FilePermission},
		{name: "protected, in other letters", script: "mkdir -p .GIT/Hooks; echo n >.GIT/Hooks/x", files: durward.Files{Protect: []string{".git/hooks"}}, want: durward.FilePermission},
		{name: "protected file itself", script: "echo n >d/a", files: durward.Files{Protect: []string{"d/a"}}, want: durward.FilePermission},
		{name: "around what is protected", script: "mv d x", files: durward.Files{Protect: []string{"d/e/a"}}, want: durward.FilePermission},
		{name: "around what is protected and missing", script: "rm -r d", files: durward.Files{Protect: []string{"d/new"}}, want: durward.FilePermission},
		{name: "a file in the way of what is protected", script: "echo gitdir: /x >.git", files: durward.Files{Protect: []string{".git/hooks"}}, want: durward.FilePermission},
		{name: "rights of a directory around what is protected", script: "chmod 777 d", files: durward.Files{Protect: []string{"d/a"}}, want: durward.FilePermission},
		{name: "denied", script: "echo n >>d/a", files: durward.Files{Deny: []string{"d"}}, want: durward.OutsideRoot},
		{name: "denied by a pattern", script: "echo n >d/.env", files: durward.Files{DenyGlobs: []string{"**/.env"}}, want: durward.OutsideRoot},
		{name: "beneath what a pattern denies", script: "mkdir d/.env; echo n >d/.env/n", files: durward.Files{DenyGlobs: []string{"**/.env"}}, want: durward.OutsideRoot},
		{name: "only to be read", script: "echo n >>d/a", files: durward.Files{Read: []string{"d"}}, want: durward.OutsideRoot},

		{name: "content changed meanwhile", script: "echo n >>a", meanwhile: func(t *testing.T, w *world) { put(t, w.lower+"/a", "eno\n") }, want: durward.ChangedMeanwhile},
		{name: "times set back", script: "echo n >>a", meanwhile: func(t *testing.T, w *world) {
			info, err := os.Stat(w.lower + "/a")
			must(t, err)
			put(t, w.lower+"/a", "eno\n")
			must(t, os.Chtimes(w.lower+"/a", info.ModTime(), info.ModTime()))
		}, want: durward.ChangedMeanwhile},
		{name: "rights changed meanwhile", script: "echo n >>a", meanwhile: func(t *testing.T, w *world) { must(t, os.Chmod(w.lower+"/a", 0o600)) }, want: durward.ChangedMeanwhile},
		{name: "deleted meanwhile", script: "echo n >>a", meanwhile: func(t *testing.T, w *world) { must(t, os.Remove(w.lower+"/a")) }, want: durward.ChangedMeanwhile},
		{name: "made meanwhile", script: "echo n >n", meanwhile: func(t *testing.T, w *world) { put(t, w.lower+"/n", "") }, want: durward.ChangedMeanwhile},
		{name: "link in the place of a new file", script: "echo n >n", meanwhile: func(t *testing.T, w *world) { must(t, os.Symlink("a", w.lower+"/n")) }, want: durward.ChangedMeanwhile},
		{name: "added to a directory that goes", script: "rm -r d", meanwhile: func(t *testing.T, w *world) { put(t, w.lower+"/d/e/n", "") }, want: durward.ChangedMeanwhile},
		{name: "changed in a directory that goes", script: "rm -r d", meanwhile: func(t *testing.T, w *world) { put(t, w.lower+"/d/e/a", "fine\n") }, want: durward.ChangedMeanwhile},
		{name: "parent became a link", script: "echo n >>d/a", meanwhile: func(t *testing.T, w *world) {
			must(t, os.Rename(w.lower+"/d", w.lower+"/moved"))
			must(t, os.Symlink("moved", w.lower+"/d"))
		}, want: durward.ChangedMeanwhile},
		{name: "parent became another", script: "echo n >d/n", meanwhile: func(t *testing.T, w *world) {
			must(t, os.Rename(w.lower+"/d", w.lower+"/moved"))
			must(t, os.Mkdir(w.lower+"/d", 0o755))
		}, want: durward.ChangedMeanwhile},
		{name: "mounted over meanwhile", script: "echo n >d/n", meanwhile: func(t *testing.T, w *world) {
			must(t, unix.Mount("n", w.lower+"/d", "tmpfs", 0, "size=1m"))
			t.Cleanup(func() { must(t, unix.Unmount(w.lower+"/d", 0)) })
		}, want: durward.ChangedMeanwhile},
		{name: "workspace moved", script: "echo n >n", meanwhile: func(t *testing.T, w *world) {
			must(t, os.Rename(w.lower, w.lower+"-moved"))
			must(t, os.Mkdir(w.lower, 0o755))
		}, want: durward.ChangedMeanwhile},
		{name: "upper changed", script: "echo n >n", meanwhile: func(t *testing.T, w *world) { put(t, w.upper+"/n", "m\n") }, want: durward.ChangedMeanwhile},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, plain)
			if test.trusted && os.Getenv(roomVariable) != trusted {
				t.Skip("only root can make a device")
			}
			if test.linked {
				must(t, os.Link(w.lower+"/a", w.top+"/other"))
			}
			// Harmless changes around it are not made either.
			w.shell(t, "echo first >A; "+test.script+"\necho last >z; rm b")
			if test.upper != nil {
				test.upper(t, w)
			}
			s := w.read(t)
			if test.meanwhile != nil {
				test.meanwhile(t, w)
			}
			f := durward.Files{Write: []string{w.lower}}
			for _, set := range []struct{ to, from *[]string }{
				{&f.Protect, &test.files.Protect}, {&f.Deny, &test.files.Deny}, {&f.DenyGlobs, &test.files.DenyGlobs}, {&f.Read, &test.files.Read},
			} {
				for _, path := range *set.from {
					*set.to = append(*set.to, filepath.Join(w.lower, path))
				}
			}
			before := tree(t, w.lower)
			reason(t, Apply(t.Context(), f, s), test.want)
			same(t, "the workspace", tree(t, w.lower), before)
		})
	}
}

// A link in the workspace that was there before is no way out for what is beneath its name.
func TestOverlayLinksInTheWorkspace(t *testing.T) {
	w := newWorld(t, plain)
	put(t, w.top+"/outside/a", "secret\n")
	must(t, os.Symlink(w.top+"/outside", w.lower+"/out"))
	must(t, os.Symlink("a", w.lower+"/alias"))
	w.shell(t, "rm out alias; mkdir out; echo n >out/a; echo n >alias")
	s := w.read(t)
	same(t, "the list", list(s), []string{"T alias", "T out", "A out/a"})
	must(t, w.apply(s))
	same(t, "outside", tree(t, w.top+"/outside")["a"][:12], "-rw-r--r-- 7")
	if text, _ := os.ReadFile(w.lower + "/a"); string(text) != "one\n" {
		t.Errorf("what a link led to is %q", text)
	}
	if text, _ := os.ReadFile(w.lower + "/out/a"); string(text) != "n\n" {
		t.Errorf("what was made is %q", text)
	}
}

func TestOverlayBounds(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, "mkdir n; for i in 1 2 3 4 5 6 7 8 9; do echo $i >n/$i; done")
	for name, change := range map[string]func(*bounds){
		"entries": func(b *bounds) { b.entries = 9 },
		"names":   func(b *bounds) { b.nameBytes = 29 },
		"bytes":   func(b *bounds) { b.bytes = 17 },
	} {
		b := newBounds(0)
		change(&b)
		_, err := read(t.Context(), w.layers(t), b)
		reason(t, err, durward.TooManyChanges)
		if durward.AsError(err).Hint == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	b := newBounds(18)
	b.entries = 10
	_, err := read(t.Context(), w.layers(t), b)
	must(t, err)
}

func TestOverlayHoles(t *testing.T) {
	w := newWorld(t, nil)
	w.command(t, func(merged string) {
		put(t, merged+"/n", "")
		must(t, os.Truncate(merged+"/n", 1<<40))
	})
	_, err := Read(t.Context(), w.layers(t), 0)
	reason(t, err, durward.TooManyChanges)
}

func TestOverlayDeepTree(t *testing.T) {
	w := newWorld(t, nil)
	w.command(t, func(merged string) { must(t, os.MkdirAll(merged+strings.Repeat("/n", maxDepth), 0o755)) })
	s := w.read(t)
	must(t, w.apply(s))
	same(t, "the depth", len(tree(t, w.lower)), maxDepth)

	w = newWorld(t, nil)
	w.command(t, func(merged string) { must(t, os.MkdirAll(merged+strings.Repeat("/n", maxDepth+1), 0o755)) })
	_, err := Read(t.Context(), w.layers(t), 0)
	reason(t, err, durward.TooManyChanges)

	long := "/" + strings.Repeat("n", 255)
	w = newWorld(t, nil)
	dir := w.upper
	for range 17 { // beyond what one path can name
		must(t, os.Chdir(dir))
		must(t, os.Mkdir(long[1:], 0o755))
		dir = long[1:]
	}
	must(t, os.Chdir("/"))
	_, err = Read(t.Context(), w.layers(t), 0)
	reason(t, err, durward.TooManyChanges)
}

// Where overlayfs notes what it does not on a mount of ours, nothing is guessed.
func TestOverlayForeignNotes(t *testing.T) {
	prefix := os.Getenv(roomVariable) + ".overlay."
	for _, name := range []string{"redirect", "metacopy", "nlink", "new"} {
		w := newWorld(t, plain)
		w.shell(t, "echo n >d/n; echo n >n")
		must(t, unix.Setxattr(w.upper+"/d", prefix+name, []byte("y"), 0))
		if _, err := Read(t.Context(), w.layers(t), 0); err == nil {
			t.Errorf("%s is passed over", name)
		}
	}
	w := newWorld(t, plain)
	w.shell(t, "echo n >d/n")
	must(t, unix.Setxattr(w.upper+"/d", prefix+"opaque", []byte("maybe"), 0))
	if _, err := Read(t.Context(), w.layers(t), 0); err == nil {
		t.Error("an opaque directory of another kind is passed over")
	}
}

// What a command notes itself, in the names of overlayfs, says nothing.
func TestOverlayForgedNotes(t *testing.T) {
	w := newWorld(t, plain)
	var refused error
	w.command(t, func(merged string) {
		put(t, merged+"/n", "")
		put(t, merged+"/d/n", "")
		for _, name := range []string{"user.overlay.whiteout", "user.overlay.opaque", "user.overlay.redirect"} {
			refused = unix.Setxattr(merged+"/n", name, []byte("y"), 0)
			if refused == nil {
				refused = unix.Setxattr(merged+"/d", name, []byte("y"), 0)
			}
		}
	})
	if refused != nil {
		t.Logf("it is refused: %v", refused)
	}
	s := w.read(t)
	same(t, "the list", list(s), []string{"A d/n", "A n"})
	must(t, w.apply(s))
}

func TestOverlayWhiteoutsByAttribute(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, "echo n >d/n")
	prefix := os.Getenv(roomVariable) + ".overlay."
	must(t, unix.Setxattr(w.upper+"/d", prefix+"opaque", []byte("x"), 0))
	put(t, w.upper+"/d/a", "")
	must(t, unix.Setxattr(w.upper+"/d/a", prefix+"whiteout", []byte("y"), 0))
	s := w.read(t)
	same(t, "the list", list(s), []string{"D d/a", "A d/n"})
}

func TestOverlayOwners(t *testing.T) {
	if os.Getenv(roomVariable) == user {
		t.Skip("there is only one owner")
	}
	w := newWorld(t, plain)
	must(t, os.Chown(w.lower+"/d", 1001, 1002))
	must(t, os.Chown(w.lower+"/d/a", 1003, 1004))
	w.shell(t, "echo n >>d/a; echo n >d/n; mkdir d/m; echo n >d/m/n; chown -R 77:78 d/m d/n; chmod 755 d")
	must(t, w.apply(w.read(t)))
	for name, want := range map[string]string{"d": "1001 1002", "d/a": "1003 1004", "d/n": "1001 1002", "d/m": "1001 1002", "d/m/n": "1001 1002"} {
		var st unix.Stat_t
		must(t, unix.Lstat(w.lower+"/"+name, &st))
		if got := fmt.Sprint(st.Uid, " ", st.Gid); got != want {
			t.Errorf("%s belongs to %s, want %s", name, got, want)
		}
	}
}

// A directory whose files go to its group has new directories like it.
func TestOverlayInheritedGroup(t *testing.T) {
	w := newWorld(t, plain)
	must(t, os.Chmod(w.lower+"/d", 0o755|os.ModeSetgid))
	var seen map[string]string
	w.command(t, func(merged string) {
		must(t, os.MkdirAll(merged+"/d/m/n", 0o755))
		put(t, merged+"/d/m/n/x", "n")
		seen = tree(t, merged)
	})
	if !strings.HasPrefix(seen["d/m/n"], "dg") {
		t.Fatal("it is not inherited")
	}
	must(t, w.apply(w.read(t)))
	same(t, "the workspace", tree(t, w.lower), seen)
}

// A sticky directory that was there stays one, whatever else becomes of it.
func TestOverlayStickyDirectory(t *testing.T) {
	w := newWorld(t, plain)
	for _, name := range []string{"d", "e", "f"} {
		must(t, os.Chmod(w.lower+"/"+name, 0o755|os.ModeSticky))
	}
	w.shell(t, "echo n >d/n; chmod 1777 e; chmod 700 f")
	s := w.read(t)
	same(t, "the list", list(s), []string{"A d/n", "M e", "M f"})
	must(t, w.apply(s))
	is := tree(t, w.lower)
	same(t, "the rights", []string{is["d"], is["e"], is["f"]}, []string{"dtrwxr-xr-x", "dtrwxrwxrwx", "drwx------"})
}

// Several workspaces are one: what is refused in the last keeps the first as it was.
func TestOverlaySeveralSets(t *testing.T) {
	one, two := newWorld(t, plain), newWorld(t, plain)
	one.shell(t, "rm -r d; echo n >n")
	two.shell(t, "echo n >>a; ln -s a l")
	before := tree(t, one.lower)
	files := durward.Files{Write: []string{one.lower, two.lower}}
	sets := []*Set{one.read(t), two.read(t)}
	reason(t, Apply(t.Context(), files, sets...), durward.SymlinkTarget)
	same(t, "the first", tree(t, one.lower), before)
	reason(t, Apply(t.Context(), one.files(), sets...), durward.OutsideRoot)
	same(t, "the first", tree(t, one.lower), before)
	must(t, Apply(t.Context(), files, sets[0]))
	if _, err := os.Stat(one.lower + "/n"); err != nil {
		t.Error(err)
	}
}

func TestOverlayOutsideOfWhatMayBeWritten(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, "echo n >n")
	before := tree(t, w.lower)
	reason(t, Apply(t.Context(), durward.Files{Write: []string{w.lower + "/d"}, Read: []string{w.lower}}, w.read(t)), durward.OutsideRoot)
	reason(t, Apply(t.Context(), durward.Files{}, w.read(t)), durward.OutsideRoot)
	same(t, "the workspace", tree(t, w.lower), before)
}

const busy = `echo n >>a; rm b; chmod 700 d; rm -r d/e; echo n >d/n; mkdir -p m/n; echo n >m/n/o; rm -r f; echo n >f; rmdir e; echo n >e`

// A turn is a context that has something done when it is looked at, and ends when that says
// so.
type turn struct {
	context.Context
	act   func() bool
	ended *bool
}

func (c turn) Err() error {
	if !*c.ended && !c.act() {
		return nil
	}
	*c.ended = true
	return context.Canceled
}

func acting(t *testing.T, act func() bool) context.Context {
	return turn{t.Context(), act, new(bool)}
}

// Wherever Apply is stopped, everything is as it was, and it can be called again.
func TestOverlayTakesBack(t *testing.T) {
	w := newWorld(t, plain)
	var seen map[string]string
	w.command(t, func(merged string) {
		shellIn(t, merged, busy)
		seen = tree(t, merged)
	})
	s := w.read(t)
	before := tree(t, w.lower)
	stops := 0
	for ; ; stops++ {
		looks := 0
		err := Apply(acting(t, func() bool { looks++; return looks > stops }), w.files(), s)
		if err == nil {
			break
		}
		reason(t, err, durward.CallCancelled)
		same(t, fmt.Sprintf("the workspace after %d looks", stops), tree(t, w.lower), before)
	}
	if stops < 20 {
		t.Errorf("it was stopped at %d places only", stops)
	}
	same(t, "the workspace", tree(t, w.lower), seen)
}

// Somebody changes what is to go when all that is new already lies beside its place. What
// he made is there afterwards, and nothing else is new.
func TestOverlayChangedAtTheLastMoment(t *testing.T) {
	for name, change := range map[string]func(lower string){
		"a file":                        func(lower string) { put(t, lower+"/a", "theirs\n") },
		"a file in a directory":         func(lower string) { put(t, lower+"/f/a", "theirs\n") },
		"another file in a directory":   func(lower string) { put(t, lower+"/d/e/n", "theirs\n") },
		"a file in an empty directory":  func(lower string) { put(t, lower+"/e/n", "theirs\n") },
		"a file where there was none":   func(lower string) { put(t, lower+"/d/n", "theirs\n") },
		"a link where there was a file": func(lower string) { must(t, os.Remove(lower+"/b")); must(t, os.Symlink("a", lower+"/b")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			w.shell(t, busy)
			s := w.read(t)
			var with map[string]string
			ctx := acting(t, func() bool {
				if made, _ := filepath.Glob(w.lower + "/.durward-*"); len(made) == 4 && with == nil {
					change(w.lower)
					with = tree(t, w.lower)
				}
				return false
			})
			reason(t, Apply(ctx, w.files(), s), durward.ChangedMeanwhile)
			for path := range with {
				if strings.Contains(path, ".durward-") {
					delete(with, path)
				}
			}
			same(t, "the workspace", tree(t, w.lower), with)
		})
	}
}

// Where what was done cannot be taken back, it is told what was done and what was not.
func TestOverlayPartly(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "one\n", "b": "two\n"})
	w.shell(t, "echo n >>a; echo n >>b")
	s := w.read(t)
	err := Apply(acting(t, func() bool {
		if text, _ := os.ReadFile(w.lower + "/a"); string(text) != "one\nn\n" {
			return false
		}
		must(t, os.Remove(w.lower+"/a"))
		put(t, w.lower+"/a", "theirs\n")
		return true
	}), w.files(), s)
	reason(t, err, durward.PartlyApplied)
	p := durward.AsError(err).Err.(*Partial)
	same(t, "what was applied", p.Applied, []string{w.lower + "/a"})
	same(t, "what is left", p.Left, []string{w.lower + "/b"})
	if len(p.Remains) != 1 {
		t.Fatalf("it remains %q", p.Remains)
	}
	for name, want := range map[string]string{p.Remains[0]: "one\n", w.lower + "/a": "theirs\n", w.lower + "/b": "two\n"} {
		if text, err := os.ReadFile(name); string(text) != want {
			t.Errorf("%s holds %q: %v", name, text, err)
		}
	}
	must(t, w.apply(s))
	if text, _ := os.ReadFile(w.lower + "/b"); string(text) != "two\nn\n" {
		t.Errorf("what was left is %q", text)
	}
}

func TestOverlayFullDisk(t *testing.T) {
	w := newWorld(t, nil)
	must(t, unix.Mount("small", w.lower, "tmpfs", 0, "size=1m,mode=0755"))
	t.Cleanup(func() { must(t, unix.Unmount(w.lower, 0)) })
	for name, text := range plain {
		if !strings.HasSuffix(name, "/") {
			put(t, w.lower+"/"+name, text)
		}
	}
	var seen map[string]string
	w.command(t, func(merged string) {
		shellIn(t, merged, "rm b; rm -r d; echo n >>a; dd if=/dev/zero of=large bs=65536 count=32 2>/dev/null; echo n >n")
		seen = tree(t, merged)
	})
	s, before := w.read(t), tree(t, w.lower)
	err := w.apply(s)
	reason(t, err, durward.NoSpace)
	same(t, "the workspace", tree(t, w.lower), before)
	must(t, unix.Mount("small", w.lower, "tmpfs", unix.MS_REMOUNT, "size=8m"))
	must(t, w.apply(s))
	same(t, "the workspace", tree(t, w.lower), seen)
}

// In an overlay, as a container is, a directory of the image cannot be renamed.
func TestOverlayInOverlay(t *testing.T) {
	image, w := newWorld(t, plain), newWorld(t, nil)
	image.command(t, func(merged string) {
		w.lower = merged
		var seen map[string]string
		w.command(t, func(merged string) {
			shellIn(t, merged, "echo n >>a; rm b; rm -r d; echo n >f/g/n; chmod 700 f; mkdir -p m/n; echo n >m/n/o")
			seen = tree(t, merged)
		})
		layers := w.layers(t)
		defer layers.Lower.Close()
		s, err := Read(t.Context(), layers, 0)
		must(t, err)
		must(t, w.apply(s))
		same(t, "the workspace", tree(t, w.lower), seen)
	})
}

func TestOverlayInOverlayReplacesNoDirectory(t *testing.T) {
	image, w := newWorld(t, plain), newWorld(t, nil)
	image.command(t, func(merged string) {
		w.lower = merged
		w.shell(t, "echo n >>a; rm -r d; rm -r f; echo n >f")
		layers := w.layers(t)
		defer layers.Lower.Close()
		s, err := Read(t.Context(), layers, 0)
		must(t, err)
		before := tree(t, w.lower)
		reason(t, w.apply(s), durward.SandboxUnavailable)
		same(t, "the workspace", tree(t, w.lower), before)
	})
}

// exchange has to do without the kernel's help on some file systems.
func TestExchangeByTwo(t *testing.T) {
	top := t.TempDir()
	put(t, top+"/new", "file")
	put(t, top+"/old/c", "in a directory")
	aside, err := exchangeByTwo(opened(t, top), "new", "old")
	must(t, err)
	all := tree(t, top)
	same(t, "the files", slices.Sorted(maps.Keys(all)), []string{aside, aside + "/c", "old"})
	if _, err := exchangeByTwo(opened(t, top), "missing", "old"); err == nil {
		t.Error("what is not there was exchanged")
	}
	same(t, "the files", tree(t, top), all)
}

func TestOverlayEndedRead(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, busy)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Read(ctx, w.layers(t), 0)
	reason(t, err, durward.CallCancelled)
}
