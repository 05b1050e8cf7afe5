package changeset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// Overlays are mounted by the test binary in namespaces of its own: once with the attributes
// that root's overlays have, and once with those that anybody's have.
const (
	roomVariable = "CHANGESET_ROOM"
	trusted      = "trusted"
	user         = "user"
)

func TestMain(m *testing.M) {
	var err error
	switch top := os.Getenv(unheldVariable); {
	case top != "":
		err = withoutLandlock(top)
	case os.Getenv(roomVariable) != "":
		if err = furnish(); err == nil {
			goleak.VerifyTestMain(m)
		}
	default:
		goleak.VerifyTestMain(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// room is a directory for overlays, on a file system that goes with the namespace.
var room = filepath.Join(os.TempDir(), "room")

func furnish() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	var err error
	if room, err = filepath.EvalSymlinks(os.TempDir()); err != nil {
		return err
	}
	if err := unix.Mount("room", room, "tmpfs", 0, "size=256m,mode=0755"); err != nil {
		return fmt.Errorf("mount a tmpfs: %w", err)
	}
	return nil
}

// TestOnOverlays runs all tests that need one, in both kinds of room.
func TestOnOverlays(t *testing.T) {
	if os.Getenv(roomVariable) != "" {
		t.Skip("this is a room")
	}
	for _, kind := range []string{trusted, user} {
		t.Run(kind, func(t *testing.T) {
			if kind == trusted && os.Geteuid() != 0 {
				t.Skip("only root can mount it")
			}
			args := []string{"-test.run=^TestOverlay", "-rapid.nofailfile"}
			if testing.Verbose() {
				args = append(args, "-test.v")
			}
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
			dir, err := os.MkdirTemp("", "room")
			must(t, err)
			must(t, os.Chmod(dir, 0o777))
			t.Cleanup(func() { os.Remove(dir) })
			cmd.Env = append(os.Environ(), roomVariable+"="+kind, "TMPDIR="+dir)
			cmd.SysProcAttr = namespaces(kind)
			out, err := cmd.CombinedOutput()
			if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
				t.Skip("no namespaces can be had:", err)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

func namespaces(kind string) *syscall.SysProcAttr {
	if kind == trusted {
		return &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 1234, 1234
	}
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		Credential:  &syscall.Credential{NoSetGroups: true},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
	}
}

// A world is a workspace with an overlay over it.
type world struct{ top, lower, upper, work, merged string }

// newWorld makes a workspace of these files; a name that ends in a slash is a directory.
func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	if os.Getenv(roomVariable) == "" {
		t.Skip("TestOnOverlays runs it")
	}
	return newWorldIn(t, room, files)
}

func newWorldIn(t testing.TB, dir string, files map[string]string) *world {
	t.Helper()
	top, err := os.MkdirTemp(dir, "world")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(top) })
	w := &world{top: top, lower: top + "/lower", upper: top + "/upper", work: top + "/work", merged: top + "/merged"}
	for _, d := range []string{w.lower, w.upper, w.work, w.merged} {
		must(t, os.Mkdir(d, 0o755))
	}
	for name, text := range files {
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(filepath.Join(w.lower, name), 0o755))
			continue
		}
		put(t, filepath.Join(w.lower, name), text)
	}
	return w
}

func put(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o644))
}

// command has something done in the merged tree, and ends the overlay.
func (w *world) command(t testing.TB, do func(merged string)) {
	t.Helper()
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,index=off,metacopy=off", w.lower, w.upper, w.work)
	if os.Getenv(roomVariable) == user {
		options += ",userxattr,redirect_dir=nofollow" // "off" is refused with userxattr
	} else {
		options += ",redirect_dir=off"
	}
	must(t, unix.Mount("overlay", w.merged, "overlay", 0, options))
	defer func() { must(t, unix.Unmount(w.merged, 0)) }()
	do(w.merged)
}

// shell is a command of a shell.
func (w *world) shell(t testing.TB, script string) {
	t.Helper()
	w.command(t, func(merged string) {
		shellIn(t, merged, script)
	})
}

func shellIn(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func (w *world) layers(t testing.TB) Layers {
	t.Helper()
	return Layers{
		Path: w.lower, Lower: opened(t, w.lower), Upper: opened(t, w.upper),
		UserAttributes: os.Getenv(roomVariable) == user,
	}
}

// opened gives a descriptor that can only name a directory.
func opened(t testing.TB, dir string) *os.File {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	f := os.NewFile(uintptr(fd), dir)
	t.Cleanup(func() { f.Close() })
	return f
}

func (w *world) read(t testing.TB) *Set {
	t.Helper()
	s, err := Read(context.Background(), w.layers(t), 0)
	must(t, err)
	return s
}

func (w *world) files() durward.Files { return durward.Files{Write: []string{w.lower}} }

// anywhere lets changes be applied on any file system that holds files.
var anywhere = fsroot.Rules{AllowNetworkFS: true}

func (w *world) apply(sets ...*Set) error {
	return Apply(context.Background(), w.files(), anywhere, sets...)
}

// list gives changes in short: "A dir/file".
func list(s *Set) []string {
	var lines []string
	for _, c := range s.Changes() {
		lines = append(lines, string(c.Kind)+" "+c.Path)
	}
	return lines
}

// tree describes all that is beneath a directory.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d %x", len(content), sha256.Sum256(content))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + to
		}
		all[strings.TrimPrefix(path, dir+"/")] = text
		return nil
	}))
	return all
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s differs (-want +got):\n%s", what, d)
	}
}

func reason(t testing.TB, err error, want durward.Reason) {
	t.Helper()
	if durward.ReasonOf(err) != want {
		t.Fatalf("the reason is %q, want %q: %v", durward.ReasonOf(err), want, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
