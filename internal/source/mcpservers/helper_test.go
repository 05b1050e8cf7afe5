package mcpservers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/source/mcpservers"
)

// A fleet is what servers have, by their names.
type fleet struct {
	mu      sync.Mutex
	tools   map[string][]mcpservers.Tool // guarded by mu
	stopped map[string]bool              // guarded by mu
	items   map[string][]hubconfig.Item  // guarded by mu; by kind and server
}

func (f *fleet) Tools(server string) []mcpservers.Tool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tools[server]
}

func (f *fleet) Resources(server string) []hubconfig.Item { return f.has("resource", server) }
func (f *fleet) Templates(server string) []hubconfig.Item { return f.has("template", server) }
func (f *fleet) Prompts(server string) []hubconfig.Item   { return f.has("prompt", server) }

func (f *fleet) has(what, server string) []hubconfig.Item {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.items[what+" "+server]
}

// offer gives a server other things than tools: "resource", "template" or "prompt".
func (f *fleet) offer(what, server string, keys ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var items []hubconfig.Item
	for _, key := range keys {
		raw, _ := json.Marshal(map[string]string{"uri": key, "by": server})
		items = append(items, hubconfig.Item{Key: key, Raw: raw})
	}
	f.items[what+" "+server] = items
}

func (f *fleet) Running(server string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.stopped[server]
}

func (f *fleet) stop(server string, stopped bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped[server] = stopped
}

func (f *fleet) set(server string, tools ...mcpservers.Tool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools[server] = tools
}

// fleetOf has the tools of servers by their names: "a: read write".
func fleetOf(lines ...string) *fleet {
	f := &fleet{tools: map[string][]mcpservers.Tool{}, stopped: map[string]bool{}, items: map[string][]hubconfig.Item{}}
	for _, line := range lines {
		server, tools, _ := strings.Cut(line, ":")
		f.tools[server] = nil
		for _, name := range strings.Fields(tools) {
			f.tools[server] = append(f.tools[server], tool(name))
		}
	}
	return f
}

func tool(name string) mcpservers.Tool {
	t := mcpservers.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type": "object"}`)}
	t.Raw, _ = json.Marshal(t)
	return t
}

// A sandbox is a directory of its own with a guard.
type sandbox struct {
	*pathguard.Guard
	top, root string
}

func newSandbox(t testing.TB) sandbox {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	s := sandbox{top: top, root: top + "/root"}
	must(t, os.MkdirAll(s.root+"/sub", 0o700))
	must(t, os.MkdirAll(top+"/outside/deep", 0o700))
	must(t, os.MkdirAll(top+"/root-evil", 0o700))
	must(t, os.WriteFile(s.root+"/a.txt", nil, 0o600))
	must(t, os.Symlink("../outside/deep", s.root+"/out"))
	s.Guard, err = pathguard.Open([]string{s.root}, pathguard.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// parse reads a configuration of which ${workspaceFolder} is the sandbox.
func parse(t testing.TB, text string) *hubconfig.Config {
	t.Helper()
	c, problems := hubconfig.Parse("hub.json", []byte(text), hubconfig.Setting{Dir: "/", Workspace: "/work"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// configOf has servers in their order, each with what is in its x-gateway: `a "concurrency": 2`.
func configOf(t testing.TB, top string, servers ...string) *hubconfig.Config {
	var list []string
	for _, one := range servers {
		name, extras, _ := strings.Cut(one, " ")
		list = append(list, `{"name": "`+name+`", "command": "x", "x-gateway": {`+extras+`}}`)
	}
	return parse(t, `{`+top+` "servers": [`+strings.Join(list, ",")+`]}`)
}

func sourceOf(t testing.TB, c *hubconfig.Config, f *fleet, j mcpservers.Judge) *mcpservers.Source {
	t.Helper()
	s, err := mcpservers.New(c, mcpservers.Options{Servers: f, Judge: j})
	must(t, err)
	return s
}

// bind binds arguments to the one tool of a server called a.
func bind(t testing.TB, s *mcpservers.Source, arguments string) (string, error) {
	t.Helper()
	found, err := s.Find(t.Context(), "use")
	must(t, err)
	input, err := s.Bind(t.Context(), found, durward.Call{Tool: "use", Input: json.RawMessage(arguments)})
	return string(input), err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
