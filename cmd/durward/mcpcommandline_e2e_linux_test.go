//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// commandLineClients are programs that go to a server, a URL, or start one, a command line, for each
// thing that they do.
func commandLineClients(packages npmPackages) []clientKind {
	inspect := func(era string) func(*testing.T, estate, []string) mcpClient {
		return func(_ *testing.T, e estate, server []string) mcpClient {
			run := packages.program(e, "mcp-inspector", "--cli", "--protocol-era", era, "--connect-timeout", "0", "--format", "json")
			return inspector{run, append([]string{"--"}, server...)}
		}
	}
	port := func(t *testing.T, e estate, server []string) mcpClient {
		door := map[string]any{"command": server[0], "args": server[1:]}
		if strings.HasPrefix(server[0], "http:") {
			door = map[string]any{"url": server[0]}
		}
		plant(t, e.path("mcporter.json"), inJSON(t, map[string]any{"imports": []string{}, "mcpServers": map[string]any{"door": door}}))
		return mcporter{packages.program(e, "mcporter", "--config", e.path("mcporter.json"))}
	}
	return []clientKind{
		{"inspector legacy", false, inspect("legacy")},
		{"inspector modern", true, inspect("modern")},
		{"inspector auto", true, inspect("auto")},
		{"mcporter", false, port},
	}
}

// An inspector is the MCP Inspector without its window.
type inspector struct {
	run    runner
	server []string
}

func (i inspector) list(t *testing.T) []mcpTool {
	t.Helper()
	var said struct{ Result struct{ Tools []mcpTool } }
	out, _ := i.run(t, append([]string{"--method", "tools/list"}, i.server...)...)
	fromJSON(t, out, &said)
	return said.Result.Tools
}

func (i inspector) call(t *testing.T, tool string, arguments arguments) mcpResult {
	t.Helper()
	var said struct{ Result mcpResult }
	out, failed := i.run(t, append([]string{"--method", "tools/call", "--tool-name", tool, "--tool-args-json", inJSON(t, arguments)}, i.server...)...)
	fromJSON(t, out, &said)
	if failed != said.Result.IsError {
		t.Errorf("failed is %v: %s", failed, out)
	}
	return said.Result
}

func (i inspector) read(t *testing.T, path string) string {
	t.Helper()
	return onlyText(t, i.call(t, "fs_read", arguments{"path": path}))
}

func (inspector) close(*testing.T) {} // it ends after each answer

// patience is what an mcporter waits for an answer, in milliseconds.
const patience = "240000"

// An mcporter shows the structure of a result where there is one, and says by its status
// whether the call went well.
type mcporter struct{ run runner }

func (m mcporter) list(t *testing.T) []mcpTool {
	t.Helper()
	var said struct{ Tools []mcpTool }
	out, _ := m.run(t, "list", "door", "--schema", "--json", "--timeout", patience)
	fromJSON(t, out, &said)
	return said.Tools
}

func (m mcporter) call(t *testing.T, tool string, arguments arguments) mcpResult {
	t.Helper()
	var r mcpResult
	out, failed := m.run(t, "call", "door."+tool, "--args", inJSON(t, arguments), "--output", "json", "--timeout", patience)
	fromJSON(t, out, &r)
	if r.Content == nil {
		r = mcpResult{StructuredContent: json.RawMessage(out), IsError: failed}
	}
	if failed != r.IsError {
		t.Errorf("failed is %v: %s", failed, out)
	}
	return r
}

func (m mcporter) read(t *testing.T, path string) string {
	t.Helper()
	out, _ := m.run(t, "call", "door.fs_read", "--args", inJSON(t, arguments{"path": path}), "--output", "text", "--timeout", patience)
	return strings.TrimSuffix(out, "\n") // it ends the line
}

func (mcporter) close(*testing.T) {} // it ends after each answer

// A runner runs a program until it ends, and gives what it prints and whether it failed.
type runner func(t *testing.T, args ...string) (out string, failed bool)

func (n npmPackages) program(e estate, name string, first ...string) runner {
	return func(t *testing.T, args ...string) (string, bool) {
		t.Helper()
		ctx, end := context.WithTimeout(t.Context(), 5*time.Minute)
		defer end()
		c := exec.CommandContext(ctx, n.node(), append(append([]string{n.path(".bin/" + name)}, first...), args...)...)
		var out, told bytes.Buffer
		c.Dir, c.Env, c.Stdout, c.Stderr = e.path("home"), e.environment(), &out, &told
		err := c.Run()
		if c.ProcessState == nil || !c.ProcessState.Exited() || out.Len() == 0 {
			t.Fatalf("%s %q: %v\n%s%s", name, args, err, &out, &told)
		}
		return out.String(), err != nil
	}
}

func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func fromJSON(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
