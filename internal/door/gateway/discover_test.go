package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/door/gateway"
)

func TestToolsAreListed(t *testing.T) {
	b := open(t)
	a := b.send("GET", "/v1/tools", "")
	const one = `{"tool_id":"c","display_name":"See","description":"Looks at a page","kind":"service_worker","capabilities":[],"timeout_sec":60,` +
		`"egress_allowlist":[],"transport_type":"http","transport_endpoint":"/run","input_schema_ref":null,"output_schema_ref":null}`
	const two = `{"tool_id":"a.b","display_name":"a.b","description":"","kind":"service_worker","capabilities":["page"],"timeout_sec":1.5,` +
		`"egress_allowlist":[],"transport_type":"http","transport_endpoint":"/go","input_schema_ref":null,"output_schema_ref":null}`
	for path, want := range map[string]string{
		"/v1/tools":                                                `{"domain_id":"example","version":"0.10","tools":[` + one + "," + two + `]}`,
		"/v1/tools?format=list":                                    "[" + one + "," + two + "]",
		"/v1/tools?format=list&q=page":                             "[" + two + "," + one + "]",
		"/v1/tools?format=list&q=PAGE+a.":                          "[" + two + "]",
		"/v1/tools?format=list&q=nothing":                          "[]",
		"/v1/tools?limit=1":                                        `{"domain_id":"example","version":"0.10","tools":[` + one + `],"next_cursor":"1"}`,
		"/v1/tools?limit=1&cursor=1":                               `{"domain_id":"example","version":"0.10","tools":[` + two + `]}`,
		"/v1/tools?format=list&cursor=9":                           "[]",
		"/v1/tools?format=list&cursor=1&limit=9223372036854775807": "[" + two + "]",
		"/v1/tools/c":                                              one,
		"/v1/domain":                                               `{"domain_id":"example","version":"0.10"}`,
		"/healthz":                                                 `{"ok":true}`,
	} {
		if a := b.send("GET", path, ""); a.status != 200 || a.body != want+"\n" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if strings.Contains(a.body, "10.1.2.3") {
		t.Error("it says where the worker is")
	}
	tag := a.header.Get("ETag")
	for _, seen := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		if a := b.send("GET", "/v1/tools", "", "If-None-Match", seen); a.status != 304 || a.body != "" {
			t.Errorf("%s: %d %s", seen, a.status, a.body)
		}
	}
	if a := b.send("GET", "/v1/tools", "", "If-None-Match", `"x"`); a.status != 200 {
		t.Errorf("another tag: %d", a.status)
	}
	for _, query := range []string{"limit=0", "limit=x", "cursor=-1", "format=xml", "schemas=yes", "q=a&q=b", "%zz"} {
		b.send("GET", "/v1/tools?"+query, "").wantError(t, 400, "VALIDATION_ERROR", false)
	}
}

func TestReadiness(t *testing.T) {
	states := map[durward.ToolID]gateway.Health{"c": gateway.Up, "a.b": gateway.Up}
	b := open(t, func(_ *bench, o *gateway.Options, _ *core.Options) {
		o.Health = func(_ context.Context, t *domain.Tool) gateway.Health { return states[t.ID] }
	})
	if a := b.send("GET", "/readyz", ""); a.status != 200 || a.body != `{"ok":true,"tools":{"a.b":"up","c":"up"}}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	states["c"], states["a.b"] = gateway.Down, gateway.CircuitOpen
	if a := b.send("GET", "/readyz", ""); a.status != 503 || a.body != `{"ok":false,"tools":{"a.b":"circuit_open","c":"down"}}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	b.shared.SetReloadError("manifest.yaml:7: no")
	if a := b.send("GET", "/healthz", ""); a.status != 200 || a.body != `{"ok":true,"reload_error":"manifest.yaml:7: no"}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Without a domain the process is there and says why it serves nothing.
func TestABrokenDomainSaysSo(t *testing.T) {
	const message = "manifest.yaml:7: tools[0].transport.base_url: no scheme"
	b := open(t, func(b *bench, o *gateway.Options, _ *core.Options) {
		o.Domain, o.Broken = nil, &gateway.LoadError{Message: message, File: "manifest.yaml", Line: 7, Reason: "no scheme"}
	})
	for path, method := range map[string]string{
		"/healthz": "GET", "/v1/tools": "GET", "/v1/tools/c": "GET", "/v1/domain": "GET", "/readyz": "GET", "/v1/tools/c:run": "POST", "/v1/tools/no:run": "POST",
	} {
		a := b.send(method, path, `{"input":{}}`)
		e := a.wantError(t, 500, "INTERNAL", false)
		d := e["details"].(map[string]any)
		if e["message"] != message || a.json["detail"] != message || d["file"] != "manifest.yaml" || d["line"] != 7.0 || d["reason"] != "no scheme" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if a := b.send("GET", "/metrics", ""); a.status != 200 {
		t.Errorf("metrics: %d", a.status)
	}
}

func TestMetrics(t *testing.T) {
	b := open(t)
	b.answers(`{}`)
	b.run(`{"input":{}}`)
	b.run(`{"input":[]}`)
	b.run(`{"input":{},"dry_run":true}`)
	b.send("POST", "/v1/tools/made-up:run", `{}`)
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) {
		return durward.Result{Failed: true, Output: json.RawMessage(`{"code":"MADE_UP"}`)}, nil
	}
	b.run(`{"input":{}}`)
	a := b.send("GET", "/metrics", "")
	for _, line := range []string{
		`durward_gateway_calls_total{tool="a.b",code="ok"} 1`,
		`durward_gateway_calls_total{tool="a.b",code="VALIDATION_ERROR"} 1`,
		`durward_gateway_calls_total{tool="a.b",code="other"} 1`,
		`durward_gateway_calls_total{tool="",code="NOT_FOUND"} 1`,
		`durward_gateway_refusals_total{reason="bad_call"} 1`,
		`durward_gateway_call_duration_seconds_count{tool="a.b"} 3`,
		`durward_gateway_call_duration_seconds_bucket{tool="a.b",le="+Inf"} 3`,
		`durward_gateway_calls_in_flight 0`,
		`durward_gateway_calls_queued 0`,
	} {
		if !strings.Contains(a.body, line+"\n") {
			t.Errorf("no line %s in\n%s", line, a.body)
		}
	}
	if strings.Contains(a.body, "made-up") || strings.Contains(a.body, "MADE_UP") {
		t.Error("callers and workers make metrics")
	}
}

// A line for each run, with nothing of what was sent or answered in it.
func TestTheLogHoldsNoBodies(t *testing.T) {
	b := open(t)
	const marker = "MARKER-7d1f"
	b.answers(`{"a":"` + marker + `"}`)
	b.run(`{"input":{"` + marker + `":"` + marker + `"}}`)
	b.fails(&durward.Error{Reason: durward.NonStandardReply, Err: errors.New(marker)})
	b.run(`{"input":{"a":"` + marker + `"}}`)
	b.run(`{"input":{"a":"` + marker + `","a":1}}`)
	b.run(`{"input":"` + marker + `"}`)
	b.OnRun = func(context.Context, durward.Call) (durward.Result, error) { panic(marker) }
	b.run(`{"input":{}}`)
	if strings.Contains(b.log.String(), marker) {
		t.Errorf("the log holds it:\n%s", b.log.String())
	}
	runs := b.runs()
	if len(runs) != 5 {
		t.Fatalf("%d lines", len(runs))
	}
	for _, name := range []string{
		"level", "msg", "trace_id", "tool_run_id", "domain_id", "tool_id", "ok", "code", "http_status", "duration_ms", "queue_ms", "worker_ms", "request_bytes", "response_bytes",
	} {
		if _, there := runs[0][name]; !there {
			t.Errorf("the line has no %s: %v", name, runs[0])
		}
	}
	if n := runs[0]["request_bytes"]; n != float64(len(`{"input":{"":""}}`)+2*len(marker)) {
		t.Errorf("%v bytes came", n)
	}
}

// Where the operator wants inputs in the log, they are there without secrets, and not whole.
func TestTheLogHoldsInputsWhereItIsAskedTo(t *testing.T) {
	b := open(t, func(_ *bench, o *gateway.Options, _ *core.Options) { o.IncludeInput = true })
	b.answers(`{"out":"OUTPUT"}`)
	b.run(`{"input":{ "url":"x\u0041","Password":{"a":1},"list":[1.50,{"x_api-key":"s"},"a\nb"],"COOKIES":null,"n":1e3 }}`)
	b.run(`{"input":{"long":"` + strings.Repeat("é", 8<<10) + `"}}`)
	runs := b.runs()
	if want := `{"url":"x\u0041","Password":"[redacted]","list":[1.50,{"x_api-key":"[redacted]"},"a\nb"],"COOKIES":"[redacted]","n":1e3}`; runs[0]["input"] != want {
		t.Errorf("the log says %s", runs[0]["input"])
	}
	if long := runs[1]["input"].(string); len(long) > 8<<10+3 || !strings.HasSuffix(long, "é…") {
		t.Errorf("the log says %d bytes, to …%s", len(long), long[len(long)-8:])
	}
	if strings.Contains(b.log.String(), "OUTPUT") {
		t.Error("the log holds the output")
	}
}
