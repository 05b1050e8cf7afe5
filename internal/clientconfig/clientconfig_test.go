package clientconfig

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// texts of each client, as its manual shows them.
var formats = []struct {
	client Client
	file   string
	text   string
	want   Found
}{
	{ClaudeDesktop, "claude_desktop_config.json", `{
  // a comment
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "x", "/home/a"], "env": {"A": "b", "N": 5},},
  },
  "globalShortcut": ""
}`, Found{Servers: []Server{{Name: "files", Command: "npx", Args: []string{"-y", "x", "/home/a"}, Env: []Pair{{"A", "b"}, {"N", "5"}}}}}},
	{ClaudeCode, ".claude.json", `{"numStartups": 5, "mcpServers": {"far": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T:-x}"}},
  "old": {"type": "sse", "url": "https://h/sse", "headersHelper": "x"}},
 "projects": {"/p": {"mcpServers": {"local": {"type": "stdio", "command": "l"}}}, "/q": {"mcpServers": {"other": {"command": "o"}}}}}`, Found{Servers: []Server{
		{Name: "far", Type: "http", URL: "https://h/mcp", Headers: []Pair{{"Authorization", "Bearer ${T:-x}"}}},
		{Name: "old", Type: "sse", URL: "https://h/sse", Left: []Left{{"mcpServers.old.headersHelper", "durward has nothing like it"}}},
		{Name: "local", Command: "l"},
	}}},
	{Cursor, "mcp.json", `{"mcpServers": {"c": {"command": "${userHome}/c", "args": ["${workspaceFolder}", "${env:K}", "${pathSeparator}"], "envFile": ".env", "cwd": "d"}}}`, Found{Servers: []Server{{
		Name: "c", Command: "${userHome}/c", Args: []string{"${workspaceFolder}", "${env:K}", "${pathSeparator}"}, EnvFile: ".env", Dir: "d", Left: []Left{
			{"mcpServers.c.args[0]", "${workspaceFolder} is the sandbox directory of the hub"},
			{"mcpServers.c.args[2]", "it has a reference that means nothing here"},
		},
	}}}},
	{VSCode, "mcp.json", `{"inputs": [{"type": "promptString", "id": "api-key", "password": true}], "servers": {
  "asks": {"type": "stdio", "command": "x", "env": {"KEY": "${input:api-key}"}, "dev": {"watch": "x"}}, "far": {"type": "http", "url": "https://h"}}}`, Found{
		Left: []Left{{"inputs[0]", "nobody is asked for api-key; the variable API_KEY stands for it"}},
		Servers: []Server{
			{Name: "asks", Command: "x", Env: []Pair{{"KEY", "${API_KEY}"}}, Asked: []string{"API_KEY"}, Left: []Left{{"servers.asks.dev", "durward has nothing like it"}}},
			{Name: "far", Type: "http", URL: "https://h"},
		},
	}},
	{VSCode, "settings.json", `{"editor.fontSize": 12, "mcp": {"servers": {"old": {"command": "x"}}}}`, Found{Servers: []Server{{Name: "old", Command: "x"}}}},
	{Windsurf, "mcp_config.json", `{"mcpServers": {"w": {"serverUrl": "https://h/mcp", "disabled": true, "disabledTools": ["rm"]}}}`, Found{Servers: []Server{
		{Name: "w", Type: "http", URL: "https://h/mcp", Disabled: true, DenyTools: []string{"rm"}},
	}}},
	{Gemini, ".gemini/settings.json", `{"theme": "x", "mcpServers": {
  "g": {"command": "x", "env": {"K": "$KEY", "L": "${LONG}"}, "timeout": 1500, "trust": true, "includeTools": ["a"], "excludeTools": ["b"]},
  "h": {"httpUrl": "https://h/mcp"}, "s": {"url": "https://h/sse"}}}`, Found{Servers: []Server{
		{
			Name: "g", Command: "x", Env: []Pair{{"K", "${KEY}"}, {"L", "${LONG}"}}, Timeout: 1500 * time.Millisecond, AllowTools: []string{"a"}, DenyTools: []string{"b"},
			Left: []Left{{"mcpServers.g.trust", "durward has nothing like it"}},
		},
		{Name: "h", Type: "http", URL: "https://h/mcp"},
		{Name: "s", Type: "sse", URL: "https://h/sse"},
	}}},
	{OpenCode, "opencode.jsonc", `{"$schema": "x", "mcp": {
  "l": {"type": "local", "command": ["npx", "x"], "environment": {"K": "{env:KEY}", "F": "{file:~/k}"}, "enabled": false},
  "r": {"type": "remote", "url": "https://h", "headers": {"A": "b"}, "oauth": {}} /* the end */}}`, Found{Servers: []Server{
		{
			Name: "l", Command: "npx", Args: []string{"x"}, Env: []Pair{{"K", "${KEY}"}, {"F", "${file:~/k}"}}, Disabled: true,
			Left: []Left{{"mcp.l.environment.F", "it has a reference that means nothing here"}},
		},
		{Name: "r", Type: "http", URL: "https://h", Headers: []Pair{{"A", "b"}}, Left: []Left{{"mcp.r.oauth", "durward has nothing like it"}}},
	}}},
	{Codex, "config.toml", `model = "m"
[mcp_servers.c]
command = "npx"
args = ["x"]
env = { K = "v" }
env_vars = ["HOME"]
enabled_tools = ["a"]
tool_timeout_sec = 2.5
[mcp_servers.far]
url = "https://h"
bearer_token_env_var = "TOKEN"
env_http_headers = { "X-A" = "AVAR" }
enabled = false
startup_timeout_sec = 9
`, Found{Servers: []Server{
		{Name: "c", Command: "npx", Args: []string{"x"}, Env: []Pair{{"K", "v"}}, InheritEnv: []string{"HOME"}, AllowTools: []string{"a"}, Timeout: 2500 * time.Millisecond},
		{
			Name: "far", Type: "http", URL: "https://h", Headers: []Pair{{"Authorization", "Bearer ${TOKEN}"}, {"X-A", "${AVAR}"}}, Disabled: true,
			Left: []Left{{"mcp_servers.far.startup_timeout_sec", "durward has nothing like it"}},
		},
	}}},
	{"", "hub.json", `{"servers": [{"name": "files", "command": "durward", "args": ["mcp"]}, {"command": "x"}]}`, Found{
		Left:    []Left{{"servers[1]", "is no server with a name"}},
		Servers: []Server{{Name: "files", Command: "durward", Args: []string{"mcp"}}},
	}},
	{Cursor, "mcp.json", `{"mcpServers": {"none": {}, "odd": 5, "args": {"command": "x", "args": "y", "env": {"A": ["b"]}}}}`, Found{
		Left: []Left{{"mcpServers.none", "has neither a command nor a URL"}, {"mcpServers.odd", "is no server with a name"}},
		Servers: []Server{{Name: "args", Command: "x", Left: []Left{
			{"mcpServers.args.args", "is not what it should be"}, {"mcpServers.args.env", "is not what it should be"},
		}}},
	}},
	{Cursor, "mcp.json", `{}`, Found{}},
}

func TestRead(t *testing.T) {
	for _, test := range formats {
		got, err := Read(test.file, []byte(test.text), Options{Client: test.client, Project: "/p"})
		if err != nil {
			t.Errorf("%s: %v", test.client, err)
			continue
		}
		if diff := cmp.Diff(&test.want, got); diff != "" {
			t.Errorf("%s: %s", test.client, diff)
		}
		// whoever names the file and not the client gets the same, but for what is a matter of one
		guessed, err := Read(test.file, []byte(test.text), Options{})
		if err != nil || len(test.want.Servers) > 0 && (len(guessed.Servers) == 0 || guessed.Servers[0].Name != test.want.Servers[0].Name) {
			t.Errorf("%s is not read by its text: %+v %v", test.client, guessed, err)
		}
	}
}

func TestWhatIsNoDocumentIsRefusedWithItsPlace(t *testing.T) {
	for file, text := range map[string]string{"a.json": `{"mcpServers": {`, "b.json": `[]`, "c.toml": "x = = 1", "d.json": "", "e.json": `{"mcpServers": {"a": {"command": "x", "command": "y"}}}`} {
		if found, err := Read(file, []byte(text), Options{}); err == nil || !strings.HasPrefix(err.Error(), file) {
			t.Errorf("%s is read as %+v: %v", text, found, err)
		}
	}
}

// What else a program keeps in the file may be of any size.
func TestLargeFiles(t *testing.T) {
	text := `{"history": "` + strings.Repeat("x", 4<<20) + `", "mcpServers": {"a": {"command": "b"}}}`
	found, err := Read(".claude.json", []byte(text), Options{Client: ClaudeCode})
	if err != nil || len(found.Servers) != 1 {
		t.Errorf("%+v: %v", found, err)
	}
}

// Nothing that somebody left in a folder ends the program.
func TestDeepFiles(t *testing.T) {
	for _, text := range []string{`{"a": ` + strings.Repeat("[", 5<<20), "{}\n" + strings.Repeat(`{"a":`, 5<<20)} {
		if found, err := Read("deep.json", []byte(text), Options{}); err == nil || !strings.Contains(err.Error(), "1000 deep") {
			t.Errorf("it is read as %+v: %v", found, err)
		}
	}
	text := `{"a": "` + strings.Repeat(`[\"[`, 2000) + `", /* ` + strings.Repeat("{", 2000) + " */ // " + strings.Repeat("[", 2000) + "\n" +
		`"mcpServers": {"b": {"command": "c"}}}`
	if found, err := Read("flat.json", []byte(text), Options{}); err != nil || len(found.Servers) != 1 {
		t.Errorf("%+v: %v", found, err)
	}
}

func TestPlaces(t *testing.T) {
	linux := Machine{OS: "linux", Home: "/h"}
	for _, test := range []struct {
		machine Machine
		client  Client
		want    string
	}{
		{linux, ClaudeDesktop, "/h/.config/Claude/claude_desktop_config.json"},
		{Machine{OS: "darwin", Home: "/h"}, ClaudeDesktop, "/h/Library/Application Support/Claude/claude_desktop_config.json"},
		{Machine{OS: "windows", Home: "/h", Environ: map[string]string{"APPDATA": "/r"}}, ClaudeDesktop, "/r/Claude/claude_desktop_config.json"},
		{Machine{OS: "windows", Home: "/h"}, ClaudeDesktop, ""},
		{linux, ClaudeCode, "/h/.claude.json"},
		{Machine{Home: "/h", Environ: map[string]string{"CLAUDE_CONFIG_DIR": "/c"}}, ClaudeCode, "/c/.claude.json"},
		{linux, Cursor, "/h/.cursor/mcp.json"},
		{linux, Windsurf, "/h/.codeium/windsurf/mcp_config.json"},
		{linux, VSCode, "/h/.config/Code/User/mcp.json"},
		{Machine{OS: "linux", Home: "/h", Environ: map[string]string{"XDG_CONFIG_HOME": "/x"}}, VSCode, "/x/Code/User/mcp.json"},
		{linux, Codex, "/h/.codex/config.toml"},
		{Machine{Home: "/h", Environ: map[string]string{"CODEX_HOME": "/c"}}, Codex, "/c/config.toml"},
		{linux, Gemini, "/h/.gemini/settings.json"},
		{linux, OpenCode, "/h/.config/opencode/opencode.json"},
		{Machine{}, Cursor, ""},
	} {
		got := ""
		if places := test.client.Places(test.machine); len(places) > 0 {
			got = filepath.ToSlash(places[0])
		}
		if got != test.want {
			t.Errorf("%s on %+v is at %q", test.client, test.machine, got)
		}
	}
	for _, c := range Clients() {
		if !Known(string(c)) || len(c.Places(linux)) == 0 {
			t.Errorf("%s has no place", c)
		}
	}
	if Known("") || Known("emacs") {
		t.Error("a client is known that is none")
	}
}

func FuzzRead(f *testing.F) {
	for _, test := range formats {
		f.Add(test.file, test.text)
	}
	f.Fuzz(func(t *testing.T, file, text string) {
		for _, c := range append(Clients(), "") {
			found, err := Read(file, []byte(text), Options{Client: c, Project: "/p"})
			if (found == nil) != (err != nil) {
				t.Fatalf("%v and %v", found, err)
			}
			if err != nil {
				continue
			}
			for _, s := range found.Servers {
				if s.Name == "" || (s.Command == "") == (s.URL == "") {
					t.Fatalf("a server that cannot be used: %+v", s)
				}
			}
			if _, err := json.Marshal(found); err != nil {
				t.Fatal(err)
			}
		}
	})
}
