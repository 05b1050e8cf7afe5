//go:build linux && (amd64 || arm64)

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/mcpserve"
)

// TestTheHubIsADoor takes an allowed, a denied, a timed-out, a cancelled and a crashed call through
// the runtime of a hub and through each of its surfaces: the records are the same.
func TestTheHubIsADoor(t *testing.T) {
	w := newWatchedServer(t)
	env := home(t)
	env["MCP_CONFIG_PATH"] = filepath.Join(env["HOME"], "servers.json")
	env["SANDBOX_DIRECTORY"] = filepath.Join(env["HOME"], "sandbox")
	text := fmt.Sprintf(`{"mcpServers": {"good": {"type": "http", "url": %q}, "slow": {"type": "http", "url": %q, "timeout": 0.4}}}`, w.url, w.url)
	if err := os.WriteFile(env["MCP_CONFIG_PATH"], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(tool durward.ToolID, arguments string) durward.Call {
		return durward.Call{Tool: tool, Input: json.RawMessage(arguments)}
	}
	ran := []string{"intent", "outcome"}
	coretest.SameCall(t, []coretest.Case{
		{Name: "allowed", Call: call("good__answer", `{"path":"a"}`), Leaves: ran, Ends: coretest.Record{"cause": "ok"}},
		{Name: "denied", Call: call("good__answer", `{"path":"/etc/passwd"}`), Leaves: []string{"deny"}, Ends: coretest.Record{"rule": "outsideSandbox"}},
		{Name: "timed out", Call: call("slow__wait", `{}`), Leaves: ran, Ends: coretest.Record{"cause": "timeout"}, Watch: w.watch},
		{Name: "cancelled", Call: call("good__wait", `{}`), Leaves: ran, Ends: coretest.Record{"cause": "cancelled"}, Watch: w.watch, GoesAway: true},
		{Name: "crashed", Call: call("good__crash", `{}`), Leaves: ran, Ends: coretest.Record{"cause": "tool_error"}},
	}, []coretest.Door{
		hubCore(env), hubDoor(env, "http", executes), hubDoor(env, "mcp", callsInSession), hubDoor(env, "mcp", callsModern), hubDoor(env, "stdio", callsOnStdio),
	})
}

// A watchedServer is an MCP server over HTTP that tells when the work of a call begins and is over.
type watchedServer struct {
	url          string
	began, ended chan struct{} // made anew for each watch
}

func newWatchedServer(t *testing.T) *watchedServer {
	t.Helper()
	w := &watchedServer{}
	server, err := mcpserve.New(mcpserve.Options{
		Info: mcpserve.Info{Name: "watched", Version: "1"}, Capabilities: func() json.RawMessage { return json.RawMessage(`{"tools":{}}`) }, Handle: w.handle,
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Name") == "crash" {
			panic(http.ErrAbortHandler)
		}
		server.ServeHTTP(out, r)
	}))
	w.url = web.URL
	t.Cleanup(func() { server.Close(); web.Close() })
	return w
}

func (w *watchedServer) handle(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	if r.Method == "tools/list" {
		return json.RawMessage(`{"tools":[{"name":"answer","inputSchema":{}},{"name":"wait","inputSchema":{}},{"name":"crash","inputSchema":{}}]}`), nil
	}
	if string(r.Param("name")) == `"wait"` {
		close(w.began)
		defer close(w.ended)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return json.RawMessage(`{"content":[]}`), nil
}

func (w *watchedServer) watch(testing.TB) coretest.Watch {
	w.began, w.ended = make(chan struct{}), make(chan struct{})
	return coretest.Between(w.began, w.ended)
}

// A trialHub is a hub that runs.
type trialHub struct {
	*hubServer
	stop func()
}

// openHub opens what stands behind `durward hub`, and starts its servers.
func openHub(t testing.TB, env map[string]string) trialHub {
	t.Helper()
	emptyLog(t, env)
	p, _, _ := start(t, env, env["HOME"], nil)
	x := &hubServing{program: p, given: func(string) bool { return false }}
	e, err := x.estate(true)
	if err != nil {
		t.Fatal(err)
	}
	h := &hubServer{hubServing: x, settings: e.settings, config: e.config, levels: make(chan string, 1)}
	if err := h.open(); err != nil {
		t.Fatal(err)
	}
	h.start(t.Context(), hubBegin)
	h.opening.tell(t.Context())
	return trialHub{h, func() {
		if err := h.close(t.Context()); err != nil {
			t.Error(err)
		}
	}}
}

// hubCore enters the core that stands behind a hub.
func hubCore(env map[string]string) coretest.Door {
	return coretest.Door{Name: "core", Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		h := openHub(t, env)
		c.Call.Door, c.Call.Caller = "core", durward.Caller{Name: "test"}
		_, _ = h.runtime.Do(ctx, c.Call) // the records tell
		h.stop()
		return recordsOf(t, env)
	}}
}

// hubDoor enters by one of the surfaces.
func hubDoor(env map[string]string, name string, enter func(ctx context.Context, t testing.TB, h trialHub, c durward.Call)) coretest.Door {
	return coretest.Door{Name: name, Enter: func(ctx context.Context, t testing.TB, c coretest.Case) []coretest.Record {
		t.Helper()
		h := openHub(t, env)
		enter(ctx, t, h, c.Call)
		h.stop()
		return recordsOf(t, env)
	}}
}

// overHTTP makes requests of the hub at its own address.
func overHTTP(t testing.TB, h trialHub, use func(post func(ctx context.Context, path, body string, headers ...string) http.Header)) {
	t.Helper()
	door, err := hub.New(h.door())
	if err != nil {
		t.Fatal(err)
	}
	l, err := httpedge.Listen(t.Context(), httpedge.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- httpedge.New(door, httpedge.Options{}).Serve(ctx, l) }()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	use(func(ctx context.Context, path, body string, headers ...string) http.Header {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, httpedge.URL(l.Addr())+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		response, err := client.Do(r)
		if err != nil {
			return nil // who goes away gets no answer
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.Header
	})
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// executes calls by POST /execute. Who goes away closes the connection.
func executes(ctx context.Context, t testing.TB, h trialHub, c durward.Call) {
	overHTTP(t, h, func(post func(context.Context, string, string, ...string) http.Header) {
		post(ctx, "/execute", fmt.Sprintf(`{"tool_name":%q,"arguments":%s}`, c.Tool, c.Input))
	})
}

const hubHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// toolsCall is a request; more are further members of the params.
func toolsCall(c durward.Call, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, c.Tool, c.Input, more)
}

// callsInSession calls in a session of the older era.
func callsInSession(ctx context.Context, t testing.TB, h trialHub, c durward.Call) {
	overHTTP(t, h, func(post func(context.Context, string, string, ...string) http.Header) {
		session := post(t.Context(), "/mcp", hubHello).Get("Mcp-Session-Id")
		post(ctx, "/mcp", toolsCall(c, ""), "Mcp-Session-Id", session)
	})
}

// callsModern calls in the newer era.
func callsModern(ctx context.Context, t testing.TB, h trialHub, c durward.Call) {
	overHTTP(t, h, func(post func(context.Context, string, string, ...string) http.Header) {
		meta := `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		post(ctx, "/mcp", toolsCall(c, meta), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", string(c.Tool))
	})
}

// callsOnStdio calls by a line on a byte stream. Who goes away cancels the request.
func callsOnStdio(ctx context.Context, t testing.TB, h trialHub, c durward.Call) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- h.mcp.ServeStream(context.Background(), h.caller(), in, out)
		out.Close()
	}()
	answers := make(chan string, 4)
	go func() {
		for lines := bufio.NewScanner(fromServer); lines.Scan(); {
			answers <- lines.Text()
		}
		close(answers)
	}()
	send := func(line string) {
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	send(hubHello)
	<-answers
	send(toolsCall(c, ""))
	select {
	case <-answers:
	case <-ctx.Done():
		send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	}
	toServer.Close()
	if err := errors.Join(<-ended); err != nil {
		t.Error(err)
	}
}
