package hostfs

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/confined"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A scene is an engine and a directory for it to work in: a workspace ws, and out beside it.
type scene struct {
	engine *Engine
	keeper *confined.Keeper
	root   string
	grant  durward.Grant
}

// free confines nothing.
var free = durward.Grant{Mode: durward.DangerFullAccess, Limits: durward.Limits{Output: durward.Unlimited}}

func newScene(t testing.TB) *scene {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	keeper := confined.New()
	s := &scene{engine: New(keeper), keeper: keeper, root: root, grant: free}
	t.Cleanup(func() {
		must(t, s.engine.Close())
		must(t, keeper.Close())
	})
	for _, dir := range []string{"ws/.git", "out"} {
		must(t, os.MkdirAll(s.path(dir), 0o755))
	}
	s.put(t, "ws/a.txt", "hello")
	s.put(t, "out/secret.txt", "secret")
	must(t, os.Symlink("../out", s.path("ws/dirlink")))
	must(t, os.Symlink("../out/secret.txt", s.path("ws/filelink")))
	return s
}

func (s *scene) path(name string) string { return filepath.Join(s.root, name) }

func (s *scene) put(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	must(t, os.WriteFile(s.path(name), []byte(text), 0o644))
}

func (s *scene) has(t testing.TB, name, want string) {
	t.Helper()
	if text, err := os.ReadFile(s.path(name)); err != nil || string(text) != want {
		t.Errorf("%s holds %q, %v; want %q", name, text, err, want)
	}
}

// readOnly, workspace and narrow are what clients ask for most: all to be read; the
// workspace to be written, too; nothing but the workspace to be read.
func (s *scene) readOnly() durward.Grant {
	return confinedTo(durward.ReadOnly, durward.Files{Read: []string{"/"}})
}

func (s *scene) workspace() durward.Grant {
	return confinedTo(durward.WorkspaceWrite, durward.Files{
		Read: []string{"/"}, Write: []string{s.path("ws")},
		Protect: []string{s.path("ws/.git"), s.path("ws/.codex"), s.path("ws/.agents")},
	})
}

func (s *scene) narrow() durward.Grant {
	return confinedTo(durward.ReadOnly, durward.Files{Read: []string{"/usr", s.path("ws")}})
}

func confinedTo(mode durward.Mode, files durward.Files) durward.Grant {
	return durward.Grant{Mode: mode, StepDown: true, Limits: durward.Limits{Output: durward.Unlimited}, Files: files}
}

// do takes a request through the engine as the core does. In the input, $ is the root of the
// scene.
func (s *scene) do(ctx context.Context, method, input string, content ...byte) (durward.Result, error) {
	c := durward.Call{Input: json.RawMessage(strings.ReplaceAll(input, "$", s.root)), Stdin: content}
	for _, tool := range Tools() {
		if string(tool.ID) != "fs/"+method {
			continue
		}
		p, err := s.engine.Prepare(ctx, tool, c, s.grant)
		if err != nil {
			return durward.Result{}, err
		}
		result, err := p.Run(ctx)
		if closed := p.Close(); err == nil {
			err = closed
		}
		return result, err
	}
	return durward.Result{}, fmt.Errorf("there is no method %q", method)
}

// A step is a request with what is to come of it: an output, or a reason.
type step struct {
	method, input, content string
	want                   string // with $ for the root of the scene
	reason                 durward.Reason
}

func (s *scene) run(t *testing.T, steps []step) {
	t.Helper()
	for _, st := range steps {
		result, err := s.do(t.Context(), st.method, st.input, []byte(st.content)...)
		if durward.ReasonOf(err) != st.reason || err != nil && st.reason == "" {
			t.Errorf("%s %s: %v (%q); want %q", st.method, st.input, err, durward.ReasonOf(err), st.reason)
			continue
		}
		if err == nil && st.want != "" && string(result.Output) != strings.ReplaceAll(st.want, "$", s.root) {
			t.Errorf("%s %s: %s; want %s", st.method, st.input, result.Output, st.want)
		}
	}
}

// snapshot maps every path below a directory to what is there.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		seen[path] = fmt.Sprintf("%o %d ", st.Mode, st.Nlink)
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			seen[path] += string(text)
			return err
		}
		return nil
	}))
	return seen
}

func unchanged(t testing.TB, dir string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("%s changed (-before +after):\n%s", dir, diff)
	}
}
