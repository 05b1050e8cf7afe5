//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// Each test here is something that somebody tried at level 2, more than once where it takes
// a room that is kept.

// workspace is a directory that commands at level 2 may write, and what they are run by.
type workspace struct {
	*trial
	dir string
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	r := newTrial(t, Probe())
	r.confine(durward.LevelIsolate)
	r.request.Env = []string{"PATH=/usr/bin:/bin"}
	return &workspace{r, filepath.Dir(r.marker)}
}

// put writes a file, with the directories above it.
func (w *workspace) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// holds gives what a file outside of the sandbox's reach holds now.
func (w *workspace) holds(name string) string {
	text, _ := os.ReadFile(filepath.Join(w.dir, name)) // empty when there is none
	return string(text)
}

// sh runs a script and gives what it printed, and what was found to have changed.
func (w *workspace) sh(t *testing.T, script string) (printed string, breach error) {
	t.Helper()
	w.shell(t, script)
	return w.prints(t, true)
}

// A denied file that the machine replaces between two calls is denied to the next one.
func TestADeniedFileIsDeniedAgain(t *testing.T) {
	w := newWorkspace(t)
	w.request.Grant.Files.Deny = []string{filepath.Join(w.dir, "secret")}
	for n := range 4 {
		if err := os.Remove(filepath.Join(w.dir, "secret")); err != nil && n > 0 {
			t.Fatal(err)
		}
		w.put(t, "secret", "hush")
		if printed, breach := w.sh(t, "cat secret"); strings.Contains(printed, "hush") || breach != nil {
			t.Fatalf("call %d: %q, %v", n, printed, breach)
		}
	}
}

// What is protected stays so when the machine makes it anew between two calls, and when
// something in it is named to be read.
func TestProtectedAgain(t *testing.T) {
	w := newWorkspace(t)
	w.request.Grant.Files.Protect = []string{filepath.Join(w.dir, "a")}
	w.request.Grant.Files.Read = append(w.request.Grant.Files.Read, filepath.Join(w.dir, "a", "b"))
	for n := range 4 {
		if err := os.RemoveAll(filepath.Join(w.dir, "a")); err != nil {
			t.Fatal(err)
		}
		w.put(t, "a/conf", "good")
		w.put(t, "a/b/x", "good")
		w.sh(t, "echo evil > a/conf; echo evil > a/b/x; mv a c; echo evil > a/new")
		if w.holds("a/conf") != "good" || w.holds("a/b/x") != "good" || w.holds("a/new") != "" {
			t.Fatalf("call %d: %q, %q, %q", n, w.holds("a/conf"), w.holds("a/b/x"), w.holds("a/new"))
		}
	}
}

// Where there was no repository none with hooks of the command's is left, whatever stands
// for it, and nothing elsewhere is touched for that.
func TestARepositoryThatIsMadeUp(t *testing.T) {
	for name, script := range map[string]string{
		"a directory": "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit; sleep 60",
		"a symlink":   "mkdir -p x/hooks && echo evil > x/hooks/pre-commit && ln -s x .git; sleep 60",
		"a pointer":   "echo 'gitdir: x' > .git; sleep 60",
		"elsewhere":   "ln -s ../other .git; sleep 60",
		"moved there": "mkdir -p x/hooks && echo evil > x/hooks/pre-commit && mv x .git; sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			other := filepath.Join(filepath.Dir(w.dir), "other", "hooks")
			if err := os.MkdirAll(other, 0o777); err != nil {
				t.Fatal(err)
			}
			w.request.Grant.Files.Protect = []string{filepath.Join(w.dir, ".git", "hooks"), filepath.Join(w.dir, ".git", "config")}
			_, breach := w.sh(t, script)
			if durward.ReasonOf(breach) != durward.ProtectedPath {
				t.Errorf("the breach is %v", breach)
			}
			if _, err := os.Lstat(filepath.Join(w.dir, ".git")); !os.IsNotExist(err) {
				t.Errorf("something stands there: %v", err)
			}
			if !exists(other) {
				t.Error("what lies elsewhere was touched")
			}
		})
	}
}

// A program that is executed has no more rights to itself than where it lies gives.
func TestTheProgramIsFoundInTheRoom(t *testing.T) {
	w := newWorkspace(t)
	printed, _ := w.sh(t, "chmod 700 /proc/$$/exe; echo over")
	if !strings.Contains(printed, "Read-only file system") || !strings.Contains(printed, "over") {
		t.Errorf("%q", printed)
	}
}

// A file that runs as root stays as it is where the workspace of root is shown as the
// command's.
func TestASetIDFileIsNotTheCommands(t *testing.T) {
	if os.Geteuid() != 0 {
		return // who is shown nobody's files as somebody else's
	}
	w := newWorkspace(t)
	if err := os.Chmod(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.put(t, "sub/tool", "good")
	if err := unix.Chmod(filepath.Join(w.dir, "sub", "tool"), 0o4755); err != nil {
		t.Fatal(err)
	}
	printed, _ := w.sh(t, "echo evil > sub/tool; rm -f sub/tool; mv sub other; echo mine > sub/new && cat sub/new")
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(w.dir, "sub", "tool"), &st); err != nil || st.Mode&0o7777 != 0o4755 || w.holds("sub/tool") != "good" {
		t.Errorf("%o, %q, %v", st.Mode, w.holds("sub/tool"), err)
	}
	if !strings.Contains(printed, "mine") {
		t.Errorf("what lies beside it is not the command's: %q", printed)
	}
}

// What everybody may write into is nobody's workspace, also when it is root's.
func TestASharedDirectoryIsNotTheCommands(t *testing.T) {
	if os.Geteuid() != 0 {
		return // who is shown nobody's files as somebody else's
	}
	w := newWorkspace(t) // its directory is open to all
	w.put(t, "roots", "good")
	if err := os.Chmod(filepath.Join(w.dir, "roots"), 0o600); err != nil {
		t.Fatal(err)
	}
	if printed, _ := w.sh(t, "cat roots; echo evil > roots"); strings.Contains(printed, "good") || w.holds("roots") != "good" {
		t.Errorf("%q; it holds %q", printed, w.holds("roots"))
	}
}
