package confined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// The test binary plays a process of its own, by what this variable says, where a test
// has to change what belongs to a process.
const partVariable = "CONFINED_PART"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(partVariable) {
	case "no-landlock":
		err = withoutLandlock(os.Args[1])
	case "bound":
		err = withBoundDirectory(os.Args[1])
	default:
		goleak.VerifyTestMain(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// again has the test binary play a part in a directory.
func again(t *testing.T, part, dir string, attr *syscall.SysProcAttr) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", dir)
	cmd.Env = append(os.Environ(), partVariable+"="+part, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if len(out) > 0 {
		err = errors.Join(err, errors.New(string(out)))
	}
	return err
}

const (
	secret   = "SECRET"
	harmless = "harmless"
)

// A world has a workspace, a directory that may be read, and an outside.
type world struct{ top, work, readable, outside string }

func newWorld(t *testing.T) world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := world{top: top, work: top + "/work", readable: top + "/readable", outside: top + "/outside"}
	for name, text := range map[string]string{
		"outside/secret": secret, "outside/victim": harmless, "outside/dir/secret": secret,
		"readable/file": harmless,
		"work/file":     harmless, "work/sub/file": harmless,
	} {
		w.file(t, name, text)
	}
	return w
}

// file writes a file, with the directories around it.
func (w world) file(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.top, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// grant gives the workspace to be written, and the readable directory to be read.
func (w world) grant() durward.Grant {
	return durward.Grant{Mode: durward.WorkspaceWrite, Files: durward.Files{
		Read: []string{w.readable}, Write: []string{w.work, durward.PrivateTmp},
	}}
}

func newKeeper(t *testing.T) *Keeper {
	k := New()
	t.Cleanup(func() { must(t, k.Close()) })
	return k
}

// under gives operations with a keeper of their own.
func under(t *testing.T, g durward.Grant) *Access {
	t.Helper()
	a, err := newKeeper(t).Under(g)
	must(t, err)
	return a
}

func rootAt(t *testing.T, dir string) *fsroot.Root {
	t.Helper()
	r, err := fsroot.Open(dir)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// read reads a path by a root, in each of the ways that a file is opened: a first operation
// leaves a thread behind, whose rights the next one may borrow. They are to come to the same.
func read(ctx context.Context, a *Access, r *fsroot.Root, name string) (string, error) {
	text, err := readOnce(ctx, a, r, name)
	again, errAgain := readOnce(ctx, a, r, name)
	if again != text || durward.ReasonOf(err) != durward.ReasonOf(errAgain) {
		err = fmt.Errorf("once it gives %q and %v, and then %q and %v", text, err, again, errAgain)
	}
	return text, err
}

func readOnce(ctx context.Context, a *Access, r *fsroot.Root, name string) (string, error) {
	f, err := a.OpenFile(ctx, r, name, fsroot.Rules{})
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

var replacing = fsroot.WriteOptions{Overwrite: true, CreateParents: true}

func write(ctx context.Context, a *Access, r *fsroot.Root, name string) error {
	return a.WriteFile(ctx, r, name, []byte("written"), replacing)
}

// raw does on a confined thread what no operation offers.
func raw(t *testing.T, a *Access, f func() error) error {
	t.Helper()
	return a.do(t.Context(), "test", writing, func(admission) error { return f() })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantReason(t *testing.T, what string, err error, want ...durward.Reason) {
	t.Helper()
	for _, reason := range want {
		if err != nil && durward.ReasonOf(err) == reason {
			return
		}
	}
	t.Errorf("%s: %v (%q), want %q", what, err, durward.ReasonOf(err), want)
}

// snapshot is all that there is in a directory, seen from outside of any confinement.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	seen := make(map[string]string)
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		seen[path] = fmt.Sprintf("%o %d %d:%d ", st.Mode, st.Nlink, st.Uid, st.Gid)
		switch {
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			seen[path] += string(text)
			return err
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			seen[path] += to
			return err
		}
		return nil
	}))
	return seen
}

func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("%s has changed (-before +after):\n%s", dir, diff)
	}
}

// heldThreads counts the threads of this process that can gain no privileges.
func heldThreads(t *testing.T) int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*")
	must(t, err)
	n := 0
	for _, task := range tasks {
		status, err := os.ReadFile(task + "/status")
		if err == nil && strings.Contains(string(status), "NoNewPrivs:\t1") { // a thread may have ended
			n++
		}
	}
	return n
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// soon waits for what has been set going.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so that %s", what)
		}
	}
}
