package hubconfig_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/hubconfig"
)

var setting = hubconfig.Setting{
	Dir: "/etc/hub", Workspace: "/work", Home: "/home/a",
	Environ: map[string]string{"TOKEN": "s3cr3t-value", "EMPTY": "", "NESTED": "${TOKEN}", "LINE": "s3cr3t-value\nx", "NUL": "s3cr3t\x00value"},
}

func parse(text string) (*hubconfig.Config, config.Problems) {
	return hubconfig.Parse("hub.json", []byte(text), setting)
}

func parsed(t *testing.T, text string) *hubconfig.Config {
	t.Helper()
	c, problems := parse(text)
	if len(problems) > 0 {
		t.Fatalf("%s\n%v", text, problems)
	}
	return c
}

// server gives a server with the defaults of the rest.
func server(s hubconfig.Server) hubconfig.Server {
	s.PathPolicy, s.Concurrency = "enforce", 1
	s.Restart = hubconfig.Restart{Policy: "always", Initial: time.Second, Max: time.Minute}
	return s
}

func TestShapes(t *testing.T) {
	at := func(line int) durward.Position { return durward.Position{File: "hub.json", Line: line} }
	files := hubconfig.Server{Name: "files", Command: "node", Args: []string{"server.js", "/work"}, Env: map[string]string{"A": "b"}, Timeout: 1500 * time.Millisecond}
	for name, test := range map[string]struct {
		text     string
		want     []hubconfig.Server
		warnings []string
	}{
		"the hub's own": {`{"servers": [
  {"name": "files", "command": "node", "args": ["server.js", "${workspaceFolder}"], "env": {"A": "b"}, "timeout": 1.5},
  {"name": "other", "command": "bin/other", "cwd": "sub"}
]}`, []hubconfig.Server{server(with(files, at(2))), server(hubconfig.Server{Name: "other", Command: "/etc/hub/bin/other", Dir: "/etc/hub/sub", Where: at(3)})}, nil},
		"of several clients": {`{"mcpServers": {
  "files": {"command": "node", "args": ["server.js", "/work"], "env": {"A": "b"}, "timeout": 1.5, "alwaysAllow": []},
  "far": {"type": "streamable-http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
  "old": {"type": "sse", "url": "http://h:1/sse", "disabled": true},
  "plain": {"url": "http://h/", "env": {}},
  "surf": {"serverUrl": "http://h/"}
}, "theme": "dark"}`, []hubconfig.Server{
			server(with(files, at(2))),
			server(hubconfig.Server{Name: "far", Remote: &hubconfig.Remote{Type: "http", URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer s3cr3t-value"}}, Taken: []string{"s3cr3t-value"}, Where: at(3)}),
			server(hubconfig.Server{Name: "old", Disabled: true, Remote: &hubconfig.Remote{Type: "sse", URL: "http://h:1/sse"}, Where: at(4)}),
			server(hubconfig.Server{Name: "plain", Env: map[string]string{}, Remote: &hubconfig.Remote{Type: "http", URL: "http://h/"}, Where: at(5)}),
			server(hubconfig.Server{Name: "surf", Remote: &hubconfig.Remote{Type: "http", URL: "http://h/"}, Where: at(6)}),
		}, []string{"hub.json:2: these are ignored: mcpServers.files.alwaysAllow (line 2), mcpServers.plain.env (line 5), theme (line 7)"}},
		"of an editor": {`{"inputs": [{"id": "key"}], "servers": {
  "files": {"type": "stdio", "command": "node", "args": ["server.js", "/work"], "env": {"A": "b"}, "timeout": 1.5, "envFile": "${workspaceFolder}/.env", "dev": {}},
  "asks": {"type": "stdio", "command": "x", "env": {"KEY": "${input:key}"}}
}}`, []hubconfig.Server{
			server(with(files, at(2), "/work/.env")),
			server(hubconfig.Server{Name: "asks", Broken: "env.KEY: ${input:key} would have to be asked for, and here is nobody to ask", Where: at(3)}),
		}, []string{
			"hub.json:2: these are ignored: servers.files.dev (line 2)",
			"hub.json:3: servers.asks.env.KEY: ${input:key} would have to be asked for, and here is nobody to ask; the server is not started",
		}},
		"none":            {`{"servers": []}`, []hubconfig.Server{}, nil},
		"none of clients": {`{"mcpServers": {}, "$schema": "x"}`, []hubconfig.Server{}, nil},
	} {
		c := parsed(t, test.text)
		if diff := cmp.Diff(test.want, c.Servers); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(test.warnings, c.Warnings); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func with(s hubconfig.Server, where durward.Position, envFile ...string) hubconfig.Server {
	s.Where, s.EnvFile = where, strings.Join(envFile, "")
	return s
}

func TestExtras(t *testing.T) {
	c := parsed(t, `{"prefix": "always", "x-gateway": {"expose": ["tools", "prompts", "tools"], "validateArguments": true, "search": true, "refreshSeconds": 60, "forwardPaths": "verbatim",
  "tokens": [{"name": "ci", "file": "ci.token", "allowTools": ["read_*"]}, {"name": "all", "file": "/run/all"}]},
"servers": [{"name": "a", "command": "a", "x-gateway": {
  "allowTools": [], "denyTools": ["rm*"], "pathPolicy": "off", "pathArgs": ["blob", "/a/0~1b"], "fileServer": true, "parseJsonText": true, "concurrency": 4,
  "restart": {"policy": "on-failure", "initialMs": 90000}, "cache": {"ttlMs": 1000, "tools": {"x": {}, "y": {"ttlMs": 5, "maxEntries": 2}}, "private": true},
  "toolHashes": {"x": "ABCDEF0000000000000000000000000000000000000000000000000000000000"}, "rename": {"x": "z"}, "inheritEnv": ["SSH_AUTH_SOCK"], "offer": ["sampling", "elicitation", "sampling"],
  "sandbox": { "mode" : "read-only","network":{"mode": "none"} }
}}, {"name": "b", "command": "b", "x-gateway": {"restart": "never", "cache": {"tools": {"x": {"ttlMs": 1}}}}}, {"name": "c", "command": "c", "x-gateway": {"restart": {"maxMs": 10}}}]}`)
	want := &hubconfig.Config{
		Shape: hubconfig.List,
		File:  "hub.json", Expose: []string{"tools", "prompts"}, Prefix: "always", ValidateArguments: true, Search: true, Refresh: time.Minute, ForwardPaths: "verbatim",
		Tokens: []hubconfig.Token{
			{Name: "ci", File: "/etc/hub/ci.token", AllowTools: []string{"read_*"}, Where: durward.Position{File: "hub.json", Line: 2}},
			{Name: "all", File: "/run/all", Where: durward.Position{File: "hub.json", Line: 2}},
		},
		Servers: []hubconfig.Server{
			{
				Name: "a", Command: "a", AllowTools: []string{}, DenyTools: []string{"rm*"}, PathPolicy: "off", PathArgs: []string{"blob", "/a/0~1b"}, FileServer: true, ParseJSONText: true,
				Concurrency: 4, Restart: hubconfig.Restart{Policy: "on-failure", Initial: 90 * time.Second, Max: 90 * time.Second},
				Cache: &hubconfig.Cache{
					Keep: hubconfig.Keep{TTL: time.Second, MaxEntries: 1000}, Private: true,
					Tools: map[string]hubconfig.Keep{"x": {TTL: time.Second, MaxEntries: 1000}, "y": {TTL: 5 * time.Millisecond, MaxEntries: 2}},
				},
				ToolHashes: map[string]string{"x": "sha256:abcdef0000000000000000000000000000000000000000000000000000000000"},
				Rename:     map[string]string{"x": "z"}, InheritEnv: []string{"SSH_AUTH_SOCK"}, Offer: []string{"sampling", "elicitation"},
				Sandbox: json.RawMessage(`{ "mode" : "read-only","network":{"mode": "none"} }`), SandboxWhere: durward.Position{File: "hub.json", Line: 7},
				Where: durward.Position{File: "hub.json", Line: 3},
			},
			{
				Name: "b", Command: "b", PathPolicy: "enforce", Concurrency: 1, Restart: hubconfig.Restart{Policy: "never", Initial: time.Second, Max: time.Minute},
				Cache: &hubconfig.Cache{Keep: hubconfig.Keep{MaxEntries: 1000}, Tools: map[string]hubconfig.Keep{"x": {TTL: time.Millisecond, MaxEntries: 1000}}},
				Where: durward.Position{File: "hub.json", Line: 8},
			},
			{
				Name: "c", Command: "c", PathPolicy: "enforce", Concurrency: 1, Restart: hubconfig.Restart{Policy: "always", Initial: 10 * time.Millisecond, Max: 10 * time.Millisecond},
				Where: durward.Position{File: "hub.json", Line: 8},
			},
		},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestDefaults(t *testing.T) {
	want := &hubconfig.Config{File: "none.json", Missing: true, Servers: []hubconfig.Server{}, Expose: []string{"tools"}, Prefix: "collisions", ForwardPaths: "absolute"}
	if diff := cmp.Diff(want, hubconfig.None("none.json")); diff != "" {
		t.Error(diff)
	}
}

// one is a file with one server, whose members are given.
func one(members string) string {
	return `{"servers": [{"name": "a", "command": "c"` + strings.TrimRight(", "+members, ", ") + `}]}`
}

func extras(members string) string { return one(`"x-gateway": {` + members + `}`) }

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "hub.json:1:1: not JSON: unexpected end of JSON input",
		"servers: []":                             "hub.json:1:1: not JSON: invalid character 's' looking for beginning of value",
		"{\n // comment\n}":                       "hub.json:2:2: not JSON: invalid character '/' looking for beginning of object key string",
		"[]":                                      "hub.json:1:1: the document must be a mapping with servers or mcpServers, not a list",
		"{}":                                      "hub.json:1:1: there is neither servers nor mcpServers",
		`{"servers": [], "mcpServers": {}}`:       "hub.json:1:31: mcpServers: the file has servers, too, which is another shape; use one of them",
		`{"servers": {}, "mcpServers": {}}`:       "hub.json:1:31: mcpServers: the file has servers, too, which is another shape; use one of them",
		`{"servers": [], "inputs": []}`:           "hub.json:1:27: inputs: belongs to a file whose servers is a mapping",
		`{"mcpServers": {}, "inputs": []}`:        "hub.json:1:30: inputs: belongs to a file whose servers is a mapping",
		`{"servers": 1}`:                          "hub.json:1:13: servers: must be a mapping, not an integer",
		`{"mcpServers": []}`:                      "hub.json:1:16: mcpServers: must be a mapping, not a list",
		`{"servers": [1]}`:                        "hub.json:1:14: servers[0]: must be a mapping, not an integer",
		`{"servers": [], "servrs": 1}`:            `hub.json:1:17: unknown field "servrs" (did you mean "servers"?)`,
		`{"servers": {"a": {"command": 1}}}`:      `hub.json:1:31: servers.a.command: must be a string, not an integer; put it in quotes: "1"`,
		`{"servers": [{"command": "a"}]}`:         "hub.json:1:14: servers[0]: name is missing",
		`{"servers": [{"name": "a"}]}`:            "hub.json:1:14: servers[0]: command is missing",
		`{"mcpServers": {"a": {}}}`:               "hub.json:1:22: mcpServers.a: command is missing",
		`{"mcpServers": {"a": {"type": "http"}}}`: "hub.json:1:22: mcpServers.a: url is missing",
		`{"mcpServers": {"a": {"command": "a", "url": "http://h/"}}}`:                                  "hub.json:1:46: mcpServers.a.url: is for servers of type http, and this one is started by a command",
		`{"mcpServers": {"a": {"type": "stdio", "url": "http://h/"}}}`:                                 "hub.json:1:47: mcpServers.a.url: is for servers of type http, and this one is started by a command",
		`{"mcpServers": {"a": {"type": "websocket", "command": "a"}}}`:                                 `hub.json:1:31: mcpServers.a.type: must be one of stdio, local, http, streamable-http, streamableHttp, sse, not "websocket"`,
		`{"mcpServers": {"a": {"url": "ftp://user:pw@h/"}}}`:                                           "hub.json:1:30: mcpServers.a.url: is no URL of http or https",
		`{"mcpServers": {"a": {"url": "http://h/", "headers": {"a b": "x"}}}}`:                         "hub.json:1:62: mcpServers.a.headers.a b: it has no name that a header can have",
		`{"mcpServers": {"a": {"url": "http://h/", "headers": {"A": "x\r\ny"}}}}`:                      "hub.json:1:60: mcpServers.a.headers.A: it holds the end of a line",
		`{"mcpServers": {"a": {"url": "http://h/", "x-gateway": {"sandbox": {"mode": "read-only"}}}}}`: "hub.json:1:68: mcpServers.a.x-gateway.sandbox: means nothing for a server of this type",
		`{"mcpServers": {"a": {"command": "a", "x-gatway": {}}}}`:                                      "hub.json:1:51: mcpServers.a.x-gatway: is unknown; write x-gateway",
		`{"mcpServers": {"a": {"command": "a"}, "a": {"command": "b"}}}`:                               `hub.json:1:40: duplicate field "a" (first on line 1)`,
		one(`"nmae": "b"`):         `hub.json:1:44: servers[0]: unknown field "nmae" (did you mean "name"?)`,
		one(`"x-mine": 1`):         `hub.json:1:44: servers[0]: unknown field "x-mine"`,
		one(`"headers": {}`):       "hub.json:1:55: servers[0].headers: means nothing for a server of this type",
		one(`"args": "x"`):         "hub.json:1:52: servers[0].args: must be a list, not a string",
		one(`"args": [1]`):         `hub.json:1:53: servers[0].args[0]: must be a string, not an integer; put it in quotes: "1"`,
		one(`"args": ["a\u0000"]`): "hub.json:1:53: servers[0].args[0]: holds a NUL",
		one(`"cwd": ""`):           "hub.json:1:51: servers[0].cwd: is empty",
		one(`"env": {"A": 12345}`): "hub.json:1:57: servers[0].env.A: must be a string in quotes, not an integer",
		one(`"env": {"A": null}`):  "hub.json:1:57: servers[0].env.A: must be a string in quotes, not empty",
		one(`"env": {"A=B": "x"}`): "hub.json:1:59: servers[0].env.A=B: it has no name that a variable can have",
		one(`"timeout": 0`):        "hub.json:1:55: servers[0].timeout: must be more than 0 and at most 1000000000 seconds, not 0",
		one(`"timeout": -1.5`):     "hub.json:1:55: servers[0].timeout: must be more than 0 and at most 1000000000 seconds, not -1.5",
		one(`"timeout": 1e400`):    "hub.json:1:55: servers[0].timeout: must be more than 0 and at most 1000000000 seconds, not 1e400",
		one(`"timeout": "30"`):     "hub.json:1:55: servers[0].timeout: must be a number of seconds, not a string",
		one(`"disabled": "true"`):  "hub.json:1:56: servers[0].disabled: must be a boolean, not a string",

		extras(`"allowTool": []`):                         `hub.json:1:58: servers[0].x-gateway: unknown field "allowTool" (did you mean "allowTools"?)`,
		extras(`"denyTools": [""]`):                       "hub.json:1:72: servers[0].x-gateway.denyTools[0]: is empty, or holds a NUL",
		extras(`"pathPolicy": "Off"`):                     `hub.json:1:72: servers[0].x-gateway.pathPolicy: must be one of enforce, off, not "Off" (did you mean "off"?)`,
		extras(`"pathArgs": ["/a~2"]`):                    "hub.json:1:71: servers[0].x-gateway.pathArgs[0]: is no JSON pointer: ~ is written ~0",
		extras(`"pathArgs": [""]`):                        "hub.json:1:71: servers[0].x-gateway.pathArgs[0]: is empty",
		extras(`"concurrency": 0`):                        "hub.json:1:73: servers[0].x-gateway.concurrency: must be between 1 and 1000, not 0",
		extras(`"restart": "sometimes"`):                  `hub.json:1:69: servers[0].x-gateway.restart: must be one of always, on-failure, never, not "sometimes"`,
		extras(`"restart": {"initialMs": 5, "maxMs": 4}`): "hub.json:1:69: servers[0].x-gateway.restart: maxMs is less than initialMs",
		extras(`"cache": {}`):                             "hub.json:1:67: servers[0].x-gateway.cache: ttlMs is missing",
		extras(`"cache": {"tools": {"x": {}}}`):           "hub.json:1:83: servers[0].x-gateway.cache.tools.x: ttlMs is missing",
		extras(`"cache": {"ttlMs": 0}`):                   "hub.json:1:77: servers[0].x-gateway.cache.ttlMs: must be between 1 and 604800000, not 0",
		extras(`"toolHashes": {"x": "sha256:00"}`):        "hub.json:1:78: servers[0].x-gateway.toolHashes.x: is no SHA-256: write sha256: and 64 digits from 0 to f",
		extras(`"rename": {"x": "a b"}`):                  "hub.json:1:74: servers[0].x-gateway.rename.x: is no name for a tool: 1 to 64 letters, digits, _ and -",
		extras(`"rename": {"x": "a", "y": "a"}`):          "hub.json:1:84: servers[0].x-gateway.rename.y: another tool has this name already",
		extras(`"offer": ["roots"]`):                      `hub.json:1:68: servers[0].x-gateway.offer[0]: must be one of elicitation, sampling, not "roots"`,
		extras(`"inheritEnv": ["A=B"]`):                   "hub.json:1:73: servers[0].x-gateway.inheritEnv[0]: it has no name that a variable can have",
		extras(`"sandbox": {"mode": "wide"}`):             "",
		extras(`"sandbox": []`):                           "",

		`{"servers": [], "prefix": "some"}`:                                                                    `hub.json:1:27: prefix: must be one of collisions, always, never, not "some"`,
		`{"servers": [], "prefix": "never", "x-gateway": {"prefix": "never"}}`:                                 "hub.json:1:60: x-gateway.prefix: stands at the top of the file, too",
		`{"servers": [], "x-gateway": {"prefixes": "never"}}`:                                                  `hub.json:1:31: x-gateway: unknown field "prefixes" (did you mean "prefix"?)`,
		`{"servers": [], "refreshSeconds": -1}`:                                                                "hub.json:1:35: refreshSeconds: must be between 0 and 31536000, not -1",
		`{"servers": [], "expose": ["tool"]}`:                                                                  `hub.json:1:28: expose[0]: must be one of tools, resources, prompts, not "tool" (did you mean "tools"?)`,
		`{"servers": [], "tokens": [{"name": "a"}]}`:                                                           "hub.json:1:28: tokens[0]: file is missing",
		`{"servers": [], "tokens": [{"name": "a", "file": "b"}, {"name": "a", "file": "c"}]}`:                  "hub.json:1:56: tokens[1]: another token has this name already",
		`{"servers": [], "tokens": [{"name": "a", "file": "b", "token": "x"}]}`:                                `hub.json:1:55: tokens[0]: unknown field "token"`,
		`{"servers": [{"name": "", "command": "a"}]}`:                                                          `hub.json:1:23: servers[0].name: the name "" is none for a server: 1 to 32 letters, digits, _ and -, the first a letter or digit`,
		`{"servers": [{"name": "@a/b", "command": "a"}]}`:                                                      `hub.json:1:23: servers[0].name: the name "@a/b" is none for a server: 1 to 32 letters, digits, _ and -, the first a letter or digit`,
		`{"servers": [{"name": "` + strings.Repeat("a", 33) + `", "command": "a"}]}`:                           `hub.json:1:23: servers[0].name: the name "` + strings.Repeat("a", 33) + `" is none for a server: 1 to 32 letters, digits, _ and -, the first a letter or digit`,
		"{\"servers\": [{\"name\": \"a\", \"command\": \"a\"},\n{\"name\": \"a\", \"command\": \"a\"}]}":       `hub.json:2:10: servers[1].name: the name "a" is taken (line 1)`,
		"{\"mcpServers\": {\"a.b\": {\"command\": \"a\"},\n\"a_b\": {\"command\": \"a\", \"disabled\":true}}}": `hub.json:2:8: mcpServers.a_b: the name "a_b" is the same as "a.b" (line 1): both are read as "a_b"`,
	} {
		_, problems := parse(text)
		if len(problems) != 1 || want != "" && problems[0].Error() != want || problems[0].Where.Line == 0 {
			t.Errorf("%s\ngot  %v\nwant %s", text, problems, want)
		}
	}
}

func TestNamesAreFolded(t *testing.T) {
	for written, want := range map[string]string{"a b.c": "a_b_c", "Ünï": "_n_", "x-Y_9": "x-Y_9", "": ""} {
		if got := hubconfig.Fold(written); got != want {
			t.Errorf("%q becomes %q, not %q", written, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"servers": [{"name": "a", "command": "${TOKEN}/x", "x-gateway": {"sandbox": {"mode": "read-only"}}}]}`)
	f.Add(`{"mcpServers": {"a": {"url": "${TOKEN}", "headers": {"A": "${LINE}"}}}, "x": [{"a":"}"}]}`)
	f.Add(`{"servers": {"a": {"command": "${NUL}", "envFile": "${input:x}", "args": ["${A:-b}", "${"]}}, "inputs": []}`)
	f.Add("\ufeff{\"servers\": [1, {}, {\"x-gateway\": {\"cache\": {\"tools\": {\"a\": {}}}}}]}")
	f.Fuzz(func(t *testing.T, text string) {
		c, problems := parse(text)
		for _, p := range problems {
			if p.Where.File != "hub.json" {
				t.Errorf("%v has no place", p)
			}
		}
		names := map[string]bool{}
		for _, s := range c.Servers {
			names[s.Name] = true
			if s.Broken != "" && (s.Command != "" || s.Remote != nil || s.Env != nil) {
				t.Errorf("a server that cannot be started has %+v", s)
			}
			if len(problems) == 0 && s.Broken == "" && (s.Command == "") == (s.Remote == nil) {
				t.Errorf("a server has %+v", s)
			}
			if len(problems) == 0 && s.Sandbox != nil && !json.Valid(s.Sandbox) {
				t.Errorf("the sandbox is %s", s.Sandbox)
			}
		}
		if len(problems) == 0 && len(names) != len(c.Servers) {
			t.Errorf("two servers have one name: %v", names)
		}
		if says := strings.Join(c.Warnings, "") + problems.Error(); strings.Contains(says, "s3cr3t") && !strings.Contains(text, "s3cr3t") {
			t.Errorf("a value is told: %s", says)
		}
	})
}
