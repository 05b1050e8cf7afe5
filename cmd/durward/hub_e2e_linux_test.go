//go:build linux && e2e

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The hub's containers as they come: files are written and read through it, under the one folder,
// and are there after the containers were taken away. Of them nothing is left.
func TestHubInAContainer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project := filepath.Join(dir, "durward")
	copyProject(t, project, "config")
	h := &composed{engine: startEngine(t, dir), dir: project, t: t}
	h.up(t, "deploy/docker-compose.hub.yml")
	h.serves()
	h.hardened("hub")
	h.checksItself("hub")
	pid := h.inspect("hub").State.Pid

	h.executes(`{"tool_name":"write_file","arguments":{"path":"a.txt","content":"hello"}}`, `"status":"success"`)
	h.executes(`{"tool_name":"read_file","arguments":{"path":"/workspace/a.txt"}}`, `"data":"hello"`)
	for _, outside := range []string{"/etc/passwd", "../bin/durward", "/var/lib/durward/state"} {
		h.executes(`{"tool_name":"read_file","arguments":{"path":"`+outside+`"}}`, `"code":"path_validation"`)
	}

	h.compose("down", "-t", "5")
	if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); !os.IsNotExist(err) {
		t.Errorf("process %d is left: %v", pid, err)
	}
	h.compose("up", "-d")
	h.serves()
	h.executes(`{"tool_name":"read_file","arguments":{"path":"a.txt"}}`, `"data":"hello"`)
	h.compose("exec", "-T", "hub", "/bin/durward", "audit", "verify")

	h.compose("down", "-t", "5", "-v")
	for what, list := range map[string][]string{"containers": {"ps", "-aq"}, "volumes": {"volume", "ls", "-q"}, "networks": {"network", "ls", "-q", "-f", "type=custom"}} {
		if left := strings.TrimSpace(command(t, h.client, "docker", list...)); left != "" {
			t.Errorf("%s are left: %s", what, left)
		}
	}
}

// serves waits until the server of files runs.
func (h *composed) serves() {
	h.t.Helper()
	eventually(h.t, "the server of files runs", func() bool {
		out, err := h.inside("curl", "-fsS", "http://localhost:8002/health").Output()
		return err == nil && strings.Contains(string(out), `"status":"healthy"`)
	})
}

// executes has a tool called, and looks for a part of the answer.
func (h *composed) executes(order, want string) {
	h.t.Helper()
	out, err := h.inside("curl", "-sS", "http://localhost:8002/execute", "--json", order).Output()
	if err != nil || !strings.Contains(string(out), want) {
		h.t.Errorf("%s: %v, %s", order, withStderr(err), out)
	}
}
