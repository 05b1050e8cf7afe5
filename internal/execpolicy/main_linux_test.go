package execpolicy_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/door/execserver/object"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/execpolicy"
	"github.com/durward/durward/internal/machine"
)

var (
	_ core.Policy  = (*execpolicy.Policy)(nil)
	_ core.Locator = (*execpolicy.Policy)(nil)
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A world is a directory with a workspace in it and other things around that.
type world struct {
	t      testing.TB
	top    string
	engine *process.Engine
}

// newWorld makes ws with a .git, a file and a link that leads out, and out with a secret.
func newWorld(t testing.TB) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for dir := top; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	w := &world{t: t, top: top, engine: process.New(process.Options{ScratchDir: filepath.Join(top, "scratch"), Discreet: true})}
	t.Cleanup(func() { must(t, w.engine.Close()) }) // of the engine that it has by then
	for _, dir := range []string{"scratch", "ws/.git", "ws/sub", "out"} {
		must(t, os.MkdirAll(w.at(dir), 0o755))
	}
	for _, file := range []string{"ws/a.txt", "ws/sub/b.txt", "ws/.git/config", "out/secret.txt"} {
		must(t, os.WriteFile(w.at(file), []byte("in "+file+"\n"), 0o644))
	}
	must(t, os.Symlink("../out", w.at("ws/dirlink")))
	return w
}

// ofUser gives all of the world to a user who is not root, where we may.
func (w *world) ofUser() {
	w.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	must(w.t, filepath.WalkDir(w.top, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 65534, 65534))
	}))
}

func (w *world) at(name string) string { return filepath.Join(w.top, name) }

// holds tells what stands in a file of the world; nothing for one that is not there.
func (w *world) holds(name string) string {
	text, err := os.ReadFile(w.at(name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) policy(o execpolicy.Options) *execpolicy.Policy {
	w.t.Helper()
	home := o.Host.Home
	o.Host, o.Dir = machine.Host(""), w.at("ws")
	o.Host.Home = home
	p, err := execpolicy.New(o)
	must(w.t, err)
	return p
}

// path puts the world's paths into a text: "$T/ws".
func (w *world) path(text string) string { return strings.ReplaceAll(text, "$T", w.top) }

// call gives the call of a shell in a directory, under a sandbox object.
func (w *world) call(object, dir, script string) durward.Call {
	w.t.Helper()
	return durward.Call{
		Door: "exec-server", Tool: "process/start", Argv: []string{"sh", "-c", w.path(script)}, Dir: w.at(dir),
		Env: map[string]string{"PATH": "/usr/bin:/bin", "PLAIN": "as it is"},
		Ask: durward.Ask{Confinement: w.confinement(object, dir)},
	}
}

func (w *world) confinement(text, dir string) *durward.Confinement {
	w.t.Helper()
	c, err := object.Parse(json.RawMessage(w.path(text)), object.Environment{Cwd: w.at(dir), ServerCwd: "/"})
	must(w.t, err)
	return c
}

// An ended call is what came of one.
type ended struct {
	out  string
	code int
	durward.Result
	err error
}

// run decides a call and has the engine carry it out.
func (w *world) run(p *execpolicy.Policy, c durward.Call) ended {
	w.t.Helper()
	d := p.Decide(c, durward.Tool{ID: c.Tool})
	if !d.Allow {
		return ended{err: d.Err("decide")}
	}
	prepared, err := w.engine.Prepare(w.t.Context(), durward.Tool{}, c, d.Grant)
	if err != nil {
		return ended{err: err}
	}
	defer prepared.Close()
	r, err := prepared.Run(w.t.Context())
	e := ended{Result: r, err: err, code: -1, out: string(r.Stdout.Head) + string(r.Stdout.Tail) + string(r.Stderr.Head) + string(r.Stderr.Tail)}
	if r.Exit != nil {
		e.code = *r.Exit
	}
	return e
}

// The objects that clients send most.
const (
	readOnly  = `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[{"path":{"type":"special","value":{"kind":"root"}},"access":"read"}]},"network":"restricted"},"windowsSandboxLevel":"disabled"}`
	workspace = `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[
		{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},
		{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"}]},"network":"restricted"},
		"windowsSandboxLevel":"disabled","cwd":"file://$T/ws","workspaceRoots":["file://$T/ws"]}`
	little = `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[
		{"path":{"type":"special","value":{"kind":"minimal"}},"access":"read"},
		{"path":{"type":"path","path":"$T/ws"},"access":"read"}]},"network":"restricted"},"windowsSandboxLevel":"disabled"}`
	disabled = `{"permissions":{"type":"disabled"},"windowsSandboxLevel":"disabled"}`
	// usual is what current clients send for every command of a workspace.
	usual = `{"permissions":{"type":"managed","file_system":{"type":"restricted","entries":[
		{"path":{"type":"special","value":{"kind":"root"}},"access":"read"},
		{"path":{"type":"special","value":{"kind":"project_roots"}},"access":"write"},
		{"path":{"type":"special","value":{"kind":"slash_tmp"}},"access":"write"},
		{"path":{"type":"special","value":{"kind":"tmpdir"}},"access":"write"},
		{"path":{"type":"special","value":{"kind":"project_roots","subpath":".git"}},"access":"read","missing_path_behavior":"skip"},
		{"path":{"type":"special","value":{"kind":"project_roots","subpath":".agents"}},"access":"read","missing_path_behavior":"skip"},
		{"path":{"type":"special","value":{"kind":"project_roots","subpath":".codex"}},"access":"read","missing_path_behavior":"skip"}]},"network":"restricted"},
		"windowsSandboxLevel":"disabled","windowsSandboxPrivateDesktop":false,"useLegacyLandlock":false,"cwd":"file://$T/ws","workspaceRoots":["file://$T/ws"],"userHomeDir":"file:///root","temporaryDirectories":null}`
	seedOld = `{"sandboxPolicy":{"type":"workspace-write","exclude_slash_tmp":true},"cwd":"$T/ws"}`
)

func owner(info os.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }
