//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"path/filepath"
	"testing"
)

// A hub is held to what the protocol demands with a server behind it that offers what the suite asks
// for: one of its own era for each client, since only such a one can ask the client as it does.
func TestHubConforms(t *testing.T) {
	t.Parallel()
	packages, program := installClients(t), buildProgram(t)
	modern, legacy := filepath.Join(t.TempDir(), "modern"), filepath.Join(t.TempDir(), "legacy")
	command(t, []string{"CGO_ENABLED=0"}, "go", "build", "-C", "testdata/gotalk", "-o", modern, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	command(t, []string{"CGO_ENABLED=0"}, "go", "build", "-o", legacy, "../../internal/mcpserve/testdata/everything")
	for _, s := range suites() {
		t.Run(s.name, func(t *testing.T) {
			server := map[string]any{"command": legacy, "args": []string{"--stdio", "--legacy"}}
			if s.name == "2026-07-28" {
				server = map[string]any{"command": modern}
				s = s.behindAHub()
			}
			server["x-gateway"] = map[string]any{"offer": []string{"elicitation", "sampling"}}
			hub := newHubHouse(t, program, servers{"everything": server}, "expose", `["tools","resources","prompts"]`).open("everything")
			s.holds(t, packages, hub.url+"/mcp", hub.told)
			hub.close()
		})
	}
}

// behindAHub is what the suite comes to where a hub answers itself what a server asks, the roots, and
// tells that tools have changed if they have: this server says so of a tool that it had.
func (s suite) behindAHub() suite {
	s.fail = append(s.fail, "input-required-result-basic-list-roots:sep-2322-list-roots-incomplete",
		"server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription")
	s.checks = 149
	return s
}
