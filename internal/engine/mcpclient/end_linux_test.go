//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// A server that ends while it works on a call is told of at once, and started again at once if it
// had been well; else after a while.
func TestCrash(t *testing.T) {
	for _, tt := range []struct {
		name, tool, arguments, want string
	}{
		{"exits", "exit", `{"code":7,"text":"first\nout of cheese"}`, "it exited with code 7; its last words: out of cheese"},
		{"exits well", "exit", `{"code":0,"text":"bye"}`, "it exited with code 0; its last words: bye"},
		{"closes its output", "close", `{}`, "it closed its output"},
	} {
		for _, well := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, well: %t", tt.name, well), func(t *testing.T) {
				e := entry("a")
				e.Restart = hubconfig.Restart{Initial: 100 * time.Second, Max: time.Hour}
				h := started(t, e)
				pid := h.of("a").PID
				if well {
					h.clock.pass(wellAfter)
				}
				_, err := h.call(patient(t), "a", tt.tool, tt.arguments)
				if durward.ReasonOf(err) != durward.ServerDisconnected || !strings.Contains(err.Error(), "may have run") {
					t.Fatalf("the call ended with %v", err)
				}
				if tt.tool == "close" {
					if !lives(pid) {
						t.Error("the call waited for the process to end")
					}
					h.clock.fire(t, exitTime, exitTime)
				}
				if !well {
					s := h.until(t, "a", func(s Status) bool { return s.LastError != "" })
					if s.State != Stopped || s.RetryAfter == 0 || s.Tools != 1 || s.PID != 0 {
						t.Errorf("it is %+v", s)
					}
					if got := reason(h.call(patient(t), "a", "echo", `{}`)); got != "server_stopped" {
						t.Errorf("a call ended with %s", got)
					}
					h.clock.fire(t, 80*time.Second, 120*time.Second)
				}
				s := h.until(t, "a", func(s Status) bool { return running(s) && s.PID != pid })
				if s.LastError != tt.want || s.Restarts != 1 || s.RetryAfter != 0 {
					t.Errorf("it is %+v", s)
				}
				h.works(t, "a")
			})
		}
	}
}

// A server whose input is closed may be about to exit, and how it does is told; one that stays
// is ended.
func TestClosedInput(t *testing.T) {
	for want, exits := range map[string]bool{"it exited with code 7": true, "it closed its input": false} {
		t.Run(want, func(t *testing.T) {
			end := filepath.Join(t.TempDir(), "end")
			e := entry("a", "unplugged="+end)
			e.Restart.Policy = "never"
			h := started(t, e)
			if got := reason(h.call(patient(t), "a", "echo", `{}`)); got != "server_stopped" {
				t.Errorf("the call ended with %s", got)
			}
			if exits {
				must(t, os.WriteFile(end, nil, 0o644))
			} else {
				h.clock.fire(t, exitTime, exitTime)
			}
			if s := h.until(t, "a", func(s Status) bool { return s.LastError != "" }); s.LastError != want || s.State != Stopped {
				t.Errorf("it is %+v", s)
			}
		})
	}
}

// A server that is killed is told of by the signal.
func TestKilled(t *testing.T) {
	h := started(t, entry("a"))
	pid := h.of("a").PID
	h.clock.pass(wellAfter)
	arguments, began, _ := waiting(t)
	ended := make(chan error, 1)
	go func() { _, err := h.call(patient(t), "a", "wait", arguments); ended <- err }()
	appears(t, began)
	kill(t, pid)
	if err := <-ended; durward.ReasonOf(err) != durward.ServerDisconnected {
		t.Errorf("the call ended with %v", err)
	}
	s := h.until(t, "a", func(s Status) bool { return running(s) && s.PID != pid })
	if !strings.Contains(s.LastError, "signal 9") {
		t.Errorf("it is %+v", s)
	}
	h.works(t, "a")
}

// Servers that are not to be started again stay stopped.
func TestRestartPolicies(t *testing.T) {
	for policy, codes := range map[string]map[int]bool{
		"always": {0: true, 1: true}, "on-failure": {0: false, 1: true}, "never": {0: false, 1: false},
	} {
		for code, again := range codes {
			t.Run(fmt.Sprintf("%s after %d", policy, code), func(t *testing.T) {
				e := entry("a")
				e.Restart.Policy = policy
				h := started(t, e)
				h.clock.pass(wellAfter)
				_, _ = h.call(patient(t), "a", "exit", fmt.Sprintf(`{"code":%d}`, code))
				h.until(t, "a", func(s Status) bool { return s.LastError != "" && (running(s) || s.RetryAfter == 0) == true })
				if again {
					h.until(t, "a", running)
					return
				}
				if _, err := h.call(patient(t), "a", "echo", `{}`); durward.ReasonOf(err) != durward.ServerStopped || durward.AsError(err).Retry {
					t.Errorf("a call ended with %v", err)
				}
				must(t, h.Restart(patient(t), "a"))
				h.works(t, "a")
			})
		}
	}
}

// Each end of a server is logged, also one that was asked for; that is no error of the server.
func TestEachStopIsLogged(t *testing.T) {
	var logged log
	h := newHub(t, Options{Logger: logged.logger()}, entry("a"))
	h.Start(patient(t))
	stops := func() int { return strings.Count(logged.String(), "level=WARN msg=server_stopped server=a ") }
	must(t, h.Restart(patient(t), "a"))
	if n := stops(); n != 1 || h.of("a").LastError != "" {
		t.Errorf("%d stops are logged, the last error is %q", n, h.of("a").LastError)
	}
	kill(t, h.of("a").PID)
	h.until(t, "a", func(s Status) bool { return s.LastError != "" && stops() == 2 })
}

// What a server started ends with it, however it ends.
func TestWhatAServerLeavesBehind(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, h *hub){
		"exit":    func(t *testing.T, h *hub) { _, _ = h.call(patient(t), "a", "exit", `{}`) },
		"kill":    func(t *testing.T, h *hub) { kill(t, h.of("a").PID) },
		"restart": func(t *testing.T, h *hub) { must(t, h.Restart(patient(t), "a")) },
		"Close":   func(t *testing.T, h *hub) { must(t, h.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			h := started(t, entry("a"))
			marker := fmt.Sprint("7", rand.N(1_000_000_000))
			h.says(t, "fork", map[string]string{"text": marker})
			ctx := patient(t)
			for !sleeps(marker) && ctx.Err() == nil {
			}
			end(t, h)
			for sleeps(marker) && ctx.Err() == nil {
			}
			if ctx.Err() != nil {
				t.Error("who was started was not there, or lives")
			}
		})
	}
}

// sleeps reports whether somebody sleeps for so many seconds, however its processes are numbered
// where it lives.
func sleeps(seconds string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(path string) bool {
		text, _ := os.ReadFile(path)
		return string(text) == "sleep\x00"+seconds+"\x00"
	})
}

// Servers have the environment that was written, and nothing of ours.
func TestEnvironment(t *testing.T) {
	t.Setenv("CANARY", "secret")
	home := t.TempDir()
	e := entry("a", "x")
	e.Env = map[string]string{"OWN": "1", "LANG": "de"}
	e.InheritEnv = []string{"PASSED", "MISSING"}
	h := newHub(t, Options{HomeDir: home, Environ: map[string]string{"PATH": "bin:/usr/bin:.:/bin:", "PASSED": "2", "CANARY": "secret"}}, e, entry("b"))
	h.Start(patient(t))
	list := strings.Split(h.says(t, "env", struct{}{}), "\n")
	tmp := ""
	for i, v := range list {
		if dir, ok := strings.CutPrefix(v, "TMPDIR="); ok {
			tmp, list[i] = dir, "TMPDIR"
		}
	}
	want := "HOME=" + home + "/a|LANG=de|OWN=1|PASSED=2|PATH=/usr/bin:/bin|SANDBOX_DIR=" + h.dir + "|TMPDIR"
	if got := strings.Join(list, "|"); got != want {
		t.Errorf("it has %s", got)
	}
	for _, dir := range []string{tmp, home + "/a"} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	if got := h.says(t, "dir", struct{}{}); got != h.dir {
		t.Errorf("it is in %s", got)
	}
	// Nor has it anything open of the server that was started beside it.
	if got := h.says(t, "fds", struct{}{}); got != "0 1 2" {
		t.Errorf("it has the pipes %s", got)
	}
	must(t, h.Close())
	if _, err := os.Stat(tmp); err == nil {
		t.Error("its temporary directory is there")
	}
	if _, err := os.Stat(home + "/a"); err != nil {
		t.Error("its home is not")
	}
}

// Close waits for calls that run, refuses later ones, and leaves nothing.
func TestClose(t *testing.T) {
	h := started(t, entry("a"), entry("b"))
	pids := []int{h.of("a").PID, h.of("b").PID}
	arguments, began, gone := waiting(t)
	ctx, cancel := context.WithCancel(patient(t))
	ended, closed := make(chan string, 1), make(chan error, 1)
	go func() { ended <- reason(h.call(ctx, "a", "wait", arguments)) }()
	appears(t, began)
	go func() { closed <- h.Close() }()
	for reason(h.call(patient(t), "b", "echo", `{}`)) != "shutting_down" {
	}
	select {
	case <-closed:
		t.Error("it is closed while a call runs")
	default:
	}
	cancel()
	if got := <-ended; got != "cancelled" {
		t.Error(got)
	}
	must(t, <-closed)
	_ = gone // it may have been ended before it heard that nobody waits
	for _, pid := range pids {
		if lives(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	if err := h.Restart(patient(t), "a"); durward.ReasonOf(err) != durward.ShuttingDown {
		t.Errorf("Restart: %v", err)
	}
	must(t, h.Close())
}

// Calls that take longer end with their server, and servers that do not listen are killed.
func TestCloseInAHurry(t *testing.T) {
	for name, hurry := range map[string]func(h *hub){
		"5 seconds": func(h *hub) { h.clock.fire(t, closeTime, closeTime) },
		"Kill":      func(h *hub) { h.Kill(); h.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			deaf := entry("deaf", "-c", `trap "" TERM; "$0"; while :; do sleep 1000; done`, fixture)
			deaf.Command = "/bin/sh"
			h := started(t, entry("a"), deaf)
			pid := h.of("deaf").PID
			arguments, began, _ := waiting(t)
			ended, closed := make(chan string, 1), make(chan error, 1)
			go func() { ended <- reason(h.call(patient(t), "a", "hang", arguments)) }()
			appears(t, began)
			go func() { closed <- h.Close() }()
			hurry(h)
			if got := <-ended; got != "server_disconnected" {
				t.Error(got)
			}
			for over := false; !over; {
				select {
				case err := <-closed:
					must(t, err)
					over = true
				case <-time.After(time.Millisecond):
					h.clock.end(termTime)
				}
			}
			if lives(pid) {
				t.Error("it lives")
			}
		})
	}
}

// An engine that was never started closes, too.
func TestCloseWithoutStart(t *testing.T) {
	h := newHub(t, Options{}, entry("a"))
	if _, err := h.call(patient(t), "a", "echo", `{}`); durward.ReasonOf(err) != durward.ServerStopped {
		t.Error(err)
	}
	must(t, h.Close())
	h.Start(patient(t))
	if s := h.of("a"); s.State != Stopped {
		t.Errorf("it is %+v", s)
	}
}

func TestNew(t *testing.T) {
	off := entry("a")
	off.Disabled = true
	h := newHub(t, Options{}, off, entry("a"))
	if n := len(h.Servers()); n != 1 || h.Tools("no") != nil || h.Stderr("no") != nil {
		t.Errorf("there are %d", n)
	}
	if err := h.Restart(patient(t), "no"); durward.ReasonOf(err) != durward.ToolNotFound {
		t.Error(err)
	}
	for _, o := range []Options{{SandboxDir: "relative"}, {SandboxDir: "/", Servers: []hubconfig.Server{{Name: "a"}, {Name: "a"}}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// A server under a sandbox policy reads and reaches what that lets it, and what it is held to is
// told.
func TestSandbox(t *testing.T) {
	outside := t.TempDir()
	secret := file(t, outside, "secret", "secret")
	boxed := entry("a")
	boxed.Sandbox = json.RawMessage(`{"mode":"workspace-write","filesystem":{"read":["@system","` + filepath.Dir(fixture) + `"],"write":["${workspace}","@tmp"],"exec":["` + filepath.Dir(fixture) + `"]},"network":{"mode":"none"}}`)
	h := newHub(t, Options{Environ: map[string]string{"PATH": "/bin", "CANARY": "secret"}}, boxed, entry("free"))
	must(t, os.Chmod(h.dir, 0o777))
	openToAll(t, h.dir)
	inside := file(t, h.dir, "inside", "hello")
	h.Start(patient(t))
	s := h.of("a")
	if s.State != Running || s.Report == nil || s.Report.Guarantees[durward.FSRead].Held != durward.HeldKernel {
		t.Fatalf("it is %+v", s)
	}
	if h.of("free").Report != nil {
		t.Error("the other one has a report")
	}
	read := func(server, path string) string {
		return reason(h.call(patient(t), server, "read", `{"path":"`+path+`"}`))
	}
	if got := read("a", inside); got != "ok" {
		t.Errorf("what is inside: %s", got)
	}
	if got := read("a", secret); got != "server_error" {
		t.Errorf("what is outside: %s", got)
	}
	if got := read("free", secret); got != "ok" {
		t.Errorf("without a sandbox: %s", got)
	}
	if got := reason(h.call(patient(t), "a", "mark", `{"path":"`+h.dir+`/made"}`)); got != "ok" {
		t.Error(got)
	}
	appears(t, h.dir+"/made")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	go func() {
		for c, err := ln.Accept(); err == nil; c, err = ln.Accept() {
			c.Close()
		}
	}()
	for server, want := range map[string]string{"a": "server_error", "free": "ok"} {
		if got := reason(h.call(patient(t), server, "dial", `{"addr":"`+ln.Addr().String()+`"}`)); got != want {
			t.Errorf("%s reaches another host: %s, want %s", server, got, want)
		}
	}
	env := h.says(t, "env", struct{}{})
	if strings.Contains(env, "CANARY") || !strings.Contains(env, "HOME=") || !strings.Contains(env, "TMPDIR=") || !strings.Contains(env, "SANDBOX_DIR="+h.dir) {
		t.Errorf("it has %s", env)
	}
	kill(t, s.PID)
	h.until(t, "a", notRunning)
}

// openToAll lets any user pass through a directory of the test, and its parents.
func openToAll(t *testing.T, dir string) {
	t.Helper()
	for dir = filepath.Dir(dir); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
}
