//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A house is a folder with a workspace, with what lies outside of it, and with what durward and
// codex keep. It is where codex lets no command write that it confines: neither in /tmp nor in
// $TMPDIR. All else lets everybody write, whomever a command runs as.
type house struct {
	t              *testing.T
	dir            string
	durward, codex string // the programs
}

const greeting = "hello\nold line\nbye\n"

func newHouse(t *testing.T, durward, codex string) house {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "durward-codex-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	h := house{t, dir, durward, codex}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.plants("workspace/greeting.txt", greeting)
	for _, folder := range []string{"workspace/.git", "outside", "home", "codex"} {
		h.opens(folder)
	}
	if err := os.Symlink(h.path("outside"), h.path("workspace/link")); err != nil {
		t.Fatal(err)
	}
	return h
}

// opens makes a folder in which everybody may write, as in those above it.
func (h house) opens(name string) {
	h.t.Helper()
	err := os.MkdirAll(h.path(name), 0o777)
	for at := name; at != "." && err == nil; at = filepath.Dir(at) {
		err = os.Chmod(h.path(at), 0o777)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// plants makes a file, and its folder, which everybody may write.
func (h house) plants(name, text string) {
	h.t.Helper()
	h.opens(filepath.Dir(name))
	plant(h.t, h.path(name), text)
	if err := os.Chmod(h.path(name), 0o666); err != nil {
		h.t.Fatal(err)
	}
}

func (h house) path(name string) string { return filepath.Join(h.dir, name) }

// has asks for a file with these very bytes; no bytes stand for no file.
func (h house) has(name, want string) {
	h.t.Helper()
	got, err := os.ReadFile(h.path(name))
	if string(got) != want || errors.Is(err, os.ErrNotExist) != (want == "") {
		h.t.Errorf("%s has %q, %v; want %q", name, got, err, want)
	}
}

// environment has nothing of the test's own.
func (h house) environment(more ...string) []string {
	return append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + h.path("home"), "LC_ALL=C"}, more...)
}

// deserted waits until no process has to do with the workspace.
func (h house) deserted() {
	h.t.Helper()
	awaitEnds(h.t, h.path("workspace"))
}

// A run is a program that runs.
type run struct {
	cmd       *exec.Cmd
	out, told *log
	ended     chan struct{} // closed when it ended
	err       error         // why it ended; to be read once it did
}

// start runs a program that ends with the test at the latest.
func start(t *testing.T, c *exec.Cmd) *run {
	t.Helper()
	newLog := func() *log { return &log{more: make(chan struct{}, 1)} }
	r := &run{cmd: c, out: newLog(), told: newLog(), ended: make(chan struct{})}
	c.Stdout, c.Stderr = r.out, r.told
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		r.err = c.Wait()
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill() // it should have ended
		<-r.ended
	})
	return r
}

// ends waits until the program has ended well.
func (r *run) ends(t *testing.T) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(time.Minute):
		t.Fatalf("%q goes on:\n%s%s", r.cmd.Args, r.out, r.told)
	}
	if r.err != nil {
		t.Errorf("%q: %v\n%s%s", r.cmd.Args, r.err, r.out, r.told)
	}
}

// serve starts an exec server of the house, and gives where it listens.
func (h house) serve(flags ...string) (server *run, address string) {
	h.t.Helper()
	c := exec.Command(h.durward, append([]string{"exec-server", "--listen", "ws://127.0.0.1:0"}, flags...)...)
	c.Dir, c.Env = h.path("home"), h.environment("DURWARD_STATE_DIR="+h.path("state"), "HOUSE=number nine")
	server = start(h.t, c)
	return server, server.out.await(h.t, `^ws://(127\.0\.0\.1:\d+)\n`)
}

// stop ends a server, which has said nothing but where it listens.
func (h house) stop(server *run, address string) {
	h.t.Helper()
	if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		h.t.Fatal(err)
	}
	server.ends(h.t)
	if got := server.out.String(); got != "ws://"+address+"\n" {
		h.t.Errorf("the server says %q", got)
	}
}

// codexConfig has codex ask the model of the test and nobody else.
const codexConfig = `model = %q
model_provider = "test"
approval_policy = "never"
web_search = "disabled"
check_for_update_on_startup = false
%s
[analytics]
enabled = false
[features]
apps = false
plugins = false
remote_plugin = false
[model_providers.test]
name = "test"
base_url = "%s/v1"
wire_api = "responses"
env_key = "TEST_KEY"
request_max_retries = 0
stream_max_retries = 0
`

// confinedTo is a setting: one of the sandbox modes of codex.
func confinedTo(mode string) string { return fmt.Sprintf("sandbox_mode = %q", mode) }

// serverAt is a variable by which codex has everything that it does done by a server.
func serverAt(address string) string { return "CODEX_EXEC_SERVER_URL=ws://" + address }

// work has codex work for a model, with variables. The setting says what it allows its
// commands. The model is asked already.
func (h house) work(setting string, variables ...string) (*run, *model) {
	h.t.Helper()
	m := newModel(h.t)
	plant(h.t, h.path("codex/config.toml"), fmt.Sprintf(codexConfig, modelName, setting, m.url))
	ctx, end := context.WithTimeout(h.t.Context(), 5*time.Minute)
	h.t.Cleanup(end)
	c := exec.CommandContext(ctx, h.codex, "exec", "--skip-git-repo-check", "--output-last-message", h.path("last"),
		"--cd", h.path("workspace"), "Do as you are told.")
	c.Dir = h.path("home")
	c.Env = append(h.environment("CODEX_HOME="+h.path("codex"), "TEST_KEY="+modelKey), variables...)
	codex := start(h.t, c)
	m.ended = codex.ended
	m.isAsked()
	return codex, m
}

// finish has the model say that all is done, and codex end.
func (h house) finish(codex *run, m *model) {
	h.t.Helper()
	m.isDone("all is done")
	codex.ends(h.t)
	h.has("last", "all is done")
}

// A tally is how many calls of one tool are on record: those that were allowed, each with what
// came of it, and those that were not, or had nothing to work on.
type tally struct{ done, denied int }

// onRecord gives all that is on record, which is as it was written.
func (h house) onRecord() map[string]tally {
	h.t.Helper()
	command(h.t, []string{"DURWARD_STATE_DIR=" + h.path("state")}, h.durward, "audit", "verify")
	files, err := filepath.Glob(h.path("state/audit/*.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	all, begun := map[string]tally{}, map[string]bool{}
	for _, path := range files {
		for line := range strings.Lines(textOf(h.t, path)) {
			var r struct{ Phase, ReqID, Door, Tool string }
			fromJSON(h.t, line, &r)
			if r.Phase != "event" && r.Door != "exec-server" {
				h.t.Errorf("a call came through another door: %s", line)
			}
			n := all[r.Tool]
			switch r.Phase {
			case "intent":
				begun[r.ReqID] = true
			case "outcome":
				if !begun[r.ReqID] {
					h.t.Errorf("it was not announced: %s", line)
				}
				delete(begun, r.ReqID)
				n.done++
			case "deny":
				n.denied++
			}
			all[r.Tool] = n
		}
	}
	if len(begun) > 0 {
		h.t.Errorf("what came of the calls %v is not on record", begun)
	}
	return all
}

// hasOnRecord asks for so many calls of some tools.
func (h house) hasOnRecord(want map[string]tally) {
	h.t.Helper()
	all := h.onRecord()
	for tool, n := range want {
		if all[tool] != n {
			h.t.Errorf("on record of %s is %+v; want %+v", tool, all[tool], n)
		}
	}
}

// spoken splits the output of a tool into what codex says about it, and what a command printed.
func spoken(t *testing.T, output string) (about, printed string) {
	t.Helper()
	about, printed, ok := strings.Cut(output, "\nOutput:\n")
	if !ok {
		t.Fatalf("no command printed %q", output)
	}
	return about, printed
}
