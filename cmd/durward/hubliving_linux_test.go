//go:build abuse && (amd64 || arm64)

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A livingHub is `durward hub` whose servers misbehave as they are told to, by their argument
// "tool" if they have the word "any". Its sandbox directory is "work", its temporary one "tmp".
type livingHub struct{ *gatewayHouse }

// keepHub starts a hub with servers of these configurations, and waits for nothing else. In
// these FIXTURE is the program, and DIR the directory of the house. The environment comes in pairs.
func keepHub(t *testing.T, servers map[string]string, env ...string) livingHub {
	t.Helper()
	dir := openDir(t)
	h := livingHub{&gatewayHouse{t: t, dir: dir}}
	for _, name := range []string{"work", "tmp"} {
		if err := os.Mkdir(h.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(h.path(name), 0o777); err != nil { // for servers that are somebody else
			t.Fatal(err)
		}
	}
	fixture := h.path("bin/fixture")
	build := exec.Command("go", "build", "-o", fixture, "../../internal/engine/mcpclient/testdata/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	entries := map[string]json.RawMessage{}
	for name, text := range servers {
		entries[name] = json.RawMessage(strings.NewReplacer("FIXTURE", fixture, "DIR", dir).Replace(text))
	}
	document, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	h.write("servers.json", string(document))
	h.open(env...)
	return h
}

// open starts a hub in the house.
func (h livingHub) open(env ...string) {
	h.t.Helper()
	h.cmd = program(h.t, "hub", "--port", "0", "--config", h.path("servers.json"), "--sandbox-dir", h.path("work"))
	h.cmd.Env = append(h.cmd.Env, append([]string{"TMPDIR=" + h.path("tmp"), "GORACE=atexit_sleep_ms=0"}, env...)...)
	h.read = make(chan struct{})
	h.begin()
}

// A hubHealth is what the hub says of its servers.
type hubHealth struct {
	Servers map[string]string
	Details map[string]struct {
		PID, Restarts int
		LastError     string `json:"last_error"`
		Sandbox       *struct {
			Mode       string
			Level      int
			Guarantees map[string]struct{ Held string }
		}
	}
}

func (h livingHub) health() (at hubHealth) {
	h.t.Helper()
	a := h.send("GET", "/health", "")
	if err := json.Unmarshal([]byte(a.body), &at); err != nil || a.status != 200 {
		h.t.Fatalf("%d %s", a.status, a.body)
	}
	return at
}

// runs waits until these servers run, and gives the processes.
func (h livingHub) runs(names ...string) (pids []int) {
	h.t.Helper()
	for _, name := range names {
		var at hubHealth
		eventually(h.t, name+" runs", func() bool { at = h.health(); return at.Details[name].PID > 0 })
		pids = append(pids, at.Details[name].PID)
	}
	return pids
}

// execute posts an order of a tool.
func (h livingHub) execute(tool, arguments string) gatewayAnswer {
	h.t.Helper()
	return h.send("POST", "/execute", `{"tool_name":"`+tool+`","arguments":`+arguments+`}`, "Content-Type", "application/json")
}

// does has a server do something, and gives what comes of it.
func (h livingHub) does(server, arguments string) string {
	h.t.Helper()
	return h.execute(server+"__any", arguments).body
}

// session begins one at /mcp, and gives the header that names it.
func (h livingHub) session(version string) []string {
	h.t.Helper()
	a := h.mcp(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != 200 || id == "" {
		h.t.Fatalf("%d %s", a.status, a.body)
	}
	return []string{"Mcp-Session-Id", id}
}

func (h livingHub) mcp(body string, headers ...string) gatewayAnswer {
	h.t.Helper()
	return h.send("POST", "/mcp", body, append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, headers...)...)
}

// toolCall is a request in a session.
func toolCall(id int64, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// newerCall is a request of the revision without sessions, with its headers.
func newerCall(id int64, tool, arguments string) (body string, headers []string) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`
	body = strings.Replace(toolCall(id, tool, arguments), `"params":{`, `"params":{`+meta, 1)
	return body, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}
}

// descendants are the processes that a process has started, and those that these have.
func descendants(t testing.TB, of int) map[int]string {
	t.Helper()
	parents, states := map[int]int{}, map[int]string{}
	list, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range list {
		text, _ := os.ReadFile(path) // it may end meanwhile
		_, behind, ok := strings.Cut(string(text), ") ")
		if fields := strings.Fields(behind); ok && len(fields) > 1 {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			parents[pid], _ = strconv.Atoi(fields[1])
			states[pid] = fields[0]
		}
	}
	maps.DeleteFunc(states, func(pid int, _ string) bool {
		for at := parents[pid]; at > 1; at = parents[at] {
			if at == of {
				return false
			}
		}
		return true
	})
	return states
}

// descriptors counts what a process has open.
func descriptors(t testing.TB, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// lives reports whether a process is there, and is no corpse.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, behind, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(behind, "Z")
}
