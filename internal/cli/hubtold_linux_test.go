//go:build linux && (amd64 || arm64)

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/mcpserve"
	"github.com/durward/durward/internal/mcpspec"
)

// What a server logs while it works on a call of POST /execute reaches no session of another token,
// also not one that has a call of its own at the server.
func TestLogsOfAnotherToken(t *testing.T) {
	env := home(t)
	work := map[string]chan bool{"red": make(chan bool), "blue": make(chan bool)}
	server, err := mcpserve.New(mcpserve.Options{
		Info: mcpserve.Info{Name: "s", Version: "1"}, Capabilities: func() json.RawMessage { return json.RawMessage(`{"tools":{},"logging":{}}`) },
		Handle: func(_ context.Context, r *mcpserve.Request) (json.RawMessage, error) {
			if r.Method == "tools/list" {
				return json.RawMessage(`{"tools":[{"name":"work","inputSchema":{}}]}`), nil
			}
			var arguments struct{ For string }
			err := json.Unmarshal(r.Param("arguments"), &arguments)
			work[arguments.For] <- true
			<-work[arguments.For]
			level, _ := mcpspec.LevelNamed("error")
			r.Log(level, json.RawMessage(`{"level":"error","data":"secret of `+arguments.For+`"}`))
			return json.RawMessage(`{"content":[]}`), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	web := httptest.NewServer(server)
	defer web.Close()
	var tokens []string
	for name := range work {
		file := filepath.Join(env["HOME"], name+".token")
		if err := os.WriteFile(file, []byte("s3cret-"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, fmt.Sprintf(`{"name": %q, "file": %q, "allowTools": ["*"]}`, name, file))
	}
	env["MCP_CONFIG_PATH"], env["SANDBOX_DIRECTORY"] = filepath.Join(env["HOME"], "servers.json"), filepath.Join(env["HOME"], "sandbox")
	text := fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q, "x-gateway": {"concurrency": 2}}}, "x-gateway": {"tokens": [%s]}}`, web.URL, strings.Join(tokens, ","))
	if err := os.WriteFile(env["MCP_CONFIG_PATH"], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHub(t, env)
	defer h.stop()
	known, err := hubTokens("", h.config.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	h.rules.Authenticate = known.Authenticate
	door, err := hub.New(h.door())
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(door)
	defer front.Close()
	h.engine.SetLevel(t.Context(), "debug")
	post := func(token, path, session, body string) (string, string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+path, strings.NewReader(body))
		r.Header = http.Header{
			"Authorization": {"Bearer s3cret-" + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session},
		}
		if session == "" {
			r.Header.Del("Mcp-Session-Id")
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return "", ""
		}
		defer answer.Body.Close()
		said, _ := io.ReadAll(answer.Body)
		return string(said), answer.Header.Get("Mcp-Session-Id")
	}
	_, session := post("blue", "/mcp", "", hubHello)
	post("blue", "/mcp", session, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`)
	red, blue := make(chan string, 1), make(chan string, 1)
	go func() {
		said, _ := post("red", "/execute", "", `{"tool_name":"work","arguments":{"for":"red"}}`)
		red <- said
	}()
	<-work["red"]
	go func() {
		said, _ := post("blue", "/mcp", session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"work","arguments":{"for":"blue"}}}`)
		blue <- said
	}()
	<-work["blue"]
	work["red"] <- true
	if said := <-red; !strings.Contains(said, `"status":"success"`) {
		t.Error(said)
	}
	work["blue"] <- true
	if said := <-blue; strings.Contains(said, "secret of red") || !strings.Contains(said, "secret of blue") {
		t.Errorf("it heard %s", said)
	}
}
