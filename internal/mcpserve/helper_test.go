package mcpserve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpserve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds what a test waits for.
const limit = 20 * time.Second

const offered = `{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true,"listChanged":true}}`

// A subject is a server with one client's connections.
type subject struct {
	*testing.T
	*mcpserve.Server
	url    string
	client *http.Client
}

// ways are the capabilities of clients whose requests are carried out where they are read, and
// beside that: those can be asked.
var ways = []string{`{}`, `{"elicitation":{}}`}

type handler func(ctx context.Context, r *mcpserve.Request) (json.RawMessage, error)

// serve starts a server over HTTP.
func serve(t *testing.T, handle handler, change ...func(*mcpserve.Options)) *subject {
	t.Helper()
	s := newServer(t, handle, change...)
	web := httptest.NewServer(s)
	s.url, s.client = web.URL, &http.Client{Transport: &http.Transport{}, Timeout: limit}
	t.Cleanup(func() {
		s.Close()
		s.client.CloseIdleConnections()
		web.Close()
	})
	return s
}

func newServer(t *testing.T, handle handler, change ...func(*mcpserve.Options)) *subject {
	t.Helper()
	if handle == nil {
		handle = echo
	}
	o := mcpserve.Options{
		Info: mcpserve.Info{Name: "subject", Version: "1"}, Capabilities: func() json.RawMessage { return json.RawMessage(offered) }, Handle: handle,
		Quiet: func(r *mcpserve.Request) bool { return !r.WantsProgress() && !r.Can("elicitation") },
	}
	for _, f := range change {
		f(&o)
	}
	s, err := mcpserve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &subject{T: t, Server: s}
}

// echo answers with the params, and knows no method that is named after none.
func echo(_ context.Context, r *mcpserve.Request) (json.RawMessage, error) {
	switch r.Method {
	case "tools/list":
		return json.RawMessage(`{"tools":[]}`), nil
	case "tools/call":
		return json.RawMessage(`{"content":[],"big":12345678901234567890,"one":1.0}`), nil
	case "resources/subscribe", "resources/unsubscribe":
		return json.RawMessage(`{}`), nil
	case "break":
		return nil, errors.New("a secret cause")
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "no such method"}
}

// An answer is what a request came to.
type answer struct {
	status int
	header http.Header
	body   string
}

// send makes a request; headers are "Name: value".
func (s *subject) send(method, body string, headers ...string) answer {
	s.Helper()
	r := s.open(method, body, headers...)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer{r.StatusCode, r.Header, string(text)}
}

// open makes a request and leaves the body to be read.
func (s *subject) open(method, body string, headers ...string) *http.Response {
	s.Helper()
	r, err := s.client.Do(s.request(method, body, headers...))
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func (s *subject) request(method, body string, headers ...string) *http.Request {
	s.Helper()
	r, err := http.NewRequest(method, s.url, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if more, ok := strings.CutPrefix(name, "+"); ok { // beside the one that is there
			r.Header.Add(more, value)
			continue
		}
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Set(name, value)
	}
	return r
}

func (s *subject) post(body string, headers ...string) answer {
	s.Helper()
	return s.send(http.MethodPost, body, headers...)
}

// begin begins a session and gives the header that names it.
func (s *subject) begin(capabilities string) (session string) {
	s.Helper()
	return s.beginAs("2025-11-25", capabilities)
}

func (s *subject) beginAs(version, capabilities string) (session string) {
	s.Helper()
	a := s.post(hello(version, capabilities))
	id := a.header.Get("Mcp-Session-Id")
	if a.status != http.StatusOK || id == "" || !strings.Contains(a.body, `"protocolVersion":"`+version+`"`) {
		s.Fatalf("initialize: %d %s", a.status, a.body)
	}
	return "Mcp-Session-Id: " + id
}

func hello(version, capabilities string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`
}

// modern is a request of the newer era with its headers.
func modern(id, method, params string, more ...string) (body string, headers []string) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	if params != "" {
		params = "," + params
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + meta + params + `}}`,
		append([]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}, more...)
}

// Events reads a stream of events.
type events struct {
	*testing.T
	body io.ReadCloser
	in   *bufio.Reader
}

func (s *subject) events(r *http.Response) *events {
	s.Helper()
	if kind := r.Header.Get("Content-Type"); r.StatusCode != http.StatusOK || kind != "text/event-stream" {
		text, _ := io.ReadAll(r.Body)
		s.Fatalf("no events, but %d %s %s", r.StatusCode, kind, text)
	}
	s.Cleanup(func() { r.Body.Close() })
	return &events{s.T, r.Body, bufio.NewReader(r.Body)}
}

// next gives the id and the data of the next event; ok is false at the end.
func (e *events) next() (id, data string, ok bool) {
	e.Helper()
	for seen := false; ; {
		line, err := e.in.ReadString('\n')
		if err != nil {
			return "", "", false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && seen:
			return id, data, true
		case name == "id":
			id = value
		case name == "data":
			data, seen = value, true
		}
	}
}

// want reads the next event and compares what it says.
func (e *events) want(data string) (id string) {
	e.Helper()
	id, got, ok := e.next()
	if !ok || got != data {
		e.Fatalf("the event is %q (%v), want %q", got, ok, data)
	}
	return id
}

// end reads that nothing more comes.
func (e *events) end() {
	e.Helper()
	if _, data, ok := e.next(); ok {
		e.Fatalf("there is one more event: %s", data)
	}
}
