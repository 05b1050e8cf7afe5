package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward/internal/release/releasetest"
)

// endless lists the examples that end only when somebody ends them.
var endless = []string{
	"durward audit tail -f", "durward serve docs", "durward serve docs -p 0 --timeout 5 -e DB=notes.db",
	"durward exec-server", "durward exec-server --listen ws://127.0.0.1:8765 --sandbox workspace-write --root .",
	"durward exec-server --listen ws://0.0.0.0:8765 --ws-auth capability-token --ws-token-file token",
	"DOMAIN_ID=example_domain durward gateway", "DOMAIN_ID=example_domain durward gateway --port 0",
	"durward egress-proxy --domain example_domain",
	"durward egress-proxy --host 0.0.0.0 --transparent --manifest my/manifest.yaml --policies my/policies.yaml",
	"SANDBOX_DIRECTORY=/tmp/ws durward hub", "durward hub --config .mcp.json --sandbox-dir . --port 0",
	"FIRECRAWL_API_KEY=fc-key durward worker firecrawl",
	"FIRECRAWL_API_KEY=fc-key WORKER_TOKEN=s3cret durward worker firecrawl --host 0.0.0.0 --token-env WORKER_TOKEN",
}

// contained lists the examples that ask what runs beside a container, or try to get out of
// one. The tests of containers run them.
var contained = []string{
	"durward health http://127.0.0.1:8000/healthz", "durward health --json http://127.0.0.1:8080/healthz",
	"durward egress-check api.firecrawl.dev:443", "durward egress-check --json --host example.org:443 --address 8.8.8.8:443 api.firecrawl.dev:443",
	"durward egress-check api.firecrawl.dev:443 -- durward worker firecrawl",
}

// asking lists the examples that ask a hub that runs. Its script runs them.
var asking = []string{
	"durward server restart filesystem", "durward server restart filesystem --url http://127.0.0.1:8002",
	"durward server logs filesystem", "durward server logs filesystem -n 5 --json",
}

// TestEveryExampleOfTheHelpWorks asks every command for its help and runs what it
// begins with.
func TestEveryExampleOfTheHelpWorks(t *testing.T) {
	dir := t.TempDir()
	env := append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "EDITOR=true", "VISUAL=",
		"HOME="+t.TempDir(), "TMPDIR="+t.TempDir(), "CLAUDE_CONFIG_DIR=")
	shell := func(line string) string {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	for name, text := range map[string]string{"Makefile": "all:\n", "requests.jsonl": `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", ".mcp.json": told("one")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "docs", "README.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	desktop := filepath.Join(dir, "config/Claude/claude_desktop_config.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(desktop), 0o755), os.WriteFile(desktop, []byte(told("two")), 0o644)); err != nil {
		t.Fatal(err)
	}
	for folder, from := range map[string]string{"config": "../../config", "domain": "../../domain", "my": "../../domain/example_domain"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	policy, err := os.ReadFile("../../examples/policy.quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"config/durward/policy.yaml", "examples/policy.quickstart.yaml"} {
		file = filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, policy, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	signer, err := releasetest.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "durward.pub"), signer.PublicKey, 0o644), signer.Make(filepath.Join(dir, "releases", "v0.4.0"), "0.4.0", releasetest.Script("0.4.0"))); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} { // root's commands run as somebody else
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	shell("durward exec -- true")
	id := strings.TrimSpace(shell(`durward audit tail -n 1 | grep -oE '[0-9a-f]{8}-[0-9a-f-]{27}'`))
	env = append(env, "ID="+id)

	examples := examplesBelow(t, shell, "durward")
	for _, line := range examples {
		if !slices.Contains(endless, line) && !slices.Contains(contained, line) && !slices.Contains(asking, line) {
			shell(line)
		}
	}
	if len(examples) < 20 {
		t.Errorf("only %d examples were found", len(examples))
	}
}

// told is what another program was told of a server.
func told(name string) string {
	return `{"mcpServers": {"` + name + `": {"command": "durward", "args": ["mcp", "--files", "."]}}}`
}

// examplesBelow lists the examples of a command and of all below it.
func examplesBelow(t *testing.T, shell func(string) string, command string) []string {
	t.Helper()
	var examples []string
	section := ""
	lines := bufio.NewScanner(bytes.NewBufferString(shell(command + " --help")))
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		if first && line != "Examples:" {
			t.Errorf("the help of %s does not begin with examples", command)
		}
		indented := strings.HasPrefix(line, "  ")
		switch {
		case !indented:
			section = line
		case section == "Examples:":
			examples = append(examples, strings.TrimSpace(line))
		case section == "Commands:" && !strings.HasPrefix(line, "  help "):
			examples = append(examples, examplesBelow(t, shell, command+" "+strings.Fields(line)[0])...)
		}
	}
	if len(examples) < 2 {
		t.Errorf("the help of %s has %d examples", command, len(examples))
	}
	return examples
}
