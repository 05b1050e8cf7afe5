package changeset

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

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
			reason(t, Apply(t.Context(), f, anywhere, s), test.want)
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

func TestOverlayOutsideOfWhatMayBeWritten(t *testing.T) {
	w := newWorld(t, plain)
	w.shell(t, "echo n >n")
	before := tree(t, w.lower)
	reason(t, Apply(t.Context(), durward.Files{Write: []string{w.lower + "/d"}, Read: []string{w.lower}}, anywhere, w.read(t)), durward.OutsideRoot)
	reason(t, Apply(t.Context(), durward.Files{}, anywhere, w.read(t)), durward.OutsideRoot)
	same(t, "the workspace", tree(t, w.lower), before)
}
