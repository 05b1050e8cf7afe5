//go:build linux && (amd64 || arm64)

package site_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward/site"
)

// A marker is a number of seconds that nobody else sleeps: it finds the processes of
// one call among all on this machine.
type marker string

func newMarker() marker {
	return marker(fmt.Sprintf("86399.%d%06d", os.Getpid(), time.Now().UnixNano()/1000%1_000_000))
}

// alive counts the processes that carry the marker, whoever they belong to.
func (m marker) alive() int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return len(slices.DeleteFunc(lines, func(file string) bool {
		line, _ := os.ReadFile(file) // empty for the dead
		return !strings.Contains(string(line), string(m))
	}))
}

// shells is a site that runs any line.
func shells(change func(*site.Config)) setup {
	return setup{files: map[string]string{"README.md": page("[sh, -c, {}, ;]", "[env]")}, config: change}
}

func sh(format string, args ...any) request {
	return run("/", "sh", "-c", fmt.Sprintf(format, args...))
}

// A command sees the fixed variables above the server's, those above the caller's, and
// nothing of the server's own surroundings.
func TestEnvironment(t *testing.T) {
	t.Setenv("TOKEN", "of the server's own")
	r := start(t, shells(func(c *site.Config) {
		c.Env = map[string]string{"SERVER": "s", "BOTH": "s", "HOME": "/root", "LC_ALL": "de_DE"}
	}))
	a := r.ask(post("/", `{"command": ["env"], "env": {"MINE": "a=b $SERVER", "BOTH": "m", "EMPTY": "", "lower": "ü", "PATH": "/evil", "HOME": "/evil",
		"LANG": "x", "LC_ALL": "x", "LD_PRELOAD": "x", "DYLD_X": "x", "AWS_KEY": "x", "_HANDLER": "x", "_LAMBDA_X": "x", "STATESPACE_SCRATCH": "x", "STATESPACE_WORKSPACE": "x"}}`))
	text, _ := a.members(t)["stdout"].(string)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(lines)
	want := []string{"BOTH=s", "EMPTY=", "HOME=/tmp", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "MINE=a=b $SERVER", "PATH=/usr/local/bin:/usr/bin:/bin", "SERVER=s", "lower=ü"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	own := start(t, shells(func(c *site.Config) { c.Path = "/bin:/opt/bin" }))
	own.ask(sh("echo $PATH")).wantOutput(t, "/bin:/opt/bin\n", 0)
}

// Reserved variables are a caller's to set where the page or the operator says so.
func TestAllowedVariables(t *testing.T) {
	const listed = "---\ntools:\n  - [printenv, {}]\nenv: [PGDATABASE]\n---\n"
	r := start(t, setup{files: map[string]string{"README.md": listed, "other.md": page("[printenv, {}]")}, config: func(c *site.Config) { c.AllowEnv = []string{"PAGER"} }})
	ask := func(target, name string) answer {
		return r.ask(post(target, fmt.Sprintf(`{"command": ["printenv", %q], "env": {%q: "x"}}`, name, name)))
	}
	ask("/", "PGDATABASE").wantOutput(t, "x\n", 0)
	ask("/", "PAGER").wantOutput(t, "x\n", 0)
	ask("/other", "PAGER").wantOutput(t, "x\n", 0)
	ask("/other", "PGDATABASE").wantRefusal(t, "POST", 400, "bad_env")
	ask("/", "PGHOST").wantRefusal(t, "POST", 400, "bad_env")
}

// Variables are put in where the author wrote them, once, and nowhere else.
func TestExpansion(t *testing.T) {
	text := "---\ntools:\n  - [printf, '%s|', $A, 'x$A.$B', '${A}', '$', $NOBODY, $A_B, {}, {regex: '^[$]A$'}]\n---\n"
	r := start(t, setup{files: map[string]string{"README.md": text}, config: func(c *site.Config) { c.Env = map[string]string{"A": "a $B"} }})
	a := r.ask(post("/", `{"command": ["printf", "%s|", "$A", "x$A.$B", "${A}", "$", "$NOBODY", "$A_B", "$A", "$A", "$A"], "env": {"A": "mine", "B": "b"}}`))
	a.wantOutput(t, "a $B|xa $B.b|${A}|$|$NOBODY|$A_B|$A|$A|$A|", 0)
}

// Words reach the program as they are, which finds no input, no further descriptors and
// the page's directory.
func TestWhatACommandFinds(t *testing.T) {
	r := start(t, setup{files: map[string]string{
		"sub/page.md": page("[printf, {}]", "[cat]", "[ls, -l]", "[pwd]", "[./tool]", "[sh, -c, {}]", "[bin/tool, {}]"),
		"sub/tool":    "#!/bin/sh\necho tool in $(pwd)\n", "sub/bin/tool": "#!/bin/sh\necho \"tool $1\"\n",
		"out/page.md": page("[./up]", "[../sub/tool]", "[/bin/echo, x]"), "out/up": "-> /bin/echo",
	}})
	r.ask(run("/sub/page", "printf", `%s|`, "a b", "", "*", "$HOME", "`id`", "'\"", "ü\u202e", "\n")).
		wantOutput(t, "a b||*|$HOME|`id`|'\"|ü\u202e|\n|", 0)
	r.ask(run("/sub/page", "cat")).wantOutput(t, "", 0)
	r.ask(run("/sub/page", "pwd")).wantOutput(t, filepath.Join(r.root, "sub")+"\n", 0)
	r.ask(run("/sub/page", "sh", "-c", "exec ls /proc/self/fd")).wantOutput(t, "0\n1\n2\n3\n", 0) // 3 is what ls opened
	r.ask(run("/sub/page", "sh", "-c", "(: </dev/tty) 2>/dev/null || echo no terminal")).wantOutput(t, "no terminal\n", 0)
	r.ask(run("/sub/page", "./tool")).wantOutput(t, "tool in "+filepath.Join(r.root, "sub")+"\n", 0)
	r.ask(run("/sub/page", "bin/tool", "x")).wantOutput(t, "tool x\n", 0)
	r.ask(run("/out/page", "../sub/tool")).wantOutput(t, "tool in "+filepath.Join(r.root, "out")+"\n", 0)
	r.ask(run("/out/page", "./up")).wantRefusal(t, "POST", 403, "path_denied")
	r.ask(run("/out/page", "/bin/echo", "x")).wantRefusal(t, "POST", 403, "path_denied")
}

// A program of the page's directory is not found by its bare name.
func TestProgramsAreLookedUpInPathOnly(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[ls]", "[mine]"), "ls": "#!/bin/sh\ntouch ran\n", "mine": "#!/bin/sh\ntouch ran\n"}})
	r.ask(run("/", "mine")).wantRefusal(t, "POST", 500, "exec_failed")
	if a := r.ask(run("/", "ls")); a.StatusCode != 200 || !strings.Contains(a.body, "README.md") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if r.has("ran") {
		t.Error("what lies in the directory was run")
	}
}

// A command's end is told as a shell would tell it, and is no error.
func TestExitStatus(t *testing.T) {
	r := start(t, shells(nil))
	for script, want := range map[string]int{
		"exit 0": 0, "exit 1": 1, "exit 42": 42, "exit 255": 255, "kill -KILL $$": 137, "kill -TERM $$": 143, "kill -SEGV $$": 139, "no-such-program-at-all 2>/dev/null": 127,
	} {
		r.ask(sh("%s", script)).wantOutput(t, "", want)
	}
	a := r.ask(sh("echo out; echo err >&2; exit 3"))
	a.wantOutput(t, "out\n", 3)
	if m := a.members(t); m["stderr"] != "err\n" || len(m) != 3 {
		t.Errorf("the answer is %v", m)
	}
	if kind := a.Header.Get("Content-Type"); kind != "application/json" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("its head is %v", a.Header)
	}
}

func TestDataEnvelope(t *testing.T) {
	r := start(t, shells(func(c *site.Config) { c.DataEnvelope = true }))
	a := r.ask(sh("echo x"))
	if want := `{"data":{"stdout":"x\n","stderr":"","returncode":0}}`; strings.TrimSpace(a.body) != want {
		t.Errorf("%s, want %s", a.body, want)
	}
	r.ask(run("/", "ls")).wantRefusal(t, "POST", 403, "not_allowed")
}

// What a command prints is told as it is, but for bytes that are no text.
func TestOutputText(t *testing.T) {
	r := start(t, shells(nil))
	for script, want := range map[string]string{
		`printf 'a\377b\303'`: "a\ufffdb\ufffd", `printf '\000\033[31m\r\n\t"<&>\\'`: "\x00\x1b[31m\r\n\t\"<&>\\", `printf ' x \n\n'`: " x \n\n",
		`printf '\342\200\250\357\273\277'`: "\u2028\ufeff",
	} {
		r.ask(sh("%s", script)).wantOutput(t, want, 0)
	}
}

// Both streams share one budget, in bytes as they were printed; a byte more is refused.
func TestOutputLimit(t *testing.T) {
	r := start(t, shells(func(c *site.Config) { c.Limits.OutputBytes = 1000 }))
	fill := func(n int, stream string) string {
		return fmt.Sprintf("head -c %d /dev/zero | tr '\\0' '\\377' %s;", n, stream)
	}
	r.ask(sh("%s", fill(1000, ""))).wantOutput(t, strings.Repeat("\ufffd", 1000), 0)
	r.ask(sh("%s %s", fill(600, ""), fill(400, ">&2"))).wantOutput(t, strings.Repeat("\ufffd", 600), 0)
	for _, script := range []string{fill(1001, ""), fill(1001, ">&2"), fill(600, "") + fill(401, ">&2")} {
		r.ask(sh("%s", script)).wantRefusal(t, "POST", 413, "output_too_large")
	}
}

// A command that never stops printing is stopped at once, and its output takes no more
// memory than its limit.
func TestEndlessOutput(t *testing.T) {
	r := start(t, shells(nil))
	r.ask(sh(":")) // what is built for the first call is built
	m := newMarker()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	r.ask(sh("setsid sleep %s & exec yes %s", m, m)).wantRefusal(t, "POST", 413, "output_too_large")
	if took := time.Since(began); took > soon {
		t.Errorf("refused after %s", took)
	}
	if left := m.alive(); left > 0 {
		t.Errorf("%d processes live", left)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 12<<20 {
		t.Errorf("it took %d bytes of memory", grown)
	}
}

// A command that takes too long is over with all it started when that is told, however
// it hides and whatever it holds on to.
func TestTimeout(t *testing.T) {
	const limit = time.Second
	r := start(t, shells(func(c *site.Config) { c.Limits.Timeout = limit }))
	for name, script := range map[string]string{
		"a session of its own": "setsid sleep %[1]s & sleep %[1]s",
		"deaf":                 `trap "" TERM; setsid sh -c 'trap "" TERM; while :; do sleep %[1]s; done' & while :; do sleep %[1]s; done`,
		"stopped":              "sleep %[1]s & kill -STOP $!; kill -STOP $$",
		"orphans":              "(sleep %[1]s &) ; (setsid sleep %[1]s &); exec sleep %[1]s",
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarker()
			began := time.Now()
			r.ask(sh(script, m)).wantRefusal(t, "POST", 408, "timeout")
			if took := time.Since(began); took < limit || took > soon {
				t.Errorf("answered after %s", took)
			}
			if left := m.alive(); left > 0 {
				t.Errorf("%d processes live", left)
			}
		})
	}
}

// What a command leaves behind ends with it and does not hold up its answer.
func TestNothingIsLeftBehind(t *testing.T) {
	r := start(t, shells(nil))
	r.ask(sh(":"))
	for name, script := range map[string]string{
		"holds the pipe":    "sleep %[1]s & echo done",
		"daemon":            "(setsid sleep %[1]s </dev/null >/dev/null 2>&1 &); echo done",
		"daemon with pipes": "(setsid sleep %[1]s &); echo done",
		"deaf":              `(trap "" TERM; exec setsid sleep %[1]s) & echo done`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarker()
			began := time.Now()
			r.ask(sh(script, m)).wantOutput(t, "done\n", 0)
			if took := time.Since(began); took > soon {
				t.Errorf("answered after %s", took)
			}
			if left := m.alive(); left > 0 {
				t.Errorf("%d processes live", left)
			}
		})
	}
}

// A command whose client goes away ends, in whatever way the client goes.
func TestClientGone(t *testing.T) {
	r := start(t, shells(nil))
	for _, reset := range []bool{false, true} {
		m := newMarker()
		c := r.send(sh("setsid sleep %[1]s & sleep %[1]s", m))
		within(t, patience, "the command runs", func() bool { return m.alive() >= 2 })
		if reset {
			if err := c.SetLinger(0); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
		within(t, patience, "it is dead", func() bool { return m.alive() == 0 })
		var notes []note
		within(t, patience, "its end is recorded", func() bool {
			notes = append(notes, r.book.take()...)
			return phases(notes) == "intent outcome"
		})
	}
}

// A client that has ended its own side still gets its answer.
func TestHalfClosedClient(t *testing.T) {
	r := start(t, shells(nil))
	c := r.send(sh("touch up; until [ -e go ]; do sleep 0.01; done; echo done"))
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	within(t, patience, "the command runs", func() bool { return r.has("up") })
	if err := os.WriteFile(filepath.Join(r.root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	from := newReader(c)
	a := r.read(from, "POST")
	for a.StatusCode == 100 { // sent to see whether it is there
		a = r.read(from, "POST")
	}
	a.wantOutput(t, "done\n", 0)
}

// More commands than may run wait their turn, and more than may wait are refused; pages
// are read all the while.
func TestConcurrency(t *testing.T) {
	for _, queue := range []int{-1, 1} {
		t.Run(strconv.Itoa(queue), func(t *testing.T) {
			r := start(t, shells(func(c *site.Config) { c.MaxConcurrent, c.MaxQueue = 1, queue }))
			wait := sh("echo >>up; until [ -e go ]; do sleep 0.01; done; echo done")
			clients := []io.Reader{r.send(wait)}
			within(t, patience, "the first runs", func() bool { return r.has("up") })
			for range max(queue, 0) {
				clients = append(clients, r.send(wait))
				within(t, patience, "it waits", func() bool { return len(r.book.peek()) == len(clients) })
			}
			a := r.ask(sh("touch ran"))
			a.wantRefusal(t, "POST", 503, "busy")
			if after, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || after < 1 {
				t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
			}
			if a := r.ask(get("/")); a.StatusCode != 200 || r.has("ran") {
				t.Errorf("reading: %d; ran: %v", a.StatusCode, r.has("ran"))
			}
			if err := os.WriteFile(filepath.Join(r.root, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, c := range clients {
				r.read(newReader(c), "POST").wantOutput(t, "done\n", 0)
			}
		})
	}
}

// Nothing is run that cannot be recorded, and pages are read nevertheless.
func TestFullDisk(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[touch, {}]")}})
	r.book.fill()
	for _, q := range []request{run("/", "touch", "ran"), run("/", "rm"), run("/nothing", "touch", "ran")} {
		a := r.ask(q)
		a.wantRefusal(t, "POST", 500, "internal")
		if r.has("ran") || strings.Contains(a.body, "/var/lib") {
			t.Fatalf("ran: %v; told: %s", r.has("ran"), a.body)
		}
	}
	if a := r.ask(get("/")); a.StatusCode != 200 {
		t.Errorf("reading: %d %s", a.StatusCode, a.body)
	}
}

// The same, with the log of this machine gone.
func TestLogIsGone(t *testing.T) {
	root, state := plant(t, map[string]string{"README.md": page("[touch, {}]")}), t.TempDir()
	h, err := site.New(site.Config{Root: root, StateDir: state, Sandbox: unconfined(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.(io.Closer).Close()
	if status := askHandler(h, run("/", "touch", "first")).Code; status != 200 {
		t.Fatal(status)
	}
	logs, err := filepath.Glob(filepath.Join(state, "audit", "*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%q, %v", logs, err)
	}
	if err := os.Remove(logs[0]); err != nil {
		t.Fatal(err)
	}
	if a := askHandler(h, run("/", "touch", "ran")); a.Code != 500 || !strings.Contains(a.Body.String(), `"code":"internal"`) {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	if _, err := os.Stat(filepath.Join(root, "ran")); err == nil {
		t.Error("it was run")
	}
	if a := askHandler(h, get("/")); a.Code != 200 {
		t.Errorf("reading: %d", a.Code)
	}
}

// With the built-in policy a command reads the site, and changes nothing of it.
func TestBuiltInPolicy(t *testing.T) {
	r := start(t, shells(func(c *site.Config) { c.Sandbox = site.Sandbox{} }))
	r.ask(sh("cat README.md | head -n 1")).wantOutput(t, "---\n", 0)
	before := r.tree()
	if a := r.ask(sh("touch ran; echo x >>README.md; rm -f README.md")); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if os.Getuid() == 0 && r.tree() != before { // anybody else owns the site, and may need a higher level
		t.Error("the site was changed")
	}
}
