package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/door/gateway"
	"github.com/durward/durward/internal/httpedge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bench is a door on a real connection, whose tools do what a test wrote down.
type bench struct {
	t *testing.T
	coretest.Script
	coretest.Memory
	domain *domain.Domain
	// decide allows all unless it is set.
	decide func(durward.Call) durward.Decision
	bind   func(durward.Call) error

	shared *gateway.Shared
	log    syncBuffer
	url    string
	client http.Client
}

// open serves two tools, a.b and c, both with 60 seconds, to all that options change.
func open(t *testing.T, change ...func(*bench, *gateway.Options, *core.Options)) *bench {
	t.Helper()
	b := &bench{t: t, shared: gateway.NewShared()}
	b.domain = &domain.Domain{
		ID: "example", Version: "0.10", CatalogHash: "sha256:0102",
		Policies: domain.Policies{MaxRequestBytes: 1 << 20, MaxResponseBytes: 1 << 20},
		Tools: []*domain.Tool{
			{ID: "c", DisplayName: "See", Description: "Looks at a page", Kind: "service_worker", Timeout: 60 * time.Second, Transport: domain.Transport{BaseURL: "http://10.1.2.3:8080", Endpoint: "/run"}},
			{ID: "a.b", DisplayName: "a.b", Kind: "service_worker", Capabilities: []string{"page"}, Timeout: 1500 * time.Millisecond, Transport: domain.Transport{BaseURL: "http://10.1.2.3:8080", Endpoint: "/go"}},
		},
	}
	o := gateway.Options{
		Domain: b.domain, Shared: b.shared, Logger: slog.New(slog.NewJSONHandler(&b.log, nil)),
		Health: func(context.Context, *domain.Tool) gateway.Health { return gateway.Up },
	}
	c := core.Options{Source: source{b}, Policy: coretest.PolicyFunc(b.judge), Recorder: &b.Memory, Engines: map[string]core.Engine{"script": &b.Script}}
	for _, f := range change {
		f(b, &o, &c)
	}
	if o.Broken == nil {
		runtime, err := core.New(c)
		if err != nil {
			t.Fatal(err)
		}
		o.Runtime = runtime
	}
	door, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.serve(door)
	return b
}

func (b *bench) serve(door *gateway.Door) {
	b.t.Helper()
	l, err := httpedge.Listen(b.t.Context(), httpedge.Address{Host: "127.0.0.1"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.url = httpedge.URL(l.Addr())
	b.client.Transport = &http.Transport{DisableCompression: true}
	server := httpedge.New(door, httpedge.Options{WriteError: gateway.WriteError, BodyBytes: 1 << 30})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	b.t.Cleanup(func() {
		b.client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			b.t.Error(err)
		}
		if err := door.Close(); err != nil {
			b.t.Error(err)
		}
	})
}

func (b *bench) judge(c durward.Call, t durward.Tool) durward.Decision {
	if b.decide != nil {
		return b.decide(c)
	}
	wall := t.Spec.(*domain.Tool).Timeout
	if asked := c.Ask.Limits.Wall; asked > 0 {
		wall = min(wall, asked)
	}
	return durward.Decision{
		Allow: true, Rule: "tools[0].timeout_sec", Where: durward.Position{File: "manifest.yaml", Line: 9}, PolicyHash: "sha256:00",
		Grant: durward.Grant{StepDown: true, Limits: durward.Limits{Wall: wall}},
	}
}

// A source offers the tools of a bench's domain.
type source struct{ *bench }

func (s source) Find(_ context.Context, id durward.ToolID) (durward.Tool, error) {
	for _, t := range s.domain.Tools {
		if t.ID == id {
			return durward.Tool{ID: id, Engine: "script", Spec: t, Concurrent: t.MaxInflight}, nil
		}
	}
	return durward.Tool{}, &durward.Error{Reason: durward.ToolNotFound}
}

func (s source) Tools(context.Context) ([]durward.Tool, error) { return nil, nil }

func (s source) Bind(_ context.Context, _ durward.Tool, c durward.Call) (json.RawMessage, error) {
	if s.bind != nil {
		return c.Input, s.bind(c)
	}
	return c.Input, nil
}

var _ core.Binder = source{}

// An answer is what a request came back with.
type answer struct {
	status int
	header http.Header
	body   string
	json   map[string]any
}

// send sends a request; headers are names and values in turn.
func (b *bench) send(method, path, body string, headers ...string) answer {
	b.t.Helper()
	a, err := b.try(b.t.Context(), method, path, strings.NewReader(body), headers...)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func (b *bench) try(ctx context.Context, method, path string, body io.Reader, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.url+path, body)
	if err != nil {
		return answer{}, err
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	response, err := b.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	a := answer{status: response.StatusCode, header: response.Header, body: string(text)}
	_ = json.Unmarshal(text, &a.json) // a list, or text, is looked at as it is
	return a, err
}

// run runs tool a.b.
func (b *bench) run(body string, headers ...string) answer {
	b.t.Helper()
	return b.send("POST", "/v1/tools/a.b:run", body, headers...)
}

// wantError checks that an answer is a refusal, whole, and gives its error.
func (a answer) wantError(t *testing.T, status int, code string, retryable bool) map[string]any {
	t.Helper()
	e, _ := a.json["error"].(map[string]any)
	meta, _ := a.json["meta"].(map[string]any)
	_, hasTool := a.json["tool_id"].(string)
	_, hasDetails := e["details"].(map[string]any)
	if a.status != status || a.json["ok"] != false || e["code"] != code || e["retryable"] != retryable || e["message"] == "" || !hasTool || !hasDetails ||
		a.json["tool_run_id"] != a.header.Get("X-Tool-Run-Id") || meta["trace_id"] != a.header.Get("X-Trace-Id") || meta["duration_ms"] == nil ||
		a.header.Get("Content-Type") != "application/json" {
		t.Errorf("want %d %s, retryable: %v, and got %d %v\n%s", status, code, retryable, a.status, a.header, a.body)
	}
	return e
}

// runs gives the lines of the log about runs.
func (b *bench) runs() []map[string]any {
	b.t.Helper()
	var runs []map[string]any
	for line := range strings.Lines(b.log.String()) {
		var said map[string]any
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			b.t.Fatalf("%q: %v", line, err)
		}
		if said["msg"] == "run" {
			runs = append(runs, said)
		}
	}
	return runs
}

// phases gives the phases of all records.
func (b *bench) phases() string {
	b.t.Helper()
	var phases []string
	for _, r := range b.Records(b.t) {
		phases = append(phases, cmp.Or(r["phase"].(string), "?"))
	}
	return strings.Join(phases, " ")
}

// answers has each run answer with an output.
func (b *bench) answers(output string) {
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		return durward.Result{Output: json.RawMessage(output)}, nil
	}
}

// fails has each run end with an error.
func (b *bench) fails(err error) {
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) { return durward.Result{}, err }
}

// A syncBuffer can be written and read by many.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func dial(t *testing.T, b *bench) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
