package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/door/gateway"
)

var runID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// The worker's output comes back as it was, and the input gets there as it was, to the digit.
func TestARunIsAnswered(t *testing.T) {
	b := open(t)
	var got durward.Call
	b.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
		got = c
		return durward.Result{Output: json.RawMessage(`{"n":1.10, "big":123456789012345678901, "<":"\u00e9"}`)}, nil
	}
	a := b.run(`{"more": [1], "input": {"n": 1e400, "m":0.10} }`, "Content-Type", "application/json; charset=utf-8")
	if a.status != 200 || a.json["ok"] != true || a.json["tool_id"] != "a.b" || !strings.Contains(a.body, `"output":{"n":1.10, "big":123456789012345678901, "<":"\u00e9"},`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if string(got.Input) != `{"n": 1e400, "m":0.10}` || got.Door != gateway.Name || string(got.ID) != a.json["tool_run_id"] {
		t.Errorf("the call is %+v with %s", got, got.Input)
	}
	if id := a.header.Get("X-Tool-Run-Id"); !runID.MatchString(id) || id != a.json["tool_run_id"] {
		t.Errorf("the run is %s", id)
	}
	if b.phases() != "intent outcome" {
		t.Errorf("the records are %q", b.phases())
	}
}

// A worker's own error is passed on with status 200.
func TestAWorkersErrorIsPassedOn(t *testing.T) {
	b := open(t)
	failure := `{"code":"UPSTREAM_ERROR","message":"no","retryable":true,"details":{"n":1.50}}`
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		return durward.Result{Failed: true, Output: json.RawMessage(failure)}, nil
	}
	a := b.run(`{"input":{}}`)
	a.wantError(t, 200, "UPSTREAM_ERROR", true)
	if !strings.Contains(a.body, failure) {
		t.Error(a.body)
	}
	if runs := b.runs(); len(runs) != 1 || runs[0]["code"] != "UPSTREAM_ERROR" || runs[0]["ok"] != false || runs[0]["http_status"] != 200.0 {
		t.Errorf("the log says %v", runs)
	}
}

// What is refused before there is a call runs nothing, and is on record.
func TestBadRequestsAreRefused(t *testing.T) {
	b := open(t, func(b *bench, _ *gateway.Options, _ *core.Options) { b.domain.Policies.MaxRequestBytes = 400 })
	b.fails(errors.New("nobody runs this"))
	deep := strings.Repeat("[", 128) + strings.Repeat("]", 128)
	for _, test := range []struct {
		name, path, body, kind string
		status                 int
		code                   string
	}{
		{"an unknown tool", "/v1/tools/no:run", `{"input":{}}`, "application/json", 404, "NOT_FOUND"},
		{"before its body is looked at", "/v1/tools/no:run", `{`, "text/plain", 404, "NOT_FOUND"},
		{"a path in the place of a tool", "/v1/tools/a.b/../c:run", `{"input":{}}`, "", 404, "NOT_FOUND"},
		{"no tool", "/v1/tools/:run", `{"input":{}}`, "", 404, "NOT_FOUND"},
		{"too large", "/v1/tools/a.b:run", `{"input":{"a":"` + strings.Repeat("x", 400) + `"}}`, "text/plain", 413, "VALIDATION_ERROR"},
		{"of another type", "/v1/tools/a.b:run", `{`, "text/plain", 415, "VALIDATION_ERROR"},
		{"of no type at all", "/v1/tools/a.b:run", `{"input":{}}`, "application/x-json", 415, "VALIDATION_ERROR"},
		{"no JSON", "/v1/tools/a.b:run", `{"input":`, "", 400, "VALIDATION_ERROR"},
		{"an empty body", "/v1/tools/a.b:run", ``, "", 400, "VALIDATION_ERROR"},
		{"more behind it", "/v1/tools/a.b:run", `{"input":{}} {}`, "", 400, "VALIDATION_ERROR"},
		{"a member twice", "/v1/tools/a.b:run", `{"input":{"a":1,"a":2}}`, "", 400, "VALIDATION_ERROR"},
		{"not UTF-8", "/v1/tools/a.b:run", "{\"input\":{\"a\":\"\xff\"}}", "", 400, "VALIDATION_ERROR"},
		{"too deep", "/v1/tools/a.b:run", `{"input":{"a":` + deep + `}}`, "", 400, "VALIDATION_ERROR"},
		{"no object", "/v1/tools/a.b:run", `[{"input":{}}]`, "", 400, "VALIDATION_ERROR"},
		{"no input", "/v1/tools/a.b:run", `{"Input":{}}`, "", 400, "VALIDATION_ERROR"},
		{"null for an input", "/v1/tools/a.b:run", `{"input":null}`, "", 400, "VALIDATION_ERROR"},
		{"a list for an input", "/v1/tools/a.b:run", `{"input":[]}`, "", 400, "VALIDATION_ERROR"},
		{"a text for an input", "/v1/tools/a.b:run", `{"input":"{}"}`, "", 400, "VALIDATION_ERROR"},
		{"no time", "/v1/tools/a.b:run", `{"input":{},"timeout_sec":0}`, "", 400, "VALIDATION_ERROR"},
		{"time as a text", "/v1/tools/a.b:run", `{"input":{},"timeout_sec":"5"}`, "", 400, "VALIDATION_ERROR"},
		{"time without an end", "/v1/tools/a.b:run", `{"input":{},"timeout_sec":1e999}`, "", 400, "VALIDATION_ERROR"},
		{"a dry run that is none", "/v1/tools/a.b:run", `{"input":{},"dry_run":1}`, "", 400, "VALIDATION_ERROR"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := len(b.Records(t))
			var headers []string
			if test.kind != "" {
				headers = []string{"Content-Type", test.kind}
			}
			a := b.send("POST", test.path, test.body, headers...)
			a.wantError(t, test.status, test.code, false)
			records := b.Records(t)[before:]
			if len(records) != 1 || records[0]["phase"] != "deny" {
				t.Errorf("it is on record as %v", records)
			}
		})
	}
}

// A caller who never sends a body hears that there is no such tool all the same, and one
// whose body is announced as too large does not send it either.
func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	b := open(t)
	for path, status := range map[string]int{"/v1/tools/no:run": 404, "/v1/tools/a.b:run": 413} {
		conn := dial(t, b)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n", path)
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != status || !response.Close {
			t.Errorf("%s: %d, and the connection ends: %v", path, response.StatusCode, response.Close)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	b := open(t)
	b.answers(`{}`)
	if a := b.send("POST", "/v1/tools/a.b%3Arun", `{"input":{}}`); a.status != 200 {
		t.Errorf("an escaped colon: %d", a.status)
	}
	for _, test := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/v1/tools/a.b:run", 405, "POST"},
		{"PUT", "/v1/tools/a.b:run", 405, "POST"},
		{"POST", "/v1/tools", 405, "GET, HEAD"},
		{"POST", "/v1/tools/a.b", 405, "GET, HEAD"},
		{"DELETE", "/healthz", 405, "GET, HEAD"},
		{"GET", "/", 404, ""},
		{"GET", "//v1/tools", 404, ""},
		{"GET", "/v1/tools/", 404, ""},
		{"GET", "/v1/tools/no", 404, ""},
		{"POST", "/v1/tools/a.b:Run", 405, "GET, HEAD"},
	} {
		a := b.send(test.method, test.path, "")
		code := map[int]string{404: "NOT_FOUND", 405: "VALIDATION_ERROR"}[test.status]
		a.wantError(t, test.status, code, false)
		if allow := a.header.Get("Allow"); allow != test.allow {
			t.Errorf("%s %s allows %q", test.method, test.path, allow)
		}
	}
}

// Each way in which a call can fail has one answer.
func TestEveryFailureHasItsAnswer(t *testing.T) {
	b := open(t)
	upstream := func(reason durward.Reason, retry bool, members map[string]any) error {
		return &durward.Error{Reason: reason, Retry: retry, Err: durward.Detail{Members: members, Err: errors.New("http://10.1.2.3:8080 secret")}}
	}
	for _, test := range []struct {
		err       error
		status    int
		code      string
		retryable bool
		reason    any
	}{
		{upstream(durward.WorkerUnreachable, true, nil), 502, "UPSTREAM_ERROR", true, "worker_unreachable"},
		{upstream(durward.AddressRefused, false, nil), 502, "UPSTREAM_ERROR", false, "address_refused"},
		{upstream(durward.NonStandardReply, true, map[string]any{"worker_status": 503}), 502, "INTERNAL", true, "non_standard_response"},
		{upstream(durward.NonStandardReply, false, map[string]any{"worker_status": 404}), 502, "INTERNAL", false, "non_standard_response"},
		{upstream(durward.ReplyTooLarge, false, nil), 502, "INTERNAL", false, "response_too_large"},
		{upstream(durward.OutputMismatch, false, nil), 502, "INTERNAL", false, "output_schema"},
		{upstream(durward.CircuitOpen, true, nil), 503, "UPSTREAM_ERROR", true, "circuit_open"},
		{upstream(durward.QueueFull, true, map[string]any{"scope": "tool", "limit": 2}), 429, "RATE_LIMITED", true, "queue_full"},
		{upstream(durward.QueueTimeout, true, map[string]any{"scope": "global", "limit": 8}), 429, "RATE_LIMITED", true, "queue_timeout"},
		{upstream(durward.DeadlineExceeded, true, nil), 504, "TIMEOUT", true, nil},
		{errors.New("secret"), 500, "INTERNAL", false, nil},
	} {
		b.fails(test.err)
		a := b.run(`{"input":{}}`)
		e := a.wantError(t, test.status, test.code, test.retryable)
		details := e["details"].(map[string]any)
		if details["reason"] != test.reason || strings.Contains(a.body, "secret") || strings.Contains(a.body, "10.1.2.3") {
			t.Errorf("%v: %s", test.err, a.body)
		}
		for name, value := range durward.DetailOf(test.err).Members {
			if fmt.Sprint(details[name]) != fmt.Sprint(value) {
				t.Errorf("%v: details have %s: %v", test.err, name, details[name])
			}
		}
		if test.code == "TIMEOUT" && details["timeout_sec"] != 1.5 {
			t.Errorf("the time was %v", details)
		}
		if wants := test.status == 429 || test.status == 503; wants != (a.header.Get("Retry-After") != "") {
			t.Errorf("%v: Retry-After is %q", test.err, a.header.Get("Retry-After"))
		}
	}
}

// Every reason there is has an answer that tells nothing of this machine.
func TestNoReasonTellsTooMuch(t *testing.T) {
	b := open(t)
	for _, reason := range durward.Reasons() {
		if reason == durward.CallCancelled || reason == durward.BadJSON || reason == durward.BadCall || reason == durward.BadTimeout || reason == durward.DomainNotLoaded {
			continue // made for the caller, or for nobody
		}
		b.fails(&durward.Error{Reason: reason, Hint: "/srv/secret", Path: "/srv/secret", Err: errors.New("/srv/secret")})
		a := b.run(`{"input":{}}`)
		if strings.Contains(a.body, "secret") || a.status < 400 {
			t.Errorf("%s: %d %s", reason, a.status, a.body)
		}
	}
}

// Only policy's denial says which host; a refused run never reaches the worker.
func TestADenialSaysItsRule(t *testing.T) {
	b := open(t)
	b.fails(errors.New("nobody runs this"))
	b.decide = func(durward.Call) durward.Decision {
		return durward.Decision{
			Code: durward.EgressDenied, Rule: "egress", Reason: "no",
			Detail: durward.Detail{Members: map[string]any{"rule": "egress", "host": "api.example.org", "port": 443}},
		}
	}
	for _, body := range []string{`{"input":{}}`, `{"input":{},"dry_run":true}`} {
		e := b.run(body).wantError(t, 403, "POLICY_DENIED", false)
		if d := e["details"].(map[string]any); d["rule"] != "egress" || d["host"] != "api.example.org" || d["port"] != 443.0 {
			t.Errorf("%v", d)
		}
	}
	if b.phases() != "deny" {
		t.Errorf("the records are %q", b.phases())
	}
}

// A schema's violations are told with their places.
func TestViolationsAreTold(t *testing.T) {
	b := open(t)
	b.fails(errors.New("nobody runs this"))
	b.bind = func(durward.Call) error {
		return &durward.Error{Reason: durward.InputMismatch, Err: durward.Detail{Members: map[string]any{"errors": []map[string]string{{"path": "/a/0"}}}}}
	}
	a := b.run(`{"input":{"a":[1]}}`)
	a.wantError(t, 400, "VALIDATION_ERROR", false)
	if !strings.Contains(a.body, `"details":{"errors":[{"path":"/a/0"}]}`) {
		t.Error(a.body)
	}
}

// A dry run decides and runs nothing; the time asked for only shortens.
func TestADryRun(t *testing.T) {
	b := open(t)
	b.fails(errors.New("nobody runs this"))
	for body, timeout := range map[string]float64{
		`{"input":{},"dry_run":true}`:                      1.5,
		`{"input":{},"dry_run":true,"timeout_sec":0.25}`:   0.25,
		`{"input":{},"dry_run":true,"timeout_sec":100000}`: 1.5,
		`{"input":{},"dry_run":true,"timeout_sec":1e99}`:   1.5,
	} {
		a := b.run(body)
		output, _ := a.json["output"].(map[string]any)
		if a.status != 200 || output["decision"] != "allow" || output["rule"] != "tools[0].timeout_sec" || output["where"] != "manifest.yaml:9" || output["timeout_sec"] != timeout {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if b.phases() != "" {
		t.Errorf("the records are %q", b.phases())
	}
}

// A shorter time of the caller's own holds.
func TestTheCallersTimeHolds(t *testing.T) {
	b := open(t)
	b.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
		<-ctx.Done()
		return durward.Result{}, durward.Ended(ctx, "run")
	}
	e := b.run(`{"input":{},"timeout_sec":0.02}`).wantError(t, 504, "TIMEOUT", true)
	if d := e["details"].(map[string]any); d["timeout_sec"] != 0.02 {
		t.Errorf("%v", d)
	}
}

// A caller who leaves ends the work, and is in the log as one who did.
func TestACallerWhoLeavesEndsTheWork(t *testing.T) {
	b := open(t, func(b *bench, _ *gateway.Options, _ *core.Options) { b.domain.Tools[1].Timeout = time.Minute })
	began, ended := make(chan bool), make(chan error, 1)
	b.OnRun = func(ctx context.Context, _ durward.Call) (durward.Result, error) {
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return durward.Result{}, durward.Ended(ctx, "run")
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		leave()
	}()
	if _, err := b.try(ctx, "POST", "/v1/tools/a.b:run", strings.NewReader(`{"input":{}}`)); err == nil {
		t.Error("it was answered")
	}
	if err := <-ended; durward.ReasonOf(err) != durward.CallCancelled {
		t.Errorf("the work ended by %v", err)
	}
	for len(b.runs()) == 0 {
		if t.Context().Err() != nil {
			return
		}
		_ = b.send("GET", "/healthz", "") // until the other connection has been dealt with
	}
	if run := b.runs()[0]; run["code"] != "CANCELLED" || run["ok"] != false {
		t.Errorf("the log says %v", run)
	}
}

func TestTraces(t *testing.T) {
	b := open(t)
	var got durward.Call
	b.OnRun = func(_ context.Context, c durward.Call) (durward.Result, error) {
		got = c
		return durward.Result{Output: json.RawMessage(`{}`)}, nil
	}
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, test := range []struct {
		name    string
		headers []string
		want    string
	}{
		{"that of a traceparent", []string{"traceparent", parent, "tracestate", "a=b", "X-Trace-Id", "mine"}, "4bf92f3577b34da6a3ce929d0e0e4736"},
		{"the client's own", []string{"X-Trace-Id", "mine_1-2"}, "mine_1-2"},
		{"the client's own beside a bad traceparent", []string{"traceparent", "00-0-0-1", "X-Trace-Id", "mine"}, "mine"},
		{"a new one", nil, ""},
		{"a new one for a bad name", []string{"X-Trace-Id", "no spaces"}, ""},
		{"a new one for a long name", []string{"X-Trace-Id", strings.Repeat("x", 65)}, ""},
	} {
		a := b.run(`{"input":{}}`, test.headers...)
		meta := a.json["meta"].(map[string]any)
		id := a.header.Get("X-Trace-Id")
		if meta["trace_id"] != id || got.TraceName() != id || (test.want != "" && id != test.want) || (test.want == "" && !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id)) {
			t.Errorf("%s: %q, %v", test.name, id, meta)
		}
		if got.Trace.IsZero() {
			t.Errorf("%s: the call has no trace", test.name)
		}
	}
	if b.run(`{"input":{}}`, "traceparent", parent, "tracestate", "a=b"); got.Trace.State != "a=b" {
		t.Errorf("the state is %q", got.Trace.State)
	}
}

// Refusals that never come as far as the door have its form, too.
func TestTheGuardSpeaksLikeTheDoor(t *testing.T) {
	b := open(t)
	r, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/v1/tools/a.b:run", strings.NewReader(`{"input":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	response, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	a := answer{status: response.StatusCode, header: response.Header, body: string(text)}
	if err := json.Unmarshal(text, &a.json); err != nil {
		t.Fatal(err)
	}
	a.wantError(t, 403, "POLICY_DENIED", false)
	if a.json["tool_id"] != "a.b" || !strings.Contains(b.log.String(), `"tool_id":"a.b"`) {
		t.Errorf("%s\n%s", a.body, b.log.String())
	}
	if page := b.send("GET", "/metrics", "").body; !strings.Contains(page, `durward_gateway_refusals_total{reason="origin_denied"} 1`) {
		t.Error(page)
	}
}

// What a path names that is no tool is kept short, in answers and in the log.
func TestLongNamesAreCut(t *testing.T) {
	b := open(t)
	a := b.send("POST", "/v1/tools/"+strings.Repeat("x", 9000)+":run", `{}`)
	a.wantError(t, 404, "NOT_FOUND", false)
	if len(a.body) > 1000 || len(b.log.String()) > 1000 || a.json["tool_id"] != strings.Repeat("x", 256)+"…" {
		t.Errorf("%d bytes of answer and %d of log", len(a.body), len(b.log.String()))
	}
}

// The bodies of all runs together are bounded, and room that was taken is given back.
func TestBodiesAreBoundedTogether(t *testing.T) {
	b := open(t, func(b *bench, _ *gateway.Options, c *core.Options) {
		b.domain.Policies.MaxRequestBytes, b.domain.Tools[1].Timeout, c.MaxConcurrent = 24<<20, time.Minute, 4
	})
	began, goOn := make(chan bool), make(chan bool)
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		began <- true
		<-goOn
		return durward.Result{Output: json.RawMessage(`{}`)}, nil
	}
	body := `{"input":{"a":"` + strings.Repeat("x", 23<<20) + `"}}`
	var asking sync.WaitGroup
	for range 4 { // there is room for four of the largest
		asking.Go(func() {
			if a := b.run(body); a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	for range 4 {
		<-began
	}
	e := b.run(body).wantError(t, 429, "RATE_LIMITED", true)
	if d := e["details"].(map[string]any); d["scope"] != "global" || d["reason"] != "queue_full" {
		t.Errorf("%v", d)
	}
	close(goOn)
	asking.Wait()
	asking.Go(func() { <-began })
	if a := b.run(body); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	asking.Wait()
}
