//go:build amd64 || arm64

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// recorded is what a recorder prints: one that cannot write its note is seen by it.
const recorded = "RECORDER-31d7c0"

// recorders are the names of programs that anybody may be tempted to start.
var recorders = strings.Fields(`bash bun cat claude code codex curl deno docker durward editor env git go java ls make mdmcpsrvr nano node npm npx
open opencode perl pip pipx podman python python3 rg ruby sensible-editor sh sleep ssh statespace sudo systemctl tee true uv uvx vi vim wget which xdg-open zsh`)

// A hostileFolder is a folder as somebody may have been given it: all that durward or a client of
// it could take for its configuration is there, and wants to start something.
//
//	project/       the folder, with programs of its own in project/bin
//	front/         programs that stand first in PATH
//	homes/         a home for each run
//	ran            what the programs write
type hostileFolder struct {
	t    *testing.T
	root string
}

func newHostileFolder(t *testing.T) hostileFolder {
	t.Helper()
	h := hostileFolder{t, openDir(t)}
	for _, dir := range []string{"homes", "away"} {
		must(t, os.Mkdir(h.path(dir), 0o700))
	}
	plant(t, h.path("ran"), "")
	must(t, os.Chmod(h.path("ran"), 0o666)) // commands may be somebody else
	for _, dir := range []string{"front", "project/bin", "project/.git/hooks"} {
		for _, name := range append([]string{"pre-commit", "fsmonitor"}, recorders...) {
			file := h.path(dir, name)
			plant(t, file, fmt.Sprintf("#!/bin/sh\necho %s \"$0\"\necho \"$0 $*\" >>%s\n", recorded, h.path("ran")))
			must(t, os.Chmod(file, 0o755))
		}
	}
	servers := `"npx": {"command": "npx", "args": ["-y", "evil"]}, "near": {"command": "./bin/node"}, "shell": {"command": "sh", "args": ["-c", "git status"]}`
	tools := `{"servers": [{"name": "npx", "command": "npx"}, {"name": "near", "command": "../bin/node"}, {"name": "shell", "command": "sh", "args": ["-c", "git status"]}]}`
	for name, text := range map[string]string{
		"durward.yaml":               "audit: {args: plain, keep: 1}\n",
		"config.yaml":                "audit: {args: plain}\n",
		"policy.yaml":                "version: 1\nallowedRoots: [/proc/self/cwd]\ncommands: [{id: git, exec: ./bin/git}, {id: rg, exec: rg}]\n",
		"config/mcp_servers.json":    tools,
		"config/config.yaml":         "audit: {args: plain}\n",
		".mcp.json":                  `{"mcpServers": {` + servers + `}}`,
		".cursor/mcp.json":           `{"mcpServers": {` + servers + `}}`,
		".vscode/mcp.json":           `{"servers": {` + servers + `}}`,
		".vscode/settings.json":      `{"git.path": "bin/git"}`,
		".gemini/settings.json":      `{"mcpServers": {` + servers + `}}`,
		".claude/settings.json":      `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "bin/git"}]}]}}`,
		".codex/config.toml":         "[mcp_servers.npx]\ncommand = \"npx\"\n",
		"opencode.json":              `{"mcp": {"npx": {"type": "local", "command": ["npx"], "enabled": true}}}`,
		"claude_desktop_config.json": `{"mcpServers": {` + servers + `}}`,
		"statespace.toml":            "path = \"bin\"\n",
		"site.toml":                  "path = \"bin\"\n",
		"README.md":                  "---\ntools:\n  - [git]\n  - [./bin/git]\n---\nhello\n",
		"AGENTS.md":                  "run git\n",
		".env":                       "PATH=bin\nLD_PRELOAD=bin/evil.so\nMCP_CONFIG_PATH=config/mcp_servers.json\nEDITOR=bin/vi\n",
		".envrc":                     "bin/git\n",
		".git/config":                "[core]\n\tfsmonitor = .git/hooks/fsmonitor\n\thooksPath = .git/hooks\n\tpager = bin/git\n",
		".git/HEAD":                  "ref: refs/heads/main\n",
		"Makefile":                   "all:\n\tbin/git\n",
		"package.json":               `{"scripts": {"preinstall": "bin/git"}}`,
		"requests.jsonl":             `{"jsonrpc":"2.0","id":1,"method":"cmd.run","params":{"commandId":"git"}}` + "\n",
	} {
		plant(t, h.path("project", name), text)
	}
	must(t, os.CopyFS(h.path("project/domain"), os.DirFS("../../domain")))
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h hostileFolder) path(names ...string) string {
	return filepath.Join(append([]string{h.root}, names...)...)
}

// A hostileRun is how one command is run in the folder.
type hostileRun struct {
	args   string
	status int
	// until is what a command that serves says when it does; then it is ended by SIGTERM.
	until string
	// env comes on top; a PATH takes the place of the usual one.
	env []string
}

// relativePath is a PATH that leads into the folder before all else, if it is followed there.
const relativePath = "PATH=bin:.::project/bin:/usr/bin:/bin"

// hostileRuns has the arguments that each command wants at least, after its name. What is named is
// what a person might name there; no program of the folder is among it.
var hostileRuns = map[string][]hostileRun{
	"":                   {{}, {args: "--version"}, {args: "help"}, {args: "__complete hub --config ''"}, {args: "__complete serve ''"}, {args: "__complete trust remove ''"}},
	"audit":              {{}},
	"audit export":       {{}},
	"audit search":       {{}},
	"audit show":         {{args: "0192aaaa-0000-7000-8000-000000000000", status: 7}},
	"audit tail":         {{}},
	"audit verify":       {{}},
	"cmd":                {{}},
	"cmd add":            {{args: "git --exec /bin/true"}, {args: "git --exec true", env: []string{relativePath}}},
	"cmd list":           {{}},
	"cmd remove":         {{args: "git", status: 1}, {args: "uname"}},
	"completion":         {{args: "bash"}, {args: "zsh"}},
	"connect":            {{args: "claude-code --dry-run", status: 2}, {args: "cursor --url http://127.0.0.1:8002 --yes"}, {args: "vscode --undo --yes", status: 7}},
	"doctor":             {{}, {env: []string{relativePath}}, {args: "--policy policy.yaml", status: 3, env: []string{relativePath}}},
	"egress-check":       {{args: shut}, {args: shut + " -- true", status: 7, env: []string{relativePath}}},
	"egress-proxy":       {{args: "--port 0 --health-port 0", until: `"`}},
	"exec":               {{args: "-- true"}, {args: "-- true", env: []string{relativePath}}, {args: "--write . -- true", env: []string{relativePath}}, {args: "--cow --yes -- true"}},
	"exec-server":        {{until: "ws://"}, {args: "--listen stdio"}},
	"explain":            {{args: "-- git status", env: []string{relativePath}}},
	"gateway":            {{args: "--port 0", until: "Serving on"}},
	"gateway validate":   {{}},
	"health":             {{args: "http://127.0.0.1:1/", status: 8}},
	"hub":                {{args: "--port 0", status: 10}, {args: "--stdio", status: 10}, {args: "--port 0 --sandbox-dir .", status: 10, env: []string{relativePath}}},
	"import":             {{args: ".mcp.json --dry-run"}, {args: "claude-code", status: 7}, {args: "opencode.json --dry-run"}, {args: ".codex/config.toml --dry-run"}},
	"init":               {{args: "../away/site"}, {args: "--dry-run"}},
	"install":            {{args: "--local-path . --dest ../away", status: 4}, {args: "--local-path . --insecure-skip-verify --dest ../away", status: 1}},
	"links":              {{args: "../away"}, {args: "--dry-run ."}},
	"mcp":                {{args: "--files ."}, {args: "--files . --log-level debug", env: []string{relativePath}}},
	"policy":             {{}},
	"policy add-root":    {{args: "."}},
	"policy edit":        {{status: 2}, {env: []string{"EDITOR=ls", relativePath}}, {env: []string{"VISUAL=ls -l", relativePath}}},
	"policy explain":     {{args: `--tool fs.read --params {"path":"/usr/none"}`, status: 7}},
	"policy remove-root": {{args: ".", status: 2}},
	"policy schema":      {{}},
	"policy show":        {{}},
	"policy validate":    {{}, {args: "--policy policy.yaml", status: 3}},
	"run":                {{args: "-- requests.jsonl"}, {args: "-- requests.jsonl", env: []string{relativePath}}},
	"serve":              {{args: ". -p 0", until: "Serving on"}, {args: ". --check"}},
	"server":             {{}},
	"server add":         {{args: "mine --dry-run -- true"}},
	"server approve":     {{status: 10}, {args: "npx --yes", status: 10}},
	"server diff":        {{status: 10}, {args: "npx", status: 10}},
	"server list":        {{}},
	"server logs":        {{args: "npx", status: 8}},
	"server remove":      {{args: "npx --dry-run"}},
	"server restart":     {{args: "npx", status: 8}},
	"server test":        {{args: "npx", status: 10}, {args: "near --sandbox-dir .", status: 10, env: []string{relativePath}}},
	"tools":              {{status: 10}},
	"trust":              {{}},
	"trust add":          {{status: 2}, {args: "--dry-run"}, {args: "--yes"}},
	"trust list":         {{}},
	"trust remove":       {{args: "durward.yaml", status: 7}},
	"update":             {{args: "--local-path . --dest ../away", status: 4}, {args: "--rollback --dest ../away", status: 1}},
	"version":            {{}},
	"worker":             {{}},
	"worker firecrawl":   {{args: "--port 0", until: "Serving on"}},
}

// shut has nothing but ports that nobody listens at.
const shut = "--host 127.0.0.1:1 --address 127.0.0.1:1 --inside 127.0.0.1:1 --ipv6 [::1]:1 --dns 127.0.0.1:1 --udp 127.0.0.1:1 --proxy http://127.0.0.1:1"

// No command starts anything because of what is in a folder that came from somewhere else, nor does
// one change that; and those that serve end when they are told to. With trust the same folder does
// start something.
func TestAHostileFolderStartsNothing(t *testing.T) {
	h := newHostileFolder(t)
	before := h.snapshot()
	found := commandsBelow(t, "")
	for _, command := range found {
		runs, known := hostileRuns[command]
		if !known {
			t.Errorf("durward %s is not in hostileRuns: say there with which arguments it is run in a folder that is not to be trusted", command)
		}
		for _, r := range runs {
			h.run(command, r)
			h.nothingRan(command + " " + r.args)
			if after := h.snapshot(); after != before {
				t.Errorf("durward %s %s changed the folder:\n%s", command, r.args, changesOf(before, after))
				before = after
			}
		}
	}
	for command := range hostileRuns {
		if !slices.Contains(found, command) {
			t.Errorf("there is no durward %s any more", command)
		}
	}

	must(t, os.Symlink(h.path("project"), h.path("link")))
	h.inDir("link", "hub", hostileRun{args: "--port 0", status: 10})
	h.nothingRan("hub by a link")

	state := []string{"DURWARD_STATE_DIR=" + h.path("homes/control")}
	h.run("trust add", hostileRun{args: "config/mcp_servers.json --yes", env: state})
	h.nothingRan("trust add")
	h.run("server test", hostileRun{args: "near", status: 8, env: state})
	if text, err := os.ReadFile(h.path("ran")); err != nil || !strings.Contains(string(text), "project/bin/node") {
		t.Errorf("a server of a folder that was trusted left %q, %v", text, err)
	}
	if h.snapshot() != before {
		t.Error("the test of a server changed the folder")
	}
}

// run runs a command in the folder and looks at how it ends.
func (h hostileFolder) run(command string, r hostileRun) { h.inDir("project", command, r) }

func (h hostileFolder) inDir(dir, command string, r hostileRun) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c := program(h.t, append(strings.Fields(command), words(r.args)...)...)
	home, err := os.MkdirTemp(h.path("homes"), "")
	must(h.t, err)
	plant(h.t, filepath.Join(home, ".config/durward/policy.yaml"), "version: 1\nallowedRoots: [/usr]\ncommands: [{id: uname, exec: uname}]\n")
	c.Dir, c.Env = h.path(dir), append([]string{
		"HOME=" + home, "DURWARD_STATE_DIR=" + filepath.Join(home, "state"), "PATH=" + h.path("front") + ":bin:.::/usr/bin:/bin", "PORT=1",
		"SANDBOX_DIRECTORY=" + h.path("away"), "TMPDIR=" + h.path("away"), "GORACE=atexit_sleep_ms=0", "PWD=" + h.path(dir),
	}, r.env...)
	var told lockedBuffer
	c.Stdout, c.Stderr = &told, &told
	c.WaitDelay = time.Second
	ended := make(chan error, 1)
	must(h.t, c.Start())
	go func() { ended <- c.Wait() }()
	if r.until != "" {
		eventually(h.t, command+" says "+r.until, func() bool { return strings.Contains(told.String(), r.until) || len(ended) > 0 })
		must(h.t, c.Process.Signal(syscall.SIGTERM))
		r.status = 0
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = c.Process.Kill()
		err = errors.Join(<-ended, ctx.Err())
	}
	status := c.ProcessState.ExitCode()
	if status != r.status || ctx.Err() != nil {
		h.t.Errorf("durward %s %s: status %d, want %d: %v\n%s", command, r.args, status, r.status, err, told.String())
	}
	if strings.Contains(told.String(), recorded) {
		h.t.Errorf("durward %s %s has started something:\n%s", command, r.args, told.String())
	}
}

// words splits arguments; two quotes are an empty one.
func words(text string) []string {
	list := strings.Fields(text)
	for i, word := range list {
		if word == "''" {
			list[i] = ""
		}
	}
	return list
}

func (h hostileFolder) nothingRan(command string) {
	h.t.Helper()
	text, err := os.ReadFile(h.path("ran"))
	must(h.t, err)
	if len(text) > 0 {
		h.t.Errorf("durward %s has started something: %s", command, text)
		must(h.t, os.Truncate(h.path("ran"), 0))
	}
}

// snapshot tells everything that is in the folder, a line for each file.
func (h hostileFolder) snapshot() string {
	h.t.Helper()
	var b strings.Builder
	must(h.t, filepath.WalkDir(h.path("project"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %v %x\n", path, info.Mode(), info.ModTime().UnixNano(), sha256.Sum256(text))
		return err
	}))
	return b.String()
}

// changesOf lists the lines that only one of two snapshots has.
func changesOf(before, after string) string {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	var lines []string
	for _, line := range was {
		if !slices.Contains(is, line) {
			lines = append(lines, "-"+line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			lines = append(lines, "+"+line)
		}
	}
	return strings.Join(lines, "\n")
}

// commandsBelow lists a command and all below it, as the help has them.
func commandsBelow(t *testing.T, command string) []string {
	t.Helper()
	text, err := program(t, append(strings.Fields(command), "--help")...).Output()
	must(t, err)
	all, section := []string{command}, ""
	for line := range strings.Lines(string(text)) {
		switch name := strings.Fields(line); {
		case !strings.HasPrefix(line, "  "):
			section = strings.TrimSpace(line)
		case section == "Commands:" && name[0] != "help":
			all = append(all, commandsBelow(t, strings.TrimSpace(command+" "+name[0]))...)
		}
	}
	return all
}

// A lockedBuffer takes what is printed while somebody looks at it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
