//go:build amd64 || arm64

package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

const (
	mcpPage  = "../../docs/mcp.md"
	snippets = "../../examples/client-snippets/"
)

// TestTheExampleSessionGoesAsItIsWritten makes what the page asks for and sends what it
// shows, to one server for each of its parts.
func TestTheExampleSessionGoesAsItIsWritten(t *testing.T) {
	page := snippets + "mcp-example-session.md"
	_, parts, _ := strings.Cut(textOf(t, page), "\n## ")
	sections := strings.Split(parts, "\n## ")
	if len(sections) != 3 {
		t.Fatalf("the page has %d parts", len(sections))
	}
	for _, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) {
			dir := openDir(t)
			plant(t, filepath.Join(dir, "policy.yaml"), blocksOf(t, page, "yaml")[0])
			lines := strings.Split(strings.TrimSpace(blocksOf(t, page, "sh")[0]), "\n")
			last := len(lines) - 1
			in := func(c *exec.Cmd) {
				c.Dir, c.Env = dir, append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
			}
			first := exec.Command("sh", "-ec", strings.Join(lines[:last], "\n"))
			in(first)
			if out, err := first.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			goes(t, talkWith(t, strings.Fields(lines[last]), in), section)
		})
	}
}

// goes has a session go as the blocks of a text show it.
func goes(t *testing.T, d *talk, text string) {
	t.Helper()
	arrow := regexp.MustCompile(`(?m)^[→←] `)
	for _, block := range blocksIn(text, "") {
		messages := arrow.Split(block, -1)[1:]
		for i, direction := range arrow.FindAllString(block, -1) {
			if direction == "→ " {
				d.sends([]byte(messages[i]))
			} else {
				d.gets([]byte(messages[i]))
			}
		}
	}
	d.ends()
	if shown := len(arrow.FindAllString(text, -1)); shown < 6 || len(blocksIn(text, "")) == 0 {
		t.Errorf("only %d messages are shown", shown)
	}
}

// TestTheExampleRequestsAreAnsweredAsWritten sends each to a server that loads the example
// of a policy as it is, in a home that has what it names.
func TestTheExampleRequestsAreAnsweredAsWritten(t *testing.T) {
	var all struct {
		About    []string
		Examples []struct {
			Title           string
			Request, Answer json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(textOf(t, snippets+"mcp-example-requests.json")), &all); err != nil {
		t.Fatal(err)
	}
	home := exampleHome(t)
	line := strings.Fields(all.About[1][strings.Index(all.About[1], "durward mcp"):])
	line[0] = copyOfProgram(t, home)
	d := talkWith(t, line, func(c *exec.Cmd) {
		c.Dir = filepath.Join(home, "code", "durward")
		c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "DURWARD_STATE_DIR="+filepath.Join(home, "state"))
		asStranger(t, c, home)
	})
	for _, one := range all.Examples {
		t.Log(one.Title)
		d.sends(one.Request)
		d.gets(one.Answer)
	}
	d.ends()
	if len(all.Examples) < 5 {
		t.Errorf("there are %d examples", len(all.Examples))
	}
	if text, err := os.ReadFile(filepath.Join(home, "code", "scratch", "out.txt")); string(text) != "Hello" {
		t.Errorf("%q was written: %v", text, err)
	}
	if log, err := os.ReadFile(filepath.Join(home, ".mcp", "mdmcpsrvr.log.jsonl")); strings.Count(string(log), `"phase":"deny"`) != 2 {
		t.Errorf("the log that the policy names is %q: %v", log, err)
	}
	const skipped = "allowedRoots[1]: C:/Users/martin/Projects is a path of another system and is skipped"
	if !strings.Contains(d.noted.String(), skipped) {
		t.Errorf("nothing is said of the root that Windows has: %s", d.noted)
	}
}

// exampleHome makes the home that the example of a policy and the example requests speak of.
func exampleHome(t *testing.T) string {
	t.Helper()
	home := openDir(t)
	for _, program := range []string{"/bin/ls", "/usr/bin/git", "/usr/bin/rg"} {
		if _, err := os.Stat(program); err != nil {
			t.Fatalf("%v; scripts/need git rg", err)
		}
	}
	plant(t, filepath.Join(home, "code", "durward", "examples", "policy.example.yaml"), textOf(t, "../../examples/policy.example.yaml"))
	project := filepath.Join(home, "code", "project")
	plant(t, filepath.Join(project, "README.md"), "# Project\n")
	for _, words := range []string{"init -q -b main", "add README.md", "-c user.name=me -c user.email=me@example.org commit -q -m begin"} {
		git := exec.Command("git", strings.Fields(words)...)
		git.Dir, git.Env = project, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", words, err, out)
		}
	}
	return home
}

// copyOfProgram gives a copy that whoever may enter a directory may run.
func copyOfProgram(t *testing.T, dir string) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	name := filepath.Join(dir, "durward")
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// asStranger has a command run as somebody whom no user database knows, whose home is
// what HOME says, and gives them that directory.
func asStranger(t *testing.T, c *exec.Cmd, home string) {
	t.Helper()
	const id = 61234
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = id, id // root itself must not be behind it: its commands would be refused
	}
	if err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, gid))
	}); err != nil {
		t.Fatal(err)
	}
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: gid, Size: 1}},
		Credential:  &syscall.Credential{Uid: id, Gid: id, NoSetGroups: true},
	}
}

// TestClientsStartTheServer starts what the configurations of clients name, with another
// policy, and says hello.
func TestClientsStartTheServer(t *testing.T) {
	dir := openDir(t)
	policy := filepath.Join(dir, "policy.yaml")
	plant(t, policy, "version: 1\nallowedRoots: [/proc/self/cwd]\n")
	for name, text := range clientConfigurations(t) {
		d := talkWith(t, serverIn(t, name, text, policy), func(c *exec.Cmd) {
			c.Dir, c.Env = dir, append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(dir, "state"))
		})
		d.sends([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`))
		d.gets([]byte(`{"jsonrpc":"2.0","id":1,"result":"…"}`))
		d.ends()
	}
}

// clientConfigurations gives those of the examples and those that pages show.
func clientConfigurations(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{"claude-desktop.json", "vscode.json", "codex.toml"} {
		found[name] = textOf(t, snippets+name)
	}
	for _, page := range []string{"README.md", "docs/mcp.md"} {
		for _, block := range blocksOf(t, "../../"+page, "") {
			if strings.HasPrefix(block, `{"mcpServers"`) {
				found[page] = block
			}
		}
		if found[page] == "" {
			t.Errorf("%s shows no configuration of a client", page)
		}
	}
	return found
}

// serverIn gives the command line of the one server that a configuration has.
func serverIn(t *testing.T, name, text, policy string) []string {
	t.Helper()
	type server struct {
		Type, Command string
		Args          []string
	}
	var all map[string]map[string]server
	decode := json.Unmarshal
	if strings.HasSuffix(name, ".toml") {
		decode = toml.Unmarshal
	}
	if err := decode([]byte(text), &all); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, servers := range all {
		for _, s := range servers {
			const shown = "/home/me/policy.yaml"
			at := slices.Index(s.Args, shown)
			if len(all) != 1 || len(servers) != 1 || at < 0 {
				t.Fatalf("%s does not name one server with the policy %s", name, shown)
			}
			s.Args[at] = policy
			return append([]string{s.Command}, s.Args...)
		}
	}
	t.Fatalf("%s names no server", name)
	return nil
}

// TestTheMCPPageShowsWhatCommandsPrint runs each command that docs/mcp.md shows, in a
// directory that has what they name, and compares what it prints.
func TestTheMCPPageShowsWhatCommandsPrint(t *testing.T) {
	shell := sandboxShell(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	shell("mkdir examples && cp " + root + "/examples/policy.quickstart.yaml examples && cp " + root + "/go.mod .")
	shell("cat > rg.yaml <<'.'\n" + blocksOf(t, mcpPage, "yaml")[0] + ".\n")
	commands := commandsOn(t, mcpPage)
	for _, c := range commands {
		if diff := cmp.Diff(settled(c.shown), settled(shell(c.line))); diff != "" {
			t.Errorf("%s: the page shows (-), it prints (+):\n%s", c.line, diff)
		}
	}
	if len(commands) != 6 {
		t.Errorf("%d commands were found", len(commands))
	}
}
