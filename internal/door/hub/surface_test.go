package hub_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/httpedge"
)

// A surface is a hub on a real connection as clients of MCP see it. It has tools and prompts of the
// server "files"; the holder of the token "limited" knows of none whose name begins with "w".
type surface struct {
	*bench
	mcp     *hub.MCP
	records coretest.Memory
	// work does the calls; events is nil where nobody listens.
	work func(ctx context.Context, c durward.Call, events durward.Events) (durward.Result, error)

	mu    sync.Mutex
	lists map[string]hub.Shown // guarded by mu; by the kind
}

func openSurface(t *testing.T, change ...func(*hub.MCPOptions)) *surface {
	t.Helper()
	s := &surface{lists: map[string]hub.Shown{}}
	s.show("tools", "1", "read", "write")
	s.show("prompts", "1", "review", "write")
	s.bench = open(t, func(o *hub.Options) {
		m := hub.MCPOptions{
			Version: "1", Expose: []string{"tools"}, Metrics: o.Metrics, Show: s.shown, SetLevel: func(string) {},
			Tool: func(name string) (hub.Listed, json.RawMessage, bool) {
				l, ok := s.find("tools", name)
				return l, nil, ok
			},
			Prompt:   func(name string) (hub.Listed, string, bool) { l, ok := s.find("prompts", name); return l, l.Name, ok },
			Resource: func(uri string) (string, bool) { return "files", strings.HasPrefix(uri, "memo:") },
			Knows:    knows, Hears: func(c durward.Caller) bool { return c.Name != "token:limited" },
			Timeout: func(durward.ToolID) time.Duration { return 20 * time.Second },
		}
		var err error
		m.Runtime, err = core.New(core.Options{
			Source: s, Policy: coretest.PolicyFunc(decide), Recorder: &s.records,
			Engines:       map[string]core.Engine{"script": &coretest.Script{OnRun: s.run, OnOpen: s.openWork}},
			MaxConcurrent: 8, MaxQueue: 8, QueueTime: time.Minute,
		})
		for _, f := range change {
			f(&m)
		}
		if err == nil {
			s.mcp, err = hub.NewMCP(m)
		}
		var tokens httpedge.Tokens
		for _, name := range []string{"limited", "all"} {
			token, wrong := httpedge.NewToken(name, "s3cret-"+name)
			if err == nil {
				err = wrong
			}
			tokens = append(tokens, token)
		}
		if err != nil {
			t.Fatal(err)
		}
		o.MCP, o.Rules.Authenticate = s.mcp, tokens.Authenticate
	})
	t.Cleanup(s.mcp.Close)
	return s
}

func knows(c durward.Caller, id durward.ToolID) bool {
	return c.Name != "token:limited" || !strings.HasPrefix(strings.TrimPrefix(string(id), "prompts/"), "w")
}

// show makes a list of these names.
func (s *surface) show(kind, version string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := hub.Shown{Version: version}
	for _, name := range names {
		shown.Items = append(shown.Items, hub.Listed{
			Name: name, ID: durward.ToolID(name), Server: "files", Raw: json.RawMessage(`{"title":"T","name":"own.` + name + `","x":1.0}`),
		})
	}
	s.lists[kind] = shown
}

func (s *surface) shown(kind string, caller durward.Caller) hub.Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.lists[kind]
	known := hub.Shown{Version: all.Version}
	for _, l := range all.Items {
		if knows(caller, l.ID) {
			known.Items = append(known.Items, l)
		}
	}
	return known
}

func (s *surface) find(kind, name string) (hub.Listed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lists[kind].Items {
		if l.Name == name {
			return l, true
		}
	}
	return hub.Listed{}, false
}

// Find finds everything, for what is not there the surface refuses.
func (s *surface) Find(_ context.Context, id durward.ToolID) (durward.Tool, error) {
	return durward.Tool{ID: id, Engine: "script"}, nil
}

func (s *surface) Tools(context.Context) ([]durward.Tool, error) { return nil, nil }

func (s *surface) run(ctx context.Context, c durward.Call) (durward.Result, error) {
	return s.work(ctx, c, nil)
}

func (s *surface) openWork(ctx context.Context, c durward.Call, events durward.Events) (durward.Session, error) {
	return core.Background(ctx, "test", func(ctx context.Context) (durward.Result, error) { return s.work(ctx, c, events) }), nil
}

// A visitor is a client with a token, and perhaps with a session.
type visitor struct {
	*surface
	headers []string
}

// refusals counts the records of calls that were refused.
func (s *surface) refusals(t *testing.T) int {
	t.Helper()
	return strings.Count(strings.Join(recorded(t, &s.records), ","), coretest.PhaseDeny)
}

// recorded gives the phase, the tool and the code of each record.
func recorded(t *testing.T, m *coretest.Memory) (list []string) {
	t.Helper()
	for _, r := range m.Records(t) {
		one := fmt.Sprint(r["phase"], " ", r["tool"])
		if code := r["code"]; code != nil {
			one += fmt.Sprint(" ", code)
		}
		list = append(list, one)
	}
	return list
}

func (s *surface) visit(token string) visitor {
	return visitor{s, []string{"Authorization", "Bearer s3cret-" + token, "Accept", "application/json, text/event-stream"}}
}

// begin begins a session.
func (v visitor) begin(capabilities string) visitor {
	v.t.Helper()
	status, text, header := v.send("POST", "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":`+
		capabilities+`,"clientInfo":{"name":"c","version":"1"}}}`, v.headers...)
	if status != 200 || header.Get("Mcp-Session-Id") == "" {
		v.t.Fatalf("%d %s", status, text)
	}
	return visitor{v.surface, append(v.headers[:len(v.headers):len(v.headers)], "Mcp-Session-Id", header.Get("Mcp-Session-Id"))}
}

// ask makes a request in the session, and gives what is behind the id of the answer, or all events.
func (v visitor) ask(method, params string) string {
	v.t.Helper()
	_, text, _ := v.send("POST", "/mcp", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+params+`}}`, v.headers...)
	return strings.TrimSuffix(strings.TrimPrefix(text, `{"jsonrpc":"2.0","id":7,`), "}")
}

// askNewer makes a request of the revision without sessions.
func (v visitor) askNewer(method, name, capabilities, params string) string {
	v.t.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}` + params + `}}`
	_, text, _ := v.send("POST", "/mcp", body, append(v.headers[:len(v.headers):len(v.headers)], "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)...)
	return strings.TrimSuffix(strings.TrimPrefix(text, `{"jsonrpc":"2.0","id":7,`), "}")
}

// events makes a request in the session whose answer comes with others before it; next gives them
// one by one, and nothing at the end.
func (v visitor) events(method, body string) (next func() string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.url+"/mcp", strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(v.headers); i += 2 {
		r.Header.Set(v.headers[i], v.headers[i+1])
	}
	response, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		v.t.Fatalf("%d %s", response.StatusCode, kind)
	}
	lines := bufio.NewScanner(response.Body)
	return func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "" {
				return data
			}
		}
		return ""
	}
}

func callOf(id int, name, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q%s}}`, id, name, more)
}

// says compares a text.
func says(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}

func has(t *testing.T, got string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

const done = `{"content":[],"n":1.0}`

func finished() (durward.Result, error) { return durward.Result{Output: json.RawMessage(done)}, nil }
