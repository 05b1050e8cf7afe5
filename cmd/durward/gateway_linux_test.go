package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/durward/durward/worker"
)

// echo gives back what came, with what was said of it.
func echo(_ context.Context, c worker.Call) (any, error) {
	return map[string]any{"input": c.Input, "trace_id": c.TraceID, "tool_run_id": c.ToolRunID, "domain_id": c.DomainID, "deadline_ms": c.Deadline.UnixMilli()}, nil
}

// A run reaches a worker made with package worker, and comes back, to the digit.
func TestGatewayRunsAToolInItsWorker(t *testing.T) {
	url := startWorker(t, echo)
	h := keepHouse(t, oneTool(url, "timeout_sec: 20", "input_schema_ref: in.json", "output_schema_ref: out.json"), "",
		map[string]string{"in.json": `{"required": ["n"]}`, "out.json": `{"required": ["input"]}`})
	before := time.Now()
	a := h.run("t", `{"n": 1.10, "big": 123456789012345678901}`, "X-Trace-Id", "mine")
	after := time.Now()
	if a.status != 200 || !strings.Contains(a.body, `{"n":1.10,"big":123456789012345678901}`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var meta struct {
		TraceID    string `json:"trace_id"`
		ToolRunID  string `json:"tool_run_id"`
		DomainID   string `json:"domain_id"`
		DeadlineMS int64  `json:"deadline_ms"`
	}
	if err := json.Unmarshal(a.Output, &meta); err != nil {
		t.Fatal(err)
	}
	deadline := time.UnixMilli(meta.DeadlineMS)
	if meta.TraceID != "mine" || meta.ToolRunID != a.header.Get("X-Tool-Run-Id") || meta.DomainID != "test" ||
		deadline.Before(before.Add(20*time.Second).Truncate(time.Millisecond)) || deadline.After(after.Add(20*time.Second)) {
		t.Errorf("the worker was told %+v", meta)
	}
	a = h.run("t", `{"m": 1}`)
	a.want(t, 400, "VALIDATION_ERROR", false, nil)
	if !strings.Contains(a.body, `"errors":[{"path":"","keyword":"required"`) {
		t.Error(a.body)
	}
	records := h.records()
	if len(records) != 3 || !strings.Contains(records[0], `"phase":"intent"`) || !strings.Contains(records[1], `"phase":"outcome"`) || !strings.Contains(records[2], `"phase":"deny"`) {
		t.Errorf("the records are %q", records)
	}
	for _, r := range records[:2] {
		if !strings.Contains(r, `"traceId":"mine"`) || !strings.Contains(r, meta.ToolRunID) {
			t.Errorf("a record is %s", r)
		}
	}
}

// Each way in which a worker can answer badly has its answer, and nobody is told where it is.
func TestGatewayJudgesWhatAWorkerAnswers(t *testing.T) {
	var status int
	var body string
	w := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if status/100 == 3 {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer w.Close()
	h := keepHouse(t, oneTool(w.URL, "output_schema_ref: out.json"), "limits: {max_response_bytes: 2000}\n", map[string]string{"out.json": `{"required": ["a"]}`})
	const standard = "non_standard_response"
	for _, test := range []struct {
		name          string
		workerStatus  int
		body          string
		status        int
		code          string
		retryable     bool
		reason        any
		wantsOfWorker bool
	}{
		{"an error of its own", 200, `{"ok":false,"meta":{},"error":{"code":"UPSTREAM_ERROR","message":"no"}}`, 200, "UPSTREAM_ERROR", true, nil, false},
		{"with another status", 503, `{"ok":false,"meta":{},"error":{"code":"VALIDATION_ERROR","message":"no","retryable":true,"details":{}}}`, 200, "VALIDATION_ERROR", true, nil, false},
		{"with a word of its own", 200, `{"ok":false,"error":{"code":"QUOTA_1","message":"no"}}`, 200, "QUOTA_1", false, nil, false},
		{"with no word", 200, `{"ok":false,"error":{"code":"no word","message":"no"}}`, 200, "INTERNAL", false, nil, false},
		{"not JSON", 200, `<html>`, 502, "INTERNAL", false, standard, true},
		{"not JSON, later perhaps", 503, `<html>`, 502, "INTERNAL", true, standard, true},
		{"too often", 429, `slow down`, 502, "INTERNAL", true, standard, true},
		{"without ok", 200, `{"output":{"a":1},"meta":{}}`, 502, "INTERNAL", false, standard, true},
		{"an ok that is none", 200, `{"ok":"true","output":{"a":1}}`, 502, "INTERNAL", false, standard, true},
		{"an output that is none", 200, `{"ok":true,"output":[1]}`, 502, "INTERNAL", false, standard, true},
		{"an error without a code", 200, `{"ok":false,"error":{"message":"x"}}`, 502, "INTERNAL", false, standard, true},
		{"ok with an error's status", 500, `{"ok":true,"output":{"a":1}}`, 502, "INTERNAL", false, standard, true},
		{"a redirect", 302, `{"ok":true,"output":{"a":1}}`, 502, "INTERNAL", false, standard, true},
		{"a redirect with an error", 307, `{"ok":false,"error":{"code":"INTERNAL","message":"x"}}`, 502, "INTERNAL", false, standard, true},
		{"too much", 200, `{"ok":true,"output":{"a":"` + strings.Repeat("x", 3000) + `"}}`, 502, "INTERNAL", false, "response_too_large", false},
		{"the wrong output", 200, `{"ok":true,"output":{"b":1}}`, 502, "INTERNAL", false, "output_schema", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body = test.workerStatus, test.body
			a := h.run("t", `{}`)
			a.want(t, test.status, test.code, test.retryable, test.reason)
			if said := a.Error.Details["worker_status"]; test.wantsOfWorker && said != float64(test.workerStatus) {
				t.Errorf("the worker's status is %v", said)
			}
			if strings.Contains(a.body, "127.0.0.1") {
				t.Error(a.body)
			}
		})
	}
	w.Close()
	a := h.run("t", `{}`)
	a.want(t, 502, "UPSTREAM_ERROR", true, "worker_unreachable")
	if strings.Contains(a.body, "127.0.0.1") {
		t.Error(a.body)
	}
}

// A caller's headers stay with the gateway, and no proxy is asked.
func TestGatewayKeepsWhatIsTheCallers(t *testing.T) {
	var got http.Header
	w := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, `{"ok":true,"output":{}}`)
	}))
	defer w.Close()
	h := keepHouse(t, oneTool(w.URL), "", nil)
	parent := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	if a := h.run("t", `{}`, "Authorization", "Bearer secret", "Cookie", "a=b", "X-Mine", "1", "baggage", "a=b", "traceparent", parent, "tracestate", "v=1"); a.status != 200 {
		t.Fatal(a.body)
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Mine", "Baggage"} {
		if got.Get(name) != "" {
			t.Errorf("the worker got %s: %s", name, got.Get(name))
		}
	}
	sent := got.Get("Traceparent")
	if !strings.HasPrefix(sent, "00-4bf92f3577b34da6a3ce929d0e0e4736-") || strings.Contains(sent, "00f067aa0ba902b7") || got.Get("Tracestate") != "v=1" {
		t.Errorf("the worker got %v", got)
	}
	if got.Get("X-Request-Timeout-Ms") == "" || got.Get("X-Tool-Run-Id") == "" {
		t.Errorf("the worker got %v", got)
	}
}

// When the caller leaves the worker sees its connection close.
func TestGatewayEndsTheWorkersCall(t *testing.T) {
	began, ended := make(chan bool, 1), make(chan error, 1)
	url := startWorker(t, func(ctx context.Context, _ worker.Call) (any, error) {
		began <- true
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	h := keepHouse(t, oneTool(url, "timeout_sec: 30"), "", nil)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", h.url+"/v1/tools/t:run", strings.NewReader(`{"input":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		response, err := h.client.Do(r)
		if err == nil {
			response.Body.Close()
		}
		gone <- err
	}()
	<-began
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the worker's call ended by %v", err)
	}
	if err := <-gone; err == nil {
		t.Error("it was answered")
	}
	h.waitFor(`"code":"CANCELLED"`, 1)
}

// A worker that says nothing is let go when the time is up.
func TestGatewayWaitsNoLongerThanItsTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, conn) // until the gateway closes it
			conn.Close()
		}
		closed <- err
	}()
	h := keepHouse(t, oneTool("http://"+l.Addr().String(), "timeout_sec: 0.3"), "", nil)
	a := h.run("t", `{}`)
	a.want(t, 504, "TIMEOUT", true, nil)
	if a.Error.Details["timeout_sec"] != 0.3 {
		t.Error(a.body)
	}
	if err := <-closed; err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// Two at a time, first come first served; all of twenty are served, and with no queue
// eighteen are not.
func TestGatewayLimitsCallsAtOnce(t *testing.T) {
	var at, most atomic.Int64
	arrived := make(chan int, 20)
	goOn := make(chan bool)
	url := startWorker(t, func(ctx context.Context, c worker.Call) (any, error) {
		var in struct{ N int }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return nil, err
		}
		arrived <- in.N
		for now := at.Add(1); ; {
			if was := most.Load(); now <= was || most.CompareAndSwap(was, now) {
				break
			}
		}
		<-goOn
		at.Add(-1)
		return nil, nil
	})
	free := startWorker(t, echo)
	manifest := manifestOf(toolText("busy", url), toolText("other", free))
	h := keepHouse(t, manifest, "concurrency: {per_tool_max_inflight: {busy: 2}}\n", nil)
	answers := make([]gatewayAnswer, 20)
	var asking sync.WaitGroup
	for i := range answers {
		asking.Go(func() { answers[i] = h.run("busy", fmt.Sprintf(`{"N":%d}`, i)) })
		running, waiting := fmt.Sprintf("\ndurward_gateway_calls_in_flight %d\n", min(i+1, 2)), fmt.Sprintf("\ndurward_gateway_calls_queued %d\n", max(i-1, 0))
		for page := ""; !strings.Contains(page, running) || !strings.Contains(page, waiting); page = h.send("GET", "/metrics", "").body {
			if t.Context().Err() != nil {
				t.Fatalf("never %s%s", running, waiting)
			}
		}
	}
	if a := h.run("other", `{}`); a.status != 200 {
		t.Errorf("a busy tool holds up another: %s", a.body)
	}
	order := []int{<-arrived, <-arrived}
	for range answers {
		goOn <- true
		if len(order) < len(answers) {
			order = append(order, <-arrived) // before the next one may go
		}
	}
	asking.Wait()
	for i, a := range answers {
		if a.status != 200 {
			t.Errorf("%d: %s", i, a.body)
		}
	}
	if most.Load() != 2 {
		t.Errorf("%d were at the worker at once", most.Load())
	}
	if slices.Sort(order[:2]); !slices.IsSorted(order) { // the first two came at once
		t.Errorf("they came as %v", order)
	}

	h.write("policies.yaml", "concurrency: {max_queue: 0, per_tool_max_inflight: {busy: 2}}\n")
	if err := h.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.waitFor("loaded again", 1)
	answered := make(chan gatewayAnswer, 20)
	for i := range 20 {
		asking.Go(func() { answered <- h.run("busy", fmt.Sprintf(`{"N":%d}`, i)) })
	}
	for range 18 {
		a := <-answered
		a.want(t, 429, "RATE_LIMITED", true, "queue_full")
		if a.Error.Details["scope"] != "tool" || a.Error.Details["limit"] != 2.0 || a.header.Get("Retry-After") == "" {
			t.Errorf("%v %s", a.header, a.body)
		}
	}
	goOn <- true
	goOn <- true
	asking.Wait()
	for range 2 {
		if a := <-answered; a.status != 200 {
			t.Error(a.body)
		}
	}
}

// What waits in the queue spends the same time: the deadline is that of the request.
func TestGatewayCountsTheQueue(t *testing.T) {
	goOn := make(chan bool)
	saw := make(chan time.Time, 2)
	url := startWorker(t, func(_ context.Context, c worker.Call) (any, error) {
		saw <- c.Deadline
		<-goOn
		return nil, nil
	})
	h := keepHouse(t, oneTool(url, "timeout_sec: 60"), "concurrency: {max_inflight: 1, queue_timeout_sec: 50}\n", nil)
	var asking sync.WaitGroup
	asking.Go(func() { h.run("t", `{}`) })
	<-saw
	began := time.Now()
	asking.Go(func() { h.run("t", `{}`) })
	for !strings.Contains(h.send("GET", "/metrics", "").body, "durward_gateway_calls_queued 1\n") {
		if t.Context().Err() != nil {
			t.Fatal("nobody waits")
		}
	}
	waits := time.Now()
	goOn <- true
	second := <-saw
	goOn <- true
	asking.Wait()
	// What is left is told in whole milliseconds.
	if second.Before(began.Add(60*time.Second-time.Millisecond)) || second.After(waits.Add(60*time.Second)) {
		t.Errorf("asked between %s and %s, and the deadline is %s", began, waits, second)
	}
}

// A package with mistakes is told of, and the process is there; mended, it is served.
func TestGatewayBootsWithABrokenPackage(t *testing.T) {
	url := startWorker(t, echo)
	h := keepHouse(t, "domain_id: test\nversion: 1\ntools:\n  - tool_id: t\n    transport:\n      type: http\n      base_url: ftp://x\n    timout_sec: 5\n", "", nil)
	for _, path := range []string{"/healthz", "/v1/tools"} {
		a := h.send("GET", path, "")
		a.want(t, 500, "INTERNAL", false, a.Error.Details["reason"])
		if !strings.Contains(a.Error.Message, "manifest.yaml:7: tools[0].transport.base_url: ") || !strings.Contains(a.Error.Message, "timeout_sec") ||
			a.Detail != a.Error.Message || a.Error.Details["line"] != 7.0 || a.Error.Details["file"] != h.path("manifest.yaml") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	h.run("t", `{}`).want(t, 500, "INTERNAL", false, h.send("GET", "/healthz", "").Error.Details["reason"])
	reload := func(text string, times int) {
		t.Helper()
		if err := h.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		h.waitFor(text, times)
	}
	h.write("manifest.yaml", oneTool(url, "transport: 5"))
	reload("still not served", 1)
	if a := h.send("GET", "/healthz", ""); a.status != 500 || !strings.Contains(a.body, "manifest.yaml:6: ") {
		t.Error(a.body)
	}
	h.write("manifest.yaml", manifestOf("  - tool_id: t\n    transport: {type: http, base_url: \"http://x\", auth: {type: bearer, env: NOT_THERE}}\n"))
	reload("NOT_THERE is not set", 1)
	h.write("manifest.yaml", oneTool(url))
	reload("loaded again", 1)
	if a := h.run("t", `{}`); a.status != 200 {
		t.Error(a.body)
	}
	h.write("manifest.yaml", "domain_id: [")
	reload("stays as it was", 1)
	a := h.send("GET", "/healthz", "")
	if a.status != 200 || !strings.Contains(a.body, `{"ok":true,"reload_error":"`) || !strings.Contains(a.body, "manifest.yaml:") {
		t.Error(a.body)
	}
	if a := h.run("t", `{}`); a.status != 200 {
		t.Error(a.body)
	}
	h.write("manifest.yaml", oneTool(url))
	reload("loaded again", 2)
	if a := h.send("GET", "/healthz", ""); a.body != `{"ok":true}`+"\n" {
		t.Error(a.body)
	}
}

// Nothing of a body is in the log, whatever goes wrong.
func TestGatewayLogsNoBodies(t *testing.T) {
	const marker = "MARKER-93a1"
	var body string
	w := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	defer w.Close()
	h := keepHouse(t, oneTool(w.URL, "input_schema_ref: in.json", "output_schema_ref: out.json"), "logging: {level: DEBUG}\n",
		map[string]string{"in.json": `{"properties":{"a":{"maxLength":20}},"additionalProperties":false}`, "out.json": `{"properties":{"n":{"type":"integer"}}}`})
	for _, body = range []string{
		`{"ok":true,"meta":{"trace_id":"` + marker + `"},"output":{"a":"` + marker + `"}}`,
		`{"ok":true,"output":{"n":"` + marker + `"}}`,
		`{"ok":false,"error":{"code":"UPSTREAM_ERROR","message":"` + marker + `","details":{"a":"` + marker + `"}}}`,
		`{"ok":"` + marker + `"}`,
		marker,
	} {
		h.run("t", `{"a":"`+marker+`"}`)
	}
	h.run("t", `{"a":"`+strings.Repeat(marker, 3)+`"}`)
	h.run("t", `{"`+marker+`":1}`)
	h.run("t", `{"`+marker+`":1,"`+marker+`":1}`)
	h.run("t", `"`+marker+`"`, "Authorization", "Bearer "+marker)
	h.end(syscall.SIGTERM)
	if strings.Contains(h.said(), marker) {
		t.Errorf("the log has it:\n%s", h.said())
	}
	if n := strings.Count(h.said(), `"msg":"run"`); n != 9 {
		t.Errorf("%d lines of runs:\n%s", n, h.said())
	}
	for _, r := range h.records() {
		if strings.Contains(r, marker) {
			t.Errorf("a record has it: %s", r)
		}
	}
}

// Runs that go on when the gateway is to end get to their end; no others are taken.
func TestGatewayEndsInOrder(t *testing.T) {
	began, goOn := make(chan bool, 1), make(chan bool)
	url := startWorker(t, func(context.Context, worker.Call) (any, error) {
		began <- true
		<-goOn
		return nil, nil
	})
	h := keepHouse(t, oneTool(url), "", nil)
	answered := make(chan gatewayAnswer, 1)
	go func() { answered <- h.run("t", `{}`) }()
	<-began
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	goOn <- true
	if a := <-answered; a.status != 200 {
		t.Error(a.body)
	}
	<-h.read
	_ = h.cmd.Wait()
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d:\n%s", code, h.said())
	}
}

// A token that the gateway asks for is asked of every caller but those of /healthz.
func TestGatewayAsksForAToken(t *testing.T) {
	url := startWorker(t, echo)
	file := t.TempDir() + "/token"
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := keepHouse(t, oneTool(url), "", nil, "DURWARD_TOKEN_FILE="+file)
	h.run("t", `{}`).want(t, 401, "UNAUTHENTICATED", false, nil)
	h.run("t", `{}`, "Authorization", "Bearer wrong").want(t, 401, "UNAUTHENTICATED", false, nil)
	for _, path := range []string{"/metrics", "/readyz", "/v1/tools"} {
		h.send("GET", path, "").want(t, 401, "UNAUTHENTICATED", false, nil)
	}
	if a := h.run("t", `{}`, "Authorization", "Bearer s3cret"); a.status != 200 {
		t.Error(a.body)
	}
	if a := h.send("GET", "/healthz", ""); a.status != 200 {
		t.Error(a.body)
	}
	h.end(syscall.SIGTERM)
	if strings.Contains(h.said(), "s3cret") || strings.Contains(h.said(), "wrong") {
		t.Error(h.said())
	}
}
