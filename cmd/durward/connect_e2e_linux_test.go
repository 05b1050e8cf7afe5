//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// A connected is a client with what its user told it before.
type connected struct {
	client, file, text string
	// way leads to the servers in the file.
	way []string
}

var connections = []connected{
	{"claude-desktop", ".config/Claude/claude_desktop_config.json", "{\n  \"globalShortcut\": \"\",\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"other\"\n    }\n  }\n}\n", []string{"mcpServers"}},
	{"claude-code", ".claude.json", "{\n  \"numStartups\": 5,\n  \"projects\": {\n    \"/p\": {\"mcpServers\": {}}\n  }\n}", []string{"mcpServers"}},
	{"cursor", ".cursor/mcp.json", "\ufeff{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"url\": \"https://example.org\"}, // far\r\n\t},\r\n}\r\n", []string{"mcpServers"}},
	{"vscode", ".config/Code/User/mcp.json", "{\n    \"servers\": {},\n    \"inputs\": [],\n}\n", []string{"servers"}},
	{"windsurf", ".codeium/windsurf/mcp_config.json", "", []string{"mcpServers"}},
	{"codex", ".codex/config.toml", "model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"other\"\n\n[tui]\nnotifications = true\n", []string{"mcp_servers"}},
	{"gemini", ".gemini/settings.json", `{"theme":"x","mcpServers":{}}`, []string{"mcpServers"}},
	{"opencode", ".config/opencode/opencode.jsonc", "{\n  \"$schema\": \"https://opencode.ai/config.json\", // theirs\n  \"mcp\": {}\n}\n", []string{"mcp"}},
}

// What stands in a client's file afterwards starts a server whose tools are ours; undone, the file is what it was.
func TestWhatConnectWritesStartsOurTools(t *testing.T) {
	t.Parallel()
	program, packages := buildProgram(t), installClients(t)
	for _, c := range connections {
		t.Run(c.client, func(t *testing.T) {
			e := newEstate(t, program)
			file := e.path("home/" + c.file)
			plant(t, file, c.text)
			e.durward("connect", c.client, "--yes", "--policy", e.path("policy.yaml"))
			tools := c.inspect(t, e, packages)
			if want := []string{"cmd_run", "fs_read", "fs_write"}; !slices.Equal(tools, want) {
				t.Errorf("the Inspector lists %q from\n%s", tools, textOf(t, file))
			}
			e.deserted()
			e.durward("connect", c.client, "--yes", "--undo")
			if got := textOf(t, file); got != c.text {
				t.Errorf("%q became %q", c.text, got)
			}
		})
	}
}

// A client that starts a hub has the tools of all its servers.
func TestAConnectedHubOffersTheToolsOfItsServers(t *testing.T) {
	t.Parallel()
	program, packages := buildProgram(t), installClients(t)
	e := newEstate(t, program)
	c := connections[0]
	plant(t, e.path("home/"+c.file), c.text)
	e.durward("server", "add", "door", "--config", e.path("servers.json"), "--", e.path("durward"), "mcp", "--config", e.path("policy.yaml"))
	e.durward("connect", c.client, "--yes", "--hub", "--config", e.path("servers.json"), "--sandbox-dir", e.path("zone"))
	tools := c.inspect(t, e, packages)
	slices.Sort(tools)
	if want := []string{"cmd_run", "fs_read", "fs_write"}; !slices.Equal(tools, want) {
		t.Errorf("the Inspector lists %q from\n%s", tools, textOf(t, e.path("home/"+c.file)))
	}
	e.deserted()
	e.durward("connect", c.client, "--yes", "--undo")
	e.has("home/"+c.file, c.text)
}

// Codex itself reads what was written for it.
func TestCodexReadsWhatConnectWrites(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	codex := installPackages(t, "codex", npmPackages.codex).codex()
	e := newEstate(t, program)
	file := e.path("home/.codex/config.toml")
	plant(t, file, connections[5].text)
	e.durward("connect", "codex", "--yes", "--policy", e.path("policy.yaml"))
	e.durward("connect", "codex", "--yes", "--name", "hub", "--url", "http://127.0.0.1:8002", "--token-env", "HUB_TOKEN")
	get := exec.Command(codex, "mcp", "list", "--json")
	get.Dir, get.Env = e.path("home"), append(e.environment(), "CODEX_HOME="+e.path("home/.codex"))
	out, err := get.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var listed []struct {
		Name      string
		Enabled   bool
		Transport struct {
			Command              string
			Args                 []string
			URL                  string
			Bearer_token_env_var string
		}
	}
	fromJSON(t, string(out), &listed)
	found := 0
	for _, s := range listed {
		switch {
		case s.Name == "durward" && s.Enabled && s.Transport.Command == e.path("durward") && slices.Equal(s.Transport.Args, e.server()[1:]):
			found++
		case s.Name == "hub" && s.Enabled && s.Transport.URL == "http://127.0.0.1:8002/mcp" && s.Transport.Bearer_token_env_var == "HUB_TOKEN":
			found++
		}
	}
	if found != 2 || len(listed) != 3 {
		t.Errorf("codex lists %s", out)
	}
	e.durward("connect", "codex", "--yes", "--undo", "--name", "hub")
	e.durward("connect", "codex", "--yes", "--undo")
	e.has("home/.codex/config.toml", connections[5].text)
}

// durward runs a command of the estate's program, which has to go well.
func (e estate) durward(words ...string) {
	e.t.Helper()
	c := exec.Command(e.path("durward"), words...)
	c.Dir, c.Env = e.path("home"), append(e.environment(), "TMPDIR="+e.path("tmp"), "PATH="+e.dir+":"+os.Getenv("PATH"))
	if out, err := c.CombinedOutput(); err != nil {
		e.t.Fatalf("durward %q: %v: %s", words, err, out)
	}
}

// inspect has the Inspector start what the client's file says, and lists the tools.
func (c connected) inspect(t *testing.T, e estate, packages npmPackages) (names []string) {
	t.Helper()
	config := e.path("home/" + c.file)
	if entry, plain := c.entry(t, config); !plain {
		config = filepath.Join(t.TempDir(), "mcp.json")
		plant(t, config, inJSON(t, map[string]any{"mcpServers": map[string]any{"durward": entry}}))
	}
	run := packages.program(e, "mcp-inspector", "--cli", "--connect-timeout", "0", "--format", "json")
	out, failed := run(t, "--config", config, "--server", "durward", "--method", "tools/list")
	if failed {
		t.Fatal(out)
	}
	var said struct{ Result struct{ Tools []mcpTool } }
	fromJSON(t, out, &said)
	for _, tool := range said.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// entry reads the file as the client does. It is plain where the Inspector has the same format.
func (c connected) entry(t *testing.T, file string) (entry map[string]any, plain bool) {
	t.Helper()
	text := []byte(textOf(t, file))
	var whole map[string]any
	if c.client == "codex" {
		if err := toml.Unmarshal(text, &whole); err != nil {
			t.Fatal(err)
		}
	} else {
		plain = json.Valid(text) && c.way[0] == "mcpServers"
		standard, err := hujson.Standardize([]byte(strings.TrimPrefix(string(text), "\ufeff")))
		if err == nil {
			err = json.Unmarshal(standard, &whole)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(c.way, "durward") {
		whole, _ = whole[name].(map[string]any)
	}
	if words, all := whole["command"].([]any); all { // opencode's
		whole = map[string]any{"command": words[0], "args": words[1:]}
	}
	return whole, plain
}
