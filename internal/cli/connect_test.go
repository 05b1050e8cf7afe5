package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// documents are of each client, in layouts that editors and the clients themselves leave behind.
var documents = map[string][]string{
	"cursor": {
		"", "{}", "{}\n", " \n", "\ufeff{}", "{\n}\n", `{"mcpServers":{}}`, "{ /* none */ }",
		"{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"}, // a\r\n\t},\r\n}\r\n",
		"\ufeff{\n   \"x\": [1, 2, /* 3 */],\n   \"mcpServers\": { \"a\": { \"command\": \"x\" } }\n}",
		"// first\n{\n  \"mcpServers\": {\n    // none\n  }\n}\n// last",
	},
	"claude-code": {`{"numStartups":5,"mcpServers":{"a":{"type":"stdio","command":"x","args":[],"env":{}}},"projects":{"/p":{"mcpServers":{}}}}`, "{\n  \"numStartups\": 5.0\n}"},
	"vscode":      {"{\n\t\"inputs\": [],\n\t\"servers\": {}\n}", "{\n    \"servers\": {\n        \"a\": {\"command\": \"x\"}\n    }\n}\n"},
	"gemini":      {"{\n  \"theme\": \"x\",\n  \"mcp\": {\"allowed\": []}\n}\n"},
	"opencode":    {"{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\"servers\": {}}\n}", "{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"x\"]}}}"},
	"windsurf":    {"{\n \"mcpServers\" : {\n  \"a\" : { \"serverUrl\" : \"https://h\" }\n }\n}\n"},
	"codex": {
		"", "\n", "# mine", "model = \"x\"\r\n\r\n[mcp_servers.a]\r\ncommand = \"a\"", "\ufeff[mcp_servers]\n", "[mcp_servers.a]\nargs = [\n  '''\n[mcp_servers.durward]''', # x\n]\n\n\n",
	},
}

// Whatever is in a file, and whichever clients are connected under whichever names: when all is undone in the order
// in which it was not done, the file is what it was to the byte, and so is its folder.
func TestConnectAndUndoIsNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var clients []string
	for _, c := range clientNames() {
		if documents[c] != nil {
			clients = append(clients, c)
		}
	}
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		env := home(t)
		dir := filepath.Join(env["HOME"], fmt.Sprint("files", n))
		n++
		if err := os.Mkdir(dir, 0o750); err != nil {
			r.Fatal(err)
		}
		client := rapid.SampledFrom(clients).Draw(r, "client")
		was, missing := rapid.SampledFrom(documents[client]).Draw(r, "document"), rapid.Bool().Draw(r, "missing")
		mode := rapid.SampledFrom([]os.FileMode{0o600, 0o640, 0o644}).Draw(r, "mode")
		file := filepath.Join(dir, "file")
		if missing {
			file = filepath.Join(dir, "a", "b", "file")
		} else if err := os.WriteFile(file, []byte(was), mode); err != nil {
			r.Fatal(err)
		}
		run := func(words ...string) {
			words = append([]string{"connect", client, "--yes", "--file", file}, words...)
			if got := durwardIn(t.Context(), t, env, dir, words...); got.status != 0 {
				r.Fatalf("%q: %s", words, got.stderr)
			}
		}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"durward", "hub", "x-1"}), 1, 2, rapid.ID[string]).Draw(r, "names")
		for i, name := range names {
			run("--url", fmt.Sprint("http://127.0.0.1:", 8000+i), "--name", name)
			if rapid.Bool().Draw(r, "again") {
				run("--url", fmt.Sprint("http://127.0.0.1:", 9000+i), "--name", name, "--replace")
			}
		}
		for i := range names {
			run("--undo", "--name", names[len(names)-1-i])
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			r.Fatal(err)
		}
		if missing {
			if len(entries) > 0 {
				r.Fatalf("%v is left", entries)
			}
			return
		}
		info, err := os.Stat(file)
		if err != nil {
			r.Fatal(err)
		}
		now, err := os.ReadFile(file)
		if err != nil || string(now) != was || len(entries) != 1 || info.Mode().Perm() != mode {
			r.Fatalf("%q became %q, with mode %s beside %v: %v", was, now, info.Mode(), entries, err)
		}
		if _, err := os.Lstat(filepath.Join(env[varStateDir], "undo")); err == nil {
			r.Fatal("something is kept of it")
		}
	})
}

// A line that is very long is not shown whole: there may be other things in it that nobody asked for.
func TestLongLinesAreShownWhereTheyDiffer(t *testing.T) {
	was := `{"notes":"` + strings.Repeat("s", 5000) + `","mcpServers":{}}`
	lines := shownChange([]byte(was), []byte(strings.Replace(was, "{}}", `{"durward":{"command":"x"}}}`, 1)))
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "+…ssss") || !strings.Contains(lines[1], `"mcpServers":{"durward":{"command":"x"}}}…`) || len(lines[0]) > 200 {
		t.Errorf("%q", lines)
	}
}

// What differs of a long text is all that is looked at, and is shown as it would be of the whole.
func TestTheLinesAroundAChangeAreEnough(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "", "{"})
		lines := func(label string) string {
			return strings.Join(rapid.SliceOfN(line, 0, 150).Draw(r, label), "\n")
		}
		head, tail := lines("head"), lines("tail")
		was, now := []byte(head+lines("was")+tail), []byte(head+lines("now")+tail)
		want := changedLines(was, now)
		a, b := around(was, now)
		if got := changedLines(a, b); !slices.Equal(got, want) {
			r.Fatalf("%q, want %q", got, want)
		}
	})
}

// What a client keeps for its servers is not shown, in whichever layout it stands, and what durward writes is.
func TestSecretsOfAClientAreNotShown(t *testing.T) {
	for _, was := range []string{
		`{"a":{"command":"x","env":{"API_KEY":"s3cr3tvalue"}}}`,
		`{"a": {"command": "x", "env": {"API_KEY" : "s3cr3t\"value"}}}`,
		`{"headers": {"Authorization": "Basic s3cr3tvalue"}}`,
		`{"args": ["--token", "s3cr3tvalue"]}`,
		`{"args": ["--token=s3cr3tvalue", "-x"]}`,
		"{\n\"args\": [\"--token\",\n\"s3cr3tvalue\"]}",
		`{"url": "https://h/mcp?api_key=s3cr3tvalue"}`,
		`{"url": "https://me:s3cr3tvalue@h/mcp"}`,
		`{"x": "ghp_s3cr3t0123456789abcdefghij"}`,
		`// ghp_s3cr3t0123456789abcdefghij`,
		"[a.env]\nAPI_KEY = \"s3cr3tvalue\"",
		"[a.env]\nAPI_KEY='s3cr3tvalue'",
		`env = {API_KEY = "s3cr3tvalue"}`,
		`args = ["--token", 's3cr3tvalue']`,
		`{"API_KEY": "` + strings.Repeat("s3cr3t", 200) + `"}`,
	} {
		for _, pair := range [][2]string{{was, "{}"}, {"{}", was}, {was, was + " "}} {
			shown := strings.Join(shownChange([]byte(pair[0]), []byte(pair[1])), "\n")
			if strings.Contains(shown, "s3cr3t") || !strings.Contains(shown, hidden) {
				t.Errorf("%s is shown", shown)
			}
		}
	}
	for _, plain := range []string{
		`{"Authorization": "Bearer ${env:HUB_TOKEN}"}`, `{"Authorization": "Bearer {env:HUB_TOKEN}"}`, `bearer_token_env_var = "HUB_TOKEN"`,
		`{"command": "/opt/durward", "args": ["mcp", "--config", "/home/me/policy.yaml"]}`,
	} {
		if lines := shownChange(nil, []byte(plain)); lines[len(lines)-1] != "+"+plain {
			t.Errorf("%q", lines)
		}
	}
}

// The name on PATH is written down rather than what it leads to: a newer program will have it.
func TestTheNameOnPATHIsWrittenDown(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := home(t)
	link := filepath.Join(env["HOME"], mainName)
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	env["PATH"] = "relative" + string(os.PathListSeparator) + env["HOME"]
	p, _, _ := start(t, env, env["HOME"], nil)
	if got, err := p.lastingProgram(); err == nil {
		t.Errorf("%s is to last", got)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if got, err := p.lastingProgram(); err != nil || got != link {
		t.Errorf("%s, %v; want %s", got, err, link)
	}
	env["PATH"] = "/bin"
	if got, err := p.lastingProgram(); err == nil && strings.Contains(self, "go-build") {
		t.Errorf("%s is to last", got)
	}
}
