//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tries is a function of the shell: it says of something by its name whether it can be done.
const tries = `tries() { if (eval "$2") 2>/dev/null; then echo "$1: yes"; else echo "$1: no"; fi; }
`

// errand reads, and tries what a sandbox may refuse. It is told the house and an address.
const errand = tries + `cat greeting.txt; echo "$HOUSE"
tries inside 'echo it wrote >inside.txt'
tries outside 'echo it wrote >%[1]s/outside/file.txt'
tries git 'echo it wrote >.git/file.txt'
tries network 'exec 3<>/dev/tcp/%[2]s'
exit 3`

// Codex has durward run its commands, talk to them and change its files, and what it does not
// allow its commands does not happen.
func TestCodexWorksThroughAnExecServer(t *testing.T) {
	t.Parallel()
	program, codex := buildProgram(t), installPackages(t, "codex", npmPackages.codex).codex()
	for _, test := range []struct {
		name  string
		works func(h house)
	}{
		{"it confines nothing", codexMode{name: "danger-full-access", inside: true, outside: true, git: true, network: true}.isKept},
		{"it confines to the workspace", codexMode{name: "workspace-write", inside: true}.isKept},
		{"it lets read", codexMode{name: "read-only"}.isKept},
		{"it keeps secrets", codexKeepsSecrets},
		{"it comes back to its commands", codexComesBack},
		{"it is killed", codexIsKilled},
		{"it starts its server", codexStartsItsServer},
		{"it shows a token", codexShowsAToken},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // codex waits for a part of a second whether a command ends
			test.works(newHouse(t, program, codex))
		})
	}
}

// A codexMode is how far codex lets its commands go.
type codexMode struct {
	name                          string
	inside, outside, git, network bool
}

func (mode codexMode) isKept(h house) {
	server, address := h.serve()
	codex, m := h.work(confinedTo(mode.name), serverAt(address))
	mode.keepsCommands(h, m)
	h.talks(m)
	want := map[string]tally{"process/start": {done: 3}}
	if mode.inside { // else codex itself refuses
		maps.Copy(want, mode.keepsPatches(h, m))
	}
	about, _ := spoken(h.t, m.has("exec_command", arguments{"cmd": "tail -f " + h.path("workspace/greeting.txt"), "yield_time_ms": 250}))
	sessionIn(h.t, about)
	h.finish(codex, m)
	h.deserted()
	h.stop(server, address)
	h.hasOnRecord(want)
}

// keepsCommands runs the errand, and asks for what it changed.
func (mode codexMode) keepsCommands(h house, m *model) {
	h.t.Helper()
	about, printed := spoken(h.t, m.has("exec_command", arguments{"cmd": fmt.Sprintf(errand, h.dir, listens(h.t))}))
	want := greeting + "number nine\n"
	for _, try := range []struct {
		name, file string
		done       bool
	}{
		{"inside", "workspace/inside.txt", mode.inside},
		{"outside", "outside/file.txt", mode.outside},
		{"git", "workspace/.git/file.txt", mode.git},
		{"network", "", mode.network},
	} {
		answer, text := "no", ""
		if try.done {
			answer, text = "yes", "it wrote\n"
		}
		want += try.name + ": " + answer + "\n"
		if try.file != "" {
			h.has(try.file, text)
		}
	}
	if printed != want || !strings.Contains(about, "Process exited with code 3") {
		h.t.Errorf("the command printed %q, %q; want %q", printed, about, want)
	}
}

// listens gives an address for bash where somebody listens.
func listens(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return strings.Replace(l.Addr().String(), ":", "/", 1)
}

// talks has a command in a terminal answer.
func (h house) talks(m *model) {
	h.t.Helper()
	about, printed := spoken(h.t, m.has("exec_command", arguments{"cmd": `read -r line; echo "got:$line"; exit 7`, "tty": true, "yield_time_ms": 250}))
	session := sessionIn(h.t, about)
	about, rest := spoken(h.t, m.has("write_stdin", arguments{"session_id": session, "chars": "ping\n", "yield_time_ms": 30000}))
	if printed += rest; printed != "ping\r\ngot:ping\r\n" || !strings.Contains(about, "Process exited with code 7") {
		h.t.Errorf("the terminal shows %q, %q", printed, about)
	}
}

// sessionIn gives the number by which codex calls a command that goes on.
func sessionIn(t *testing.T, about string) int {
	t.Helper()
	found := regexp.MustCompile(`Process running with session ID (\d+)`).FindStringSubmatch(about)
	if found == nil {
		t.Fatalf("the command does not go on: %s", about)
	}
	session, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// keepsPatches adds, changes, moves and deletes files, and tries it through a link that leads
// outside. It gives how codex does that.
func (mode codexMode) keepsPatches(h house, m *model) map[string]tally {
	h.t.Helper()
	isDone := func(got string, files ...string) {
		h.t.Helper()
		if want := "Success. Updated the following files:\n" + strings.Join(files, "\n") + "\n"; !strings.HasSuffix(got, want) {
			h.t.Errorf("the patch ends with %q; want %q", got, want)
		}
	}
	isDone(m.patches("*** Add File: new/file.txt", "+first", "+naïve 漢字",
		"*** Update File: greeting.txt", "@@", " hello", "-old line", "+new line", " bye"), "A new/file.txt", "M greeting.txt")
	h.has("workspace/new/file.txt", "first\nnaïve 漢字\n")
	h.has("workspace/greeting.txt", "hello\nnew line\nbye\n")

	isDone(m.patches("*** Delete File: inside.txt",
		"*** Update File: new/file.txt", "*** Move to: moved.txt", "@@", "-first", "+one"), "M moved.txt", "D inside.txt")
	h.has("workspace/inside.txt", "")
	h.has("workspace/new/file.txt", "")
	h.has("workspace/moved.txt", "one\nnaïve 漢字\n")

	got := m.patches("*** Add File: link/file2.txt", "+it wrote")
	if mode.outside {
		isDone(got, "A link/file2.txt")
		h.has("outside/file2.txt", "it wrote\n")
		return map[string]tally{"fs/writeFile": {4, 1}, "fs/createDirectory": {done: 1}, "fs/remove": {done: 2}}
	}
	if !strings.Contains(got, "Failed to write file") {
		h.t.Errorf("the patch ends with %q", got)
	}
	h.has("outside/file2.txt", "")
	return map[string]tally{"fs/writeFile": {3, 2}, "fs/createDirectory": {done: 1}, "fs/remove": {done: 2}}
}

// A profile of codex has its workspace changed, and some of it neither read nor changed. Of the
// rest of the machine only what programs need can be read.
const keepingSecrets = `default_permissions = "secrets"
[permissions.secrets.filesystem]
":minimal" = "read"
[permissions.secrets.filesystem.":project_roots"]
"." = "write"
"letters" = "read"
"private.txt" = "deny"
"**/*.key" = "deny"`

// What a profile denies by its name or by a pattern is neither read nor written, by commands
// and by patches.
func codexKeepsSecrets(h house) {
	for _, name := range []string{"workspace/private.txt", "workspace/a.key", "workspace/deep/down/b.key", "workspace/letters/c.txt", "outside/d.txt"} {
		h.plants(name, "told\n")
	}
	server, address := h.serve()
	codex, m := h.work(keepingSecrets, serverAt(address))
	_, printed := spoken(h.t, m.has("exec_command", arguments{"cmd": fmt.Sprintf(tries+`
for file in private.txt a.key deep/down/b.key letters/c.txt %[1]s/outside/d.txt; do tries "$file" 'cat $file'; done
for file in private.txt a.key deep/down/b.key letters/c.txt deep/e.txt; do tries "$file" 'echo lost >>$file'; done
tries moved 'mv deep/down/b.key x.txt && cat x.txt'`, h.dir)}))
	if want := fmt.Sprintf(`private.txt: no
a.key: no
deep/down/b.key: no
told
letters/c.txt: yes
%[1]s/outside/d.txt: no
private.txt: no
a.key: no
deep/down/b.key: no
letters/c.txt: no
deep/e.txt: yes
moved: no
`, h.dir); printed != want {
		h.t.Errorf("the command printed %q; want %q", printed, want)
	}
	for _, name := range []string{"private.txt", "a.key", "deep/down/b.key", "letters/c.txt"} {
		if got := m.patches("*** Update File: "+name, "@@", "-told", "+lost"); strings.Contains(got, "Success") {
			h.t.Errorf("the patch of %s ends with %q", name, got)
		}
		h.has("workspace/"+name, "told\n")
	}
	h.has("workspace/deep/e.txt", "lost\n")
	h.finish(codex, m)
	h.deserted()
	h.stop(server, address)
	h.hasOnRecord(map[string]tally{"process/start": {done: 1}})
}

// When the connection is lost while a command is talked to, codex takes its session up again:
// the command goes on, and is told everything once.
func codexComesBack(h house) {
	server, address := h.serve()
	w := newWire(h.t, address)
	codex, m := h.work(confinedTo("danger-full-access"), serverAt(w.address))
	about, printed := spoken(h.t, m.has("exec_command", arguments{"cmd": `read -r a; echo "$a" >heard; read -r b; echo "$a,$b"`, "tty": true, "yield_time_ms": 250}))
	session := sessionIn(h.t, about)
	w.deafen()
	call := m.begin("write_stdin", arguments{"session_id": session, "chars": "ping\n", "yield_time_ms": 250})
	awaitText(h.t, func() string { text, _ := os.ReadFile(h.path("workspace/heard")); return string(text) }, "^ping\n$")
	w.cut()
	_, more := spoken(h.t, m.outcome(call))
	about, rest := spoken(h.t, m.has("write_stdin", arguments{"session_id": session, "chars": "pong\n", "yield_time_ms": 30000}))
	if printed += more + rest; printed != "ping\r\npong\r\nping,pong\r\n" || !strings.Contains(about, "Process exited with code 0") {
		h.t.Errorf("the terminal shows %q, %q", printed, about)
	}
	h.finish(codex, m)
	h.deserted()
	h.stop(server, address)
	h.hasOnRecord(map[string]tally{"process/start": {done: 1}})
}

// When codex is killed, nothing of its commands is left once its session is over, and the
// server goes on.
func codexIsKilled(h house) {
	server, address := h.serve("--session-grace", "1")
	killed, m := h.work(confinedTo("workspace-write"), serverAt(address))
	about, _ := spoken(h.t, m.has("exec_command", arguments{"cmd": "tail -f " + h.path("workspace/greeting.txt"), "yield_time_ms": 250}))
	sessionIn(h.t, about)
	if err := killed.cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	<-killed.ended
	h.deserted()
	codex, m := h.work(confinedTo("workspace-write"), serverAt(address))
	h.talks(m)
	h.finish(codex, m)
	h.stop(server, address)
	h.hasOnRecord(map[string]tally{"process/start": {done: 2}})
}

// Codex starts its server itself, and that ends with it.
func codexStartsItsServer(h house) {
	h.hasEnvironment("program = %q\nargs = [\"exec-server\", \"--listen\", \"stdio\"]\nenv = {HOUSE = \"number nine\", DURWARD_STATE_DIR = %q}\n", h.durward, h.path("state"))
	h.isUsed()
	awaitEnds(h.t, h.durward+"\x00exec-server\x00--listen\x00stdio")
	h.hasOnRecord(map[string]tally{"process/start": {done: 1}})
}

// A server asks for a token, which codex has.
func codexShowsAToken(h house) {
	const token = "a-token-of-some-length-0123456789"
	plant(h.t, h.path("token"), token)
	if err := os.Chmod(h.path("token"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	server, address := h.serve("--ws-auth", "capability-token", "--ws-token-file", h.path("token"))
	h.hasEnvironment("url = \"ws://%s\"\nauth_bearer_token = %q\n", address, token)
	h.isUsed()
	h.stop(server, address)
	h.hasOnRecord(map[string]tally{"process/start": {done: 1}})
}

// hasEnvironment tells codex by a file where the one place is that it works in.
func (h house) hasEnvironment(where string, args ...any) {
	h.t.Helper()
	plant(h.t, h.path("codex/environments.toml"), "default = \"here\"\ninclude_local = false\n[[environments]]\nid = \"here\"\n"+fmt.Sprintf(where, args...))
}

// isUsed has codex run one command in the place that its file tells of.
func (h house) isUsed() {
	h.t.Helper()
	codex, m := h.work(confinedTo("workspace-write"))
	if _, printed := spoken(h.t, m.has("exec_command", arguments{"cmd": `echo "$HOUSE"`})); printed != "number nine\n" {
		h.t.Errorf("the command printed %q", printed)
	}
	h.finish(codex, m)
	h.deserted()
}
