//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// realServers are servers that people use, of both eras.
func realServers(t *testing.T) servers {
	t.Helper()
	clients := installClients(t)
	packages := installPackages(t, "servers", func(npmPackages) string { return clients.node() })
	python := installPython(t)
	index := func(name string) string {
		return packages.path("@modelcontextprotocol/server-" + name + "/dist/index.js")
	}
	return servers{
		"files":      {"command": clients.node(), "args": []string{index("filesystem"), "${workspaceFolder}"}},
		"everything": {"command": clients.node(), "args": []string{index("everything"), "stdio"}},
		"time":       {"command": python, "args": []string{"-m", "mcp_server_time", "--local-timezone", "UTC"}},
		"git": {
			"command": python, "args": []string{"-m", "mcp_server_git", "--repository", "${workspaceFolder}/repo"},
			"env":       map[string]string{"GIT_AUTHOR_NAME": "me", "GIT_AUTHOR_EMAIL": "me@test", "GIT_COMMITTER_NAME": "me", "GIT_COMMITTER_EMAIL": "me@test"},
			"x-gateway": map[string]any{"fileServer": true},
		},
	}
}

// Servers that people use work behind one hub: their tools do what they do, where they may.
func TestRealServersBehindOneHub(t *testing.T) {
	t.Parallel()
	h := newHubHouse(t, buildProgram(t), realServers(t))
	command(t, nil, "git", "init", "-q", "-b", "main", h.path("work/repo"))
	if err := os.Symlink(h.dir, h.path("work/up")); err != nil {
		t.Fatal(err)
	}
	hub := h.open("files", "everything", "time", "git")
	hub.knowsThem()
	t.Run("files", func(t *testing.T) { h.usesFiles(t, hub.in(t)) })
	t.Run("everything", func(t *testing.T) { h.usesEverything(t, hub.in(t)) })
	t.Run("time", func(t *testing.T) {
		hub.in(t).gives("get_current_time", arguments{"timezone": "UTC"}, arguments{"timezone": "UTC", "datetime": "…+00:00", "day_of_week": "…day", "is_dst": false})
	})
	t.Run("git", func(t *testing.T) { h.usesGit(t, hub.in(t)) })
	t.Run("restart", func(t *testing.T) { hub.in(t).outlives("everything") })
	hub.close()
}

// knowsThem asks how the servers are, and what they offer.
func (h hub) knowsThem() {
	h.t.Helper()
	var at health
	h.gets("/health", &at)
	eras := map[string]string{}
	for name, server := range at.Details {
		eras[name] = server.Era + " " + server.ProtocolVersion + " " + strconv.Itoa(server.Tools)
	}
	want := map[string]string{"files": "legacy 2025-11-25 14", "everything": "legacy 2025-11-25 14", "time": "modern 2026-07-28 2", "git": "modern 2026-07-28 12"}
	if at.Status != "healthy" || !maps.Equal(eras, want) {
		h.t.Errorf("the servers are %s, %v\n%s", at.Status, eras, h.told)
	}
	var listed struct {
		Tools []struct {
			Name, Server  string
			QualifiedName string          `json:"qualified_name"`
			InputSchema   json.RawMessage `json:"input_schema"`
		}
	}
	h.gets("/tools", &listed)
	tools := map[string]int{}
	for _, tool := range listed.Tools {
		tools[tool.Server]++
		if tool.QualifiedName != tool.Server+"__"+tool.Name || !strings.Contains(string(tool.InputSchema), `"object"`) {
			h.t.Errorf("a tool is listed as %+v", tool)
		}
	}
	if want := map[string]int{"files": 14, "everything": 14, "time": 2, "git": 12}; !maps.Equal(tools, want) {
		h.t.Errorf("tools are listed as %v; want %v", tools, want)
	}
}

func (h hubHouse) usesFiles(t *testing.T, hub hub) {
	written := map[string]string{"content": "Successfully wrote to " + h.path("work/a.txt")}
	hub.gives("write_file", arguments{"path": "a.txt", "content": letter}, written)
	h.has("work/a.txt", letter)
	hub.gives("read_text_file", arguments{"path": "a.txt"}, arguments{"content": letter})
	hub.gives("files__read_text_file", arguments{"path": h.path("work/a.txt")}, arguments{"content": letter})
	hub.gives("list_allowed_directories", arguments{}, arguments{"content": "Allowed directories:\n" + h.path("work")})

	for _, path := range []string{"../new.txt", h.path("new.txt"), "up/new.txt", "up/home/../new.txt", "%2e%2e/new.txt"} {
		hub.refuses("write_file", arguments{"path": path, "content": "x"})
	}
	if _, err := os.Lstat(h.path("new.txt")); !os.IsNotExist(err) {
		t.Errorf("a file was made outside: %v", err)
	}
	hub.refuses("read_text_file", arguments{"path": "up/outside.txt"})
	hub.refuses("read_multiple_files", arguments{"paths": []string{"a.txt", "../outside.txt"}})
	hub.refuses("move_file", arguments{"source": "a.txt", "destination": "../a.txt"})
	h.has("work/a.txt", letter)
}

func (h hubHouse) usesEverything(t *testing.T, hub hub) {
	hub.gives("echo", arguments{"message": letter}, "Echo: "+letter)
	hub.gives("get-sum", arguments{"a": 1, "b": 2.5}, "The sum of 1 and 2.5 is 3.5.")
	hub.gives("get-structured-content", arguments{"location": "Chicago"}, arguments{"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82})
	hub.gives("get-tiny-image", arguments{}, []arguments{
		{"type": "text", "text": "…"}, {"type": "image", "data": "iVBO…", "mimeType": "image/png"}, {"type": "text", "text": "…"},
	})
	hub.gives("get-roots-list", arguments{}, "…file://"+h.path("work")+"…")
	if x := hub.execute("get-env", arguments{}); strings.Contains(x.text, "number nine") || !strings.Contains(x.text, "SANDBOX_DIR") {
		t.Errorf("its environment is %s", x.text)
	}
	if x := hub.execute("get-sum", arguments{"a": "one"}); x.httpStatus != 200 || x.Status != "error" || !strings.Contains(x.Error, "-32602") {
		t.Errorf("a bad argument gives %d %s", x.httpStatus, x.text)
	}
}

func (h hubHouse) usesGit(t *testing.T, hub hub) {
	plant(t, h.path("work/repo/page.md"), "# A page\n")
	hub.gives("git_add", arguments{"repo_path": "repo", "files": []string{"page.md"}}, "Files staged successfully")
	hub.gives("git_commit", arguments{"repo_path": "repo", "message": "Begin"}, "Changes committed successfully with hash …")
	if got := command(t, nil, "git", "-C", h.path("work/repo"), "log", "--format=%an: %s", "--stat"); !strings.Contains(got, "me: Begin\n\n page.md | 1 +") {
		t.Errorf("the log says %s", got)
	}
	hub.refuses("git_status", arguments{"repo_path": ".."})
}

// outlives kills a server, which is started again.
func (h hub) outlives(name string) {
	h.t.Helper()
	pid := h.runs(name)
	if n, err := strconv.Atoi(pid); err != nil {
		h.t.Fatal(err)
	} else if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	h.told.await(h.t, `"msg":"server_stopped","server":"`+name+`"`)
	h.told.await(h.t, `(?s)"msg":"server_stopped","server":"`+name+`".*"msg":"server_running","server":"`+name+`"`)
	h.gives("echo", arguments{"message": "again"}, "Echo: again")
}
