//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// hubServers are one of files, which is quick to start, and one that does a bit of everything.
func hubServers(t *testing.T, program string, everything bool) servers {
	t.Helper()
	list := servers{"files": {"command": program, "args": []string{"mcp", "--files", "${workspaceFolder}"}}}
	if everything {
		list["everything"] = realServers(t)["everything"]
	}
	return list
}

// What people use as clients has the tools of all servers of a hub, in each era: at its address,
// and where it is itself the server that they start.
func TestRealClientsUseTheHub(t *testing.T) {
	t.Parallel()
	program, packages := buildProgram(t), installClients(t)
	kinds := slices.Concat(commandLineClients(packages), libraryClients(t, packages))
	t.Run("http", func(t *testing.T) {
		h := newHubHouse(t, program, hubServers(t, program, true))
		hub := h.open("files", "everything")
		for _, kind := range kinds {
			t.Run(kind.name, func(t *testing.T) {
				c := kind.open(t, h.estate, []string{hub.url + "/mcp"})
				hubVisitor{t, h, c}.uses(strings.ReplaceAll(kind.name, " ", "-"))
				if long, ok := c.(*conversation); ok {
					followsALongCall(t, long)
				}
				c.close(t)
			})
		}
		hub.close()
	})
	for _, kind := range kinds {
		t.Run("stdio/"+kind.name, func(t *testing.T) {
			h := newHubHouse(t, program, hubServers(t, program, false))
			c := kind.open(t, h.estate, append([]string{program}, append(h.flags(), "--stdio")...))
			hubVisitor{t, h, c}.uses("file")
			c.close(t)
			h.deserted()
		})
	}
}

// A hubVisitor calls tools of a hub.
type hubVisitor struct {
	t      *testing.T
	house  hubHouse
	client mcpClient
}

// uses makes a file of that name, and tries to make one where none may be.
func (v hubVisitor) uses(name string) {
	v.t.Helper()
	var names []string
	for _, tool := range v.client.list(v.t) {
		names = append(names, tool.Name)
	}
	if !slices.Contains(names, "read_file") || !slices.Contains(names, "write_file") {
		v.t.Fatalf("the client lists %q", names)
	}
	if r := v.client.call(v.t, "write_file", arguments{"path": name + ".txt", "content": letter}); r.IsError {
		v.t.Errorf("write_file: %+v", r)
	}
	v.house.has("work/"+name+".txt", letter)
	r := v.client.call(v.t, "read_file", arguments{"path": name + ".txt"})
	var read struct{ Data string }
	fromJSON(v.t, string(r.StructuredContent), &read)
	if r.IsError || read.Data != letter {
		v.t.Errorf("read_file: %+v", r)
	}
	if r := v.client.call(v.t, "write_file", arguments{"path": "../" + name + ".txt", "content": "x"}); !r.IsError {
		v.t.Errorf("a file outside: %+v", r)
	}
	if _, err := os.Lstat(v.house.path(name + ".txt")); !os.IsNotExist(err) {
		v.t.Errorf("a file was made outside: %v", err)
	}
}

// followsALongCall hears how a call goes while it does. What is told at its end some clients tell
// after it.
func followsALongCall(t *testing.T, c *conversation) {
	t.Helper()
	c.begin(t, "trigger-long-running-operation", arguments{"duration": 0.4, "steps": 4})
	for want := 1.0; want <= 3; want++ {
		if done := c.progress(t); done != want {
			t.Errorf("progress is %v, not %v", done, want)
		}
	}
	var r mcpResult
	if c.result(t, &r); r.IsError {
		t.Errorf("the long call: %+v", r)
	}
}

// A hub shows what a server says of its tools as the server says it. One of them is for clients with
// roots, as the hub is.
func TestHubPassesToolsOn(t *testing.T) {
	t.Parallel()
	program, packages := buildProgram(t), installClients(t)
	everything := realServers(t)["everything"]
	h := newHubHouse(t, program, servers{"everything": everything})
	hub := h.open("everything")
	kinds := libraryClients(t, packages)
	typescript := kinds[slices.IndexFunc(kinds, func(k clientKind) bool { return k.name == "typescript 1" })]
	list := func(server ...string) map[string]any {
		c := typescript.open(t, h.estate, server).(*conversation)
		defer c.close(t)
		var got struct{ Tools []json.RawMessage }
		c.tell(t, "list", true)
		c.result(t, &got)
		tools := map[string]any{}
		for _, text := range got.Tools {
			var tool struct{ Name string }
			fromJSON(t, string(text), &tool)
			tools[tool.Name] = valueOf(t, text)
		}
		return tools
	}
	direct := list(append([]string{everything["command"].(string)}, everything["args"].([]string)...)...)
	through := list(hub.url + "/mcp")
	delete(through, "get-roots-list")
	if len(through) != 13 || inJSON(t, through) != inJSON(t, direct) {
		t.Errorf("the hub lists\n%s\nthe server\n%s", inJSON(t, through), inJSON(t, direct))
	}
	hub.close()
}
