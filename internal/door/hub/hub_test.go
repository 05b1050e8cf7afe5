package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bench is a hub on a real connection, whose tools do what a test wrote down.
type bench struct {
	t *testing.T
	coretest.Script
	coretest.Memory
	servers   []hub.Server
	bind      func(durward.Call) error
	restarted atomic.Int64
	url       string
	client    http.Client
}

func open(t *testing.T, change ...func(*hub.Options)) *bench {
	t.Helper()
	b := &bench{t: t, servers: []hub.Server{{Name: "files", Running: true, PID: 7, Since: time.Now(), Tools: 1, Era: "modern"}}}
	runtime, err := core.New(core.Options{
		Source: source{b}, Policy: coretest.PolicyFunc(decide), Recorder: &b.Memory, Engines: map[string]core.Engine{"script": &b.Script},
		MaxConcurrent: 1, MaxQueue: -1, QueueTime: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := hub.Options{
		MCP: http.NotFoundHandler(), Operates: func(c durward.Caller) bool { return c.Name != "token:limited" },
		Runtime: runtime, Servers: func() []hub.Server { return b.servers },
		Tools: func(durward.Caller) []hub.Tool {
			return []hub.Tool{{
				Tool: durward.Tool{ID: "read", Doc: "Reads", Input: json.RawMessage(`{"type":"object"}`)}, Server: "files", Original: "read", Qualified: "files__read",
				Annotations: []byte(`{"readOnlyHint":true}`),
			}}
		},
		Restart: func(_ context.Context, server string) error {
			if server != "files" {
				return &durward.Error{Reason: durward.ToolNotFound}
			}
			b.restarted.Add(1)
			return nil
		},
		Stderr: func(string) []byte { return []byte("one\r\n\ntwo \xff") },
		Timeout: func(_ durward.ToolID, asked time.Duration) time.Duration {
			if asked == 0 {
				return 5 * time.Second
			}
			return asked
		},
		ParsesText: func(tool durward.ToolID) bool { return tool == "parsed" },
		Metrics:    hub.NewMetrics(func(tool string) bool { return tool == "read" }, runtime.Load),
	}
	for _, f := range change {
		f(&o)
	}
	door, err := hub.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := httpedge.Listen(t.Context(), httpedge.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	b.url, b.client.Transport = httpedge.URL(l.Addr()), &http.Transport{}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- httpedge.New(door, httpedge.Options{BodyBytes: 8 << 20}).Serve(ctx, l) }()
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

func decide(c durward.Call, _ durward.Tool) durward.Decision {
	return durward.Decision{Allow: true, Grant: durward.Grant{StepDown: true, Limits: durward.Limits{Wall: c.Ask.Limits.Wall}}}
}

type source struct{ *bench }

func (s source) Find(_ context.Context, id durward.ToolID) (durward.Tool, error) {
	if id != "read" && id != "parsed" {
		return durward.Tool{}, &durward.Error{Reason: durward.ToolNotFound}
	}
	return durward.Tool{ID: id, Engine: "script"}, nil
}

func (s source) Tools(context.Context) ([]durward.Tool, error) { return nil, nil }

func (s source) Bind(_ context.Context, _ durward.Tool, c durward.Call) (json.RawMessage, error) {
	if s.bind != nil {
		return nil, s.bind(c)
	}
	return c.Input, nil
}

var _ core.Binder = source{}

func (b *bench) send(method, path, body string, headers ...string) (status int, text string, header http.Header) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSuffix(string(said), "\n"), response.Header
}

// executed gives the answer to an order of the tool without its time.
func (b *bench) executed(body string) string {
	b.t.Helper()
	status, text, _ := b.send("POST", "/execute", body)
	said, _, ok := strings.Cut(text, `,"execution_time_ms":`)
	if status != 200 || !ok {
		b.t.Errorf("%d %s", status, text)
	}
	return said + "}"
}

// What a result becomes in the answer, to the digit.
func TestOutputs(t *testing.T) {
	b := open(t)
	for _, test := range []struct {
		result string
		failed bool
		want   string
	}{
		{`{"content":[{"type":"text","text":"a\u0062"}]}`, false, `{"status":"success","output":"a\u0062","error":null}`},
		{`{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":12345678901234567890,"z":1.0,"a":null}}`, false, `{"status":"success","output":{"n":12345678901234567890,"z":1.0,"a":null},"error":null}`},
		{`{"content":[{"type":"text","text":"a"},{"type":"odd","x":[1.50]}]}`, false, `{"status":"success","output":[{"type":"text","text":"a"},{"type":"odd","x":[1.50]}],"error":null}`},
		{`{"content":[{"type":"image","data":"AA=="}]}`, false, `{"status":"success","output":[{"type":"image","data":"AA=="}],"error":null}`},
		{`{"content":[]}`, false, `{"status":"success","output":null,"error":null}`},
		{`{"content":[],"structuredContent":null}`, false, `{"status":"success","output":null,"error":null}`},
		{`{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"isError":true}`, true, `{"status":"error","output":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"error":"one\ntwo"}`},
	} {
		b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
			return durward.Result{Output: json.RawMessage(test.result), Failed: test.failed}, nil
		}
		if got := b.executed(`{"tool_name":"read","arguments":{}}`); got != test.want {
			t.Errorf("%s:\n%s\n%s", test.result, got, test.want)
		}
	}
}

// The arguments arrive as they were sent, and missing ones are none.
func TestArguments(t *testing.T) {
	b := open(t)
	var got durward.Call
	b.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
		got = c
		return durward.Result{Output: json.RawMessage(`{"content":[]}`)}, nil
	}
	for body, want := range map[string]string{
		`{"tool_name":"read"}`: `{}`,
		`{"tool_name":"read","arguments":{"n": 1.0,"a":12345678901234567890},"more":1}`: `{"n": 1.0,"a":12345678901234567890}`,
	} {
		b.executed(body)
		if string(got.Input) != want || got.Door != hub.Name || got.Surface != "http" {
			t.Errorf("%s: %+v with %s", body, got, got.Input)
		}
	}
}

// An order may want a result of its own, and an answer says when it is another's.
func TestKeptResults(t *testing.T) {
	b := open(t)
	b.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
		return durward.Result{Output: json.RawMessage(`{"content":[]}`), Cached: !c.Fresh}, nil
	}
	for body, want := range map[string]string{
		`{"tool_name":"read"}`:               `{"status":"success","output":null,"error":null,"cached":true}`,
		`{"tool_name":"read","cache":true}`:  `{"status":"success","output":null,"error":null,"cached":true}`,
		`{"tool_name":"read","cache":false}`: `{"status":"success","output":null,"error":null}`,
	} {
		if got := b.executed(body); got != want {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// Where a server's texts are to be parsed, one that is JSON is given as its value, to the byte, and
// any other as it is.
func TestTextsThatAreParsed(t *testing.T) {
	b := open(t)
	for text, want := range map[string]string{
		` {\"n\":12345678901234567890,\"z\":1.0}\n`: `{"n":12345678901234567890,"z":1.0}`,
		`7`:                 `7`,
		`seven`:             `"seven"`,
		`{\"a\":1} tail`:    `"{\"a\":1} tail"`,
		`{\"a\":1,\"a\":2}`: `"{\"a\":1,\"a\":2}"`,
		``:                  `""`,
	} {
		for tool, want := range map[string]string{"parsed": want, "read": `"` + text + `"`} {
			b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
				return durward.Result{Output: json.RawMessage(`{"content":[{"type":"text","text":"` + text + `"}]}`)}, nil
			}
			if got := b.executed(`{"tool_name":"` + tool + `"}`); got != `{"status":"success","output":`+want+`,"error":null}` {
				t.Errorf("%s: %s", tool, got)
			}
		}
	}
}

// A time that is too large for any number is a large one.
func TestTimeoutsOfAnySize(t *testing.T) {
	b := open(t)
	b.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
		if at, ok := ctx.Deadline(); !ok || time.Until(at) < time.Hour {
			return durward.Result{}, errors.New("it has too little time")
		}
		return durward.Result{Output: json.RawMessage(`{"content":[]}`)}, nil
	}
	for _, timeout := range []string{"1e9", "1e308", "1e400"} {
		if got := b.executed(`{"tool_name":"read","timeout":` + timeout + `}`); got != `{"status":"success","output":null,"error":null}` {
			t.Errorf("%s: %s", timeout, got)
		}
	}
}

// What happens once the server was asked is an answer with status 200.
func TestFailuresOfServers(t *testing.T) {
	b := open(t)
	for _, test := range []struct {
		err  error
		want string
	}{
		{&durward.Error{Reason: durward.ServerDisconnected, Err: durward.Detail{Members: map[string]any{"server": "files"}}}, `{"status":"error","output":null,"error":"MCP server 'files' disconnected","may_have_run":true}`},
		{&durward.Error{Reason: durward.InputRequired, Err: errors.New("input required: a name")}, `{"status":"error","output":null,"error":"input required"}`},
		{&durward.Error{Reason: durward.MalformedResult, Err: errors.New("malformed result: it is not an object")}, `{"status":"error","output":null,"error":"malformed result"}`},
		{&durward.Error{Reason: durward.InputMismatch}, `{"status":"error","output":null,"error":"the input does not fit the tool's schema"}`},
		{&durward.Error{Reason: durward.ServerError, Err: durward.Detail{Members: map[string]any{"message": "no", "code": int64(-32001)}}}, `{"status":"error","output":null,"error":"no","error_code":-32001}`},
		{
			&durward.Error{Reason: durward.InputMismatch, Err: durward.Detail{Members: map[string]any{"errors": []schema.Violation{
				{Path: "/a", Keyword: "type", Message: "must be a string"}, {Keyword: "required", Message: `must have the member "b"`}, {Path: "/c"}, {Path: "/d"},
			}}}},
			`{"status":"error","output":null,"error":"the input does not fit the tool's schema: /a must be a string; the arguments must have the member \"b\"; and 2 more"}`,
		},
		{&durward.Error{Reason: durward.OutputTooLarge}, `{"status":"error","output":null,"error":"output_too_large"}`},
		{
			&durward.Error{Reason: durward.ShuttingDown, Err: durward.Detail{Members: map[string]any{"may_have_run": true}}},
			`{"status":"error","output":null,"error":"the runtime is shutting down","may_have_run":true}`,
		},
	} {
		b.OnRun = func(context.Context, durward.Call) (durward.Result, error) { return durward.Result{}, test.err }
		if got := b.executed(`{"tool_name":"read"}`); got != test.want {
			t.Errorf("%v:\n%s\n%s", test.err, got, test.want)
		}
	}
	b.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
		<-ctx.Done()
		return durward.Result{}, durward.Ended(ctx, "run")
	}
	if got := b.executed(`{"tool_name":"read","timeout":0.02}`); got != `{"status":"error","output":null,"error":"Tool execution timed out after 0.02s"}` {
		t.Error(got)
	}
}

// What is refused before a server is asked has a status, and reaches nobody.
func TestRefusals(t *testing.T) {
	b := open(t)
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		t.Error("it ran")
		return durward.Result{}, nil
	}
	for _, test := range []struct {
		method, path, body, kind string
		status                   int
		code                     string
	}{
		{"POST", "/execute", `{"tool_name":`, "", 400, "bad_json"},
		{"POST", "/execute", `{"tool_name":"read","tool_name":"read"}`, "", 400, "bad_json"},
		{"POST", "/execute", `{"tool_name":"read","timeout":NaN}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":"read","timeout":-Infinity}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":"read","arguments":{"a":[Infinity]}}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":"read","timeout":nan}`, "", 400, "bad_json"},
		{"POST", "/execute", `[]`, "", 422, "validation"},
		{"POST", "/execute", `{}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":5}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":"read","arguments":[]}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":"read","timeout":0}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":"read","timeout":"5"}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":"read","cache":"false"}`, "", 422, "validation"},
		{"POST", "/execute", `{"tool_name":"other"}`, "", 404, "tool_not_found"},
		{"POST", "/execute", `{"tool_name":"read"}`, "text/plain", 415, "bad_content_type"},
		{"POST", "/execute", `{"tool_name":"` + strings.Repeat("x", 4<<20) + `"}`, "", 413, "body_too_large"},
		{"GET", "/execute", ``, "", 405, "method_not_allowed"},
		{"POST", "/tools", ``, "", 405, "method_not_allowed"},
		{"GET", "/nothing", ``, "", 404, "not_found"},
		{"POST", "/servers/other/restart", ``, "", 404, "not_found"},
		{"GET", "/servers/other/logs", ``, "", 404, "not_found"},
		{"POST", "/servers/files/logs", ``, "", 405, "method_not_allowed"},
		{"GET", "/servers/files", ``, "", 404, "not_found"},
	} {
		kind := "application/json"
		if test.kind != "" {
			kind = test.kind
		}
		status, text, _ := b.send(test.method, test.path, test.body, "Content-Type", kind)
		var said struct{ Detail, Code string }
		if err := json.Unmarshal([]byte(text), &said); err != nil || status != test.status || said.Code != test.code || said.Detail == "" || strings.Contains(said.Detail, "file") {
			t.Errorf("%s %s %.60s: %d %s", test.method, test.path, test.body, status, text)
		}
	}
	if _, text, _ := b.send("POST", "/execute", `{"tool_name":"read","arguments":{"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}}`); text !=
		`{"code":"bad_json","detail":"the body is over a limit: nested deeper than 128 (line 1, column 164)"}` {
		t.Error(text)
	}
	b.bind = func(durward.Call) error {
		return &durward.Error{Reason: durward.OutsideRoot, Err: durward.Detail{
			Members: map[string]any{"pointer": "/path", "rule": "outsideSandbox", "given": "../x"}, Err: errors.New("/srv/secret"),
		}}
	}
	status, text, _ := b.send("POST", "/execute", `{"tool_name":"read"}`)
	if status != 400 || !strings.Contains(text, `"code":"path_validation"`) || !strings.Contains(text, `"rule":"outsideSandbox"`) || !strings.Contains(text, `/path \"../x\"`) || strings.Contains(text, "secret") {
		t.Errorf("%d %s", status, text)
	}
	b.bind = nil
	b.OnPrepare = func(context.Context, durward.Call) error {
		return &durward.Error{Reason: durward.ServerStopped, Err: durward.Detail{Limit: 4, Err: errors.New("MCP server 'files' is stopped")}}
	}
	status, text, header := b.send("POST", "/execute", `{"tool_name":"read"}`)
	if status != 503 || !strings.Contains(text, `"code":"server_stopped"`) || header.Get("Retry-After") != "4" {
		t.Errorf("%d %s %v", status, text, header)
	}
}

// A call that names a tool is on record, whatever else is wrong with it.
func TestRefusalsAreOnRecord(t *testing.T) {
	b := open(t)
	for _, test := range []struct{ body, want string }{
		{`{"tool_name":`, ``}, // there is no tool yet
		{`{"arguments":{}}`, ``},
		{`{"tool_name":"other"}`, `deny other tool_not_found`},
		{`{"tool_name":"x:resources/read"}`, `deny x:resources/read tool_not_found`},
		{`{"tool_name":"read","arguments":[]}`, `deny read bad_call`},
		{`{"tool_name":"read","arguments":"x"}`, `deny read bad_call`},
		{`{"tool_name":"read","request_id":5}`, `deny read bad_call`},
		{`{"tool_name":"read","timeout":0}`, `deny read badTimeout`},
		{`{"tool_name":"read","cache":5}`, `deny read bad_call`},
	} {
		before := len(b.Records(t))
		b.send("POST", "/execute", test.body)
		if got := strings.Join(recorded(t, &b.Memory)[before:], ", "); got != test.want {
			t.Errorf("%s: %s, want %s", test.body, got, test.want)
		}
	}
	b.Break()
	if status, text, _ := b.send("POST", "/execute", `{"tool_name":"read","arguments":[]}`); status < 500 {
		t.Errorf("what cannot be recorded is answered: %d %s", status, text)
	}
}

// Who finds no slot within its time hears that, and no server is asked.
func TestBusy(t *testing.T) {
	b := open(t)
	began, goOn := make(chan bool), make(chan bool)
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		began <- true
		<-goOn
		return durward.Result{Output: json.RawMessage(`{"content":[]}`)}, nil
	}
	done := make(chan string, 1)
	go func() { done <- b.executed(`{"tool_name":"read"}`) }()
	<-began
	if status, text, header := b.send("POST", "/execute", `{"tool_name":"read"}`); status != 429 || !strings.Contains(text, `"code":"busy"`) || header.Get("Retry-After") == "" {
		t.Errorf("%d %s", status, text)
	}
	goOn <- true
	<-done
}

func TestWhatIsShown(t *testing.T) {
	b := open(t)
	for path, want := range map[string]string{
		"/tools":              `{"tools":[{"name":"read","description":"Reads","input_schema":{"type":"object"},"server":"files","original_name":"read","qualified_name":"files__read","annotations":{"readOnlyHint":true}}]}`,
		"/tools?server=none":  `{"tools":[]}`,
		"/servers/files/logs": `{"lines":["one","","two �"],"server":"files"}`,
		"/ready":              `{"ready":true,"status":"healthy"}`,
	} {
		if status, text, _ := b.send("GET", path, ""); status != 200 || text != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text, _ := b.send("POST", "/servers/files/restart", ""); status != 200 || b.restarted.Load() != 1 {
		t.Errorf("%d %s", status, text)
	}
	b.servers = append(b.servers, hub.Server{Name: "gone", LastError: "exit status 3", Sandbox: &durward.Report{
		Mode: durward.ReadOnly, Level: 2, Guarantees: durward.Holding{durward.Mem: {Held: durward.HeldKernel}},
	}})
	if status, text, _ := b.send("GET", "/health", ""); status != 200 || !strings.Contains(text, `"status":"degraded"`) ||
		!strings.Contains(text, `"servers":{"files":"running","gone":"stopped"}`) || !strings.Contains(text, `"last_error":"exit status 3"`) ||
		!strings.Contains(text, `"sandbox":{"mode":"read-only","level":2,"guarantees":{"mem":{"held":"kernel"}`) {
		t.Errorf("%d %s", status, text)
	}
	_, page, _ := b.send("GET", "/metrics", "")
	for _, line := range []string{`mcp_server_up{server="files"} 1`, `mcp_server_up{server="gone"} 0`, `# TYPE mcp_server_up gauge`, `# TYPE mcp_server_restarts_total counter`, `mcp_calls_in_flight 0`} {
		if !strings.Contains(page, line+"\n") && !strings.HasSuffix(page, line) {
			t.Errorf("no %s in\n%s", line, page)
		}
	}
	b.servers = []hub.Server{{Name: "gone"}}
	if status, text, _ := b.send("GET", "/ready", ""); status != 503 {
		t.Errorf("%d %s", status, text)
	}
	b.servers = nil
	if status, text, _ := b.send("GET", "/ready", ""); status != 200 {
		t.Errorf("without any server: %d %s", status, text)
	}
}

// A server that does not start again is told of with the reason.
func TestRestartThatFails(t *testing.T) {
	b := open(t, func(o *hub.Options) {
		o.Restart = func(context.Context, string) error { return errors.New("exit status 3") }
	})
	if status, text, _ := b.send("POST", "/servers/files/restart", ""); status != 503 || !strings.Contains(text, `MCP server \"files\" did not start: exit status 3`) ||
		!strings.Contains(text, `"code":"server_stopped"`) {
		t.Errorf("%d %s", status, text)
	}
}

// Who may not call everything does not operate the hub either.
func TestWhoOperatesTheHub(t *testing.T) {
	var tokens httpedge.Tokens
	for _, name := range []string{"limited", "all"} {
		token, err := httpedge.NewToken(name, name+"-s3cret")
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	b := open(t, func(o *hub.Options) { o.Rules.Authenticate = tokens.Authenticate })
	for _, tt := range []struct{ method, path string }{{"GET", "/metrics"}, {"GET", "/servers/files/logs"}, {"POST", "/servers/files/restart"}} {
		for name, want := range map[string]int{"limited": 404, "all": 200} {
			if status, text, _ := b.send(tt.method, tt.path, "", "Authorization", "Bearer "+name+"-s3cret"); status != want {
				t.Errorf("%s %s of %s: %d %s", tt.method, tt.path, name, status, text)
			}
		}
	}
	if n := b.restarted.Load(); n != 1 {
		t.Errorf("it was restarted %d times", n)
	}
	if _, text, _ := b.send("GET", "/health", "", "Authorization", "Bearer limited-s3cret"); strings.Contains(text, "details") {
		t.Errorf("details are shown: %s", text)
	}
}

// What clients of MCP ask for beside tools is no tool.
func TestRequestsAreNoTools(t *testing.T) {
	b := open(t)
	for _, id := range []string{"files:resources/read", "prompts/get:review", "files:completion/complete"} {
		if status, text, _ := b.send("POST", "/execute", `{"tool_name":"`+id+`"}`); status != 404 || !strings.Contains(text, `"code":"tool_not_found"`) {
			t.Errorf("%s: %d %s", id, status, text)
		}
	}
}

// With a token /health stays open, and tells strangers less.
func TestStrangersAreToldLess(t *testing.T) {
	token, err := httpedge.NewToken("t", "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, func(o *hub.Options) { o.Rules.Authenticate = httpedge.Tokens{token}.Authenticate })
	if status, text, _ := b.send("GET", "/health", ""); status != 200 || strings.Contains(text, "details") || !strings.Contains(text, `"files":"running"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text, _ := b.send("GET", "/health", "", "Authorization", "Bearer s3cret"); status != 200 || !strings.Contains(text, `"pid":7`) {
		t.Errorf("%d %s", status, text)
	}
	for _, path := range []string{"/tools", "/servers/files/logs"} {
		if status, text, _ := b.send("GET", path, ""); status != 401 || !strings.Contains(text, `"code":"unauthenticated"`) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// A caller is shown what is offered to it, by the token that it shows, and a tool that it may not
// call is answered like one that there is not. Nothing runs.
func TestCallersSeeTheirTools(t *testing.T) {
	var tokens httpedge.Tokens
	for name, text := range map[string]string{"reader": "s3cret-r", "other": "s3cret-o"} {
		token, err := httpedge.NewToken(name, text)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	b := open(t, func(o *hub.Options) {
		all := o.Tools
		o.Rules.Authenticate = tokens.Authenticate
		o.Tools = func(c durward.Caller) []hub.Tool {
			if c.Name != "token:reader" {
				return nil
			}
			return all(c)
		}
	})
	b.bind = func(c durward.Call) error {
		if c.Caller.Name != "token:reader" {
			return &durward.Error{Reason: durward.ToolNotFound, Err: errors.New("the token other may not call read")}
		}
		return nil
	}
	ran := 0
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		ran++
		return durward.Result{Output: json.RawMessage(`{"content":[]}`)}, nil
	}
	reader, other := []string{"Authorization", "Bearer s3cret-r"}, []string{"Authorization", "Bearer s3cret-o"}
	if _, text, _ := b.send("GET", "/tools", "", reader...); !strings.Contains(text, `"name":"read"`) {
		t.Error(text)
	}
	if _, text, _ := b.send("GET", "/tools", "", other...); text != `{"tools":[]}` {
		t.Error(text)
	}
	_, unknown, _ := b.send("POST", "/execute", `{"tool_name":"nothing"}`, other...)
	status, text, _ := b.send("POST", "/execute", `{"tool_name":"read"}`, other...)
	if status != 404 || text != unknown || ran != 0 {
		t.Errorf("%d %s after %s; it ran %d times", status, text, unknown, ran)
	}
	if status, text, _ := b.send("POST", "/execute", `{"tool_name":"read"}`, reader...); status != 200 || ran != 1 {
		t.Errorf("%d %s; it ran %d times", status, text, ran)
	}
}
