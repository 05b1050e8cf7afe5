// Package workertest tries whether a tool worker, in whatever language, does what a tool
// gateway expects of it.
//
//	func TestWorker(t *testing.T) {
//		workertest.Conform(t, workertest.Worker{URL: url, Input: `{"text": "hello"}`, Output: `{"text": "HELLO"}`})
//	}
package workertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Worker is one that runs and is to be tried.
type Worker struct {
	// URL is where it listens: "http://127.0.0.1:8080".
	URL string
	// Input is an input that it answers soon, and Output what the output is then. An empty
	// Output is not compared.
	Input, Output string
	// Refused lists inputs that it has to refuse with VALIDATION_ERROR.
	Refused []string
	// Slow is an input that it works at for longer than a minute, unless it is stopped.
	// Empty leaves out what needs one.
	Slow string
	// Token is what it asks for; empty means nothing.
	Token string
}

// patience is how long an answer may take that is not late by what it says.
const patience = 30 * time.Second

// Conform fails the test for each rule that the worker does not keep. It changes nothing
// beyond what the inputs make the worker do.
func Conform(t *testing.T, w Worker) {
	t.Run("healthz", w.health)
	t.Run("success", w.success)
	t.Run("without meta", w.withoutMeta)
	t.Run("no input object", w.noInput)
	t.Run("not one JSON object", w.notJSON)
	t.Run("refused inputs", w.refused)
	t.Run("the deadline has passed", w.past)
	t.Run("the deadline passes", w.passes)
	t.Run("other requests", w.others)
}

// meta is what a gateway says of a call that may take so long.
func meta(left time.Duration) string {
	return `"meta": {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "tool_run_id": "01890a5d-ac96-774b-bcce-b302099a8057",
		"domain_id": "example_domain", "deadline_ms": ` + strconv.FormatInt(time.Now().Add(left).UnixMilli(), 10) + `}`
}

// An envelope is an answer of POST /run.
type envelope struct {
	OK   *bool `json:"ok"`
	Meta *struct {
		TraceID    *string      `json:"trace_id"`
		ToolRunID  *string      `json:"tool_run_id"`
		DurationMs *json.Number `json:"duration_ms"`
	} `json:"meta"`
	Output map[string]any `json:"output"`
	Error  *struct {
		Code      string         `json:"code"`
		Message   string         `json:"message"`
		Retryable *bool          `json:"retryable"`
		Details   map[string]any `json:"details"`
	} `json:"error"`
}

func (w Worker) health(t *testing.T) {
	status, body := w.do(t, http.MethodGet, "/healthz", "", nil)
	var says struct {
		OK bool `json:"ok"`
	}
	if err := json.Unmarshal(body, &says); err != nil || status != http.StatusOK || !says.OK {
		t.Errorf("got %d %s", status, body)
	}
}

func (w Worker) success(t *testing.T) {
	a := w.run(t, `{`+meta(patience)+`, "input": `+w.Input+`}`, nil)
	w.succeeded(t, a)
	if *a.Meta.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || *a.Meta.ToolRunID != "01890a5d-ac96-774b-bcce-b302099a8057" {
		t.Errorf("meta says trace_id %q and tool_run_id %q, which are not those of the call", *a.Meta.TraceID, *a.Meta.ToolRunID)
	}
}

func (w Worker) withoutMeta(t *testing.T) {
	for _, body := range []string{`{"input": ` + w.Input + `}`, `{"later": [1], "input": ` + w.Input + `, "meta": {}}`} {
		a := w.run(t, body, nil)
		w.succeeded(t, a)
		if *a.Meta.TraceID != "" || *a.Meta.ToolRunID != "" {
			t.Errorf("%s: meta has ids that nobody gave", body)
		}
	}
}

func (w Worker) noInput(t *testing.T) {
	for _, rest := range []string{``, `, "input": null`, `, "input": []`, `, "input": "text"`, `, "input": 1`, `, "Input": {}`} {
		body := `{` + meta(patience) + rest + `}`
		a := w.run(t, body, nil)
		a.failed(t, body, "VALIDATION_ERROR")
		if *a.Meta.ToolRunID == "" {
			t.Errorf("%s: meta does not say which run failed", body)
		}
	}
}

func (w Worker) notJSON(t *testing.T) {
	for _, body := range []string{
		``, `{`, `[]`, `null`, `"x"`, `{"input": ` + w.Input + `} {}`, `{"input": {}, "input": ` + w.Input + `}`,
		"{\"input\": {\"\xff\": 1}}", `{"input": {"a": NaN}}`,
	} {
		w.run(t, body, nil).failed(t, body, "VALIDATION_ERROR")
	}
}

func (w Worker) refused(t *testing.T) {
	for _, input := range w.Refused {
		w.run(t, `{`+meta(patience)+`, "input": `+input+`}`, nil).failed(t, input, "VALIDATION_ERROR")
	}
}

func (w Worker) past(t *testing.T) {
	gone, header := `{`+meta(-time.Second)+`, "input": `+w.Input+`}`, http.Header{}
	w.run(t, gone, nil).failed(t, gone, "TIMEOUT")
	header.Set("X-Request-Timeout-Ms", "60000")
	w.run(t, gone, header).failed(t, "the same with a minute left by the header", "TIMEOUT")
	header.Set("X-Request-Timeout-Ms", "0")
	w.run(t, `{`+meta(patience)+`, "input": `+w.Input+`}`, header).failed(t, "no time left by the header", "TIMEOUT")
}

func (w Worker) passes(t *testing.T) {
	if w.Slow == "" {
		return
	}
	w.run(t, `{`+meta(time.Second)+`, "input": `+w.Slow+`}`, nil).failed(t, w.Slow, "TIMEOUT")
	header := http.Header{"X-Request-Timeout-Ms": {"1000"}}
	w.run(t, `{"input": `+w.Slow+`}`, header).failed(t, w.Slow+" with the header alone", "TIMEOUT")
}

func (w Worker) others(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		status       int
	}{{http.MethodGet, "/run", http.StatusMethodNotAllowed}, {http.MethodGet, "/none", http.StatusNotFound}} {
		if status, body := w.do(t, tt.method, tt.path, "", nil); status != tt.status {
			t.Errorf("%s %s: got %d %s, want %d", tt.method, tt.path, status, body, tt.status)
		}
	}
}

// run posts a body to /run and reads the envelope, whose parts are all there then.
func (w Worker) run(t *testing.T, body string, header http.Header) envelope {
	t.Helper()
	status, text := w.do(t, http.MethodPost, "/run", body, header)
	var a envelope
	if err := json.Unmarshal(text, &a); err != nil || status != http.StatusOK {
		t.Fatalf("%.200s: got %d %s", body, status, text)
	}
	switch {
	case a.OK == nil, a.Meta == nil, a.Meta.TraceID == nil, a.Meta.ToolRunID == nil, a.Meta.DurationMs == nil,
		*a.OK != (a.Output != nil), *a.OK == (a.Error != nil):
		t.Fatalf("%.200s: %s is no envelope", body, text)
	case a.Error != nil && (a.Error.Code == "" || a.Error.Message == "" || a.Error.Retryable == nil || a.Error.Details == nil):
		t.Fatalf("%.200s: the error of %s lacks a part", body, text)
	}
	if ms, err := a.Meta.DurationMs.Int64(); err != nil || ms < 0 {
		t.Errorf("%.200s: duration_ms is %s", body, *a.Meta.DurationMs)
	}
	return a
}

func (w Worker) succeeded(t *testing.T, a envelope) {
	t.Helper()
	if !*a.OK {
		t.Fatalf("got the error %s: %s", a.Error.Code, a.Error.Message)
	}
	if w.Output == "" {
		return
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(w.Output), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Output, want) {
		t.Errorf("the output is %v, want %v", a.Output, want)
	}
}

// failed expects an error that can be tried again if it is a TIMEOUT, and not otherwise.
func (a envelope) failed(t *testing.T, what, code string) {
	t.Helper()
	switch {
	case *a.OK:
		t.Errorf("%.200s: it succeeded with %v, want %s", what, a.Output, code)
	case a.Error.Code != code || *a.Error.Retryable != (code == "TIMEOUT"):
		t.Errorf("%.200s: got %s (retryable: %t), want %s", what, a.Error.Code, *a.Error.Retryable, code)
	}
}

func (w Worker) do(t *testing.T, method, path, body string, header http.Header) (status int, text []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.Token != "" {
		r.Header.Set("Authorization", "Bearer "+w.Token)
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		t.Errorf("%s %s: the content type is %q", method, path, kind)
	}
	return res.StatusCode, bytes.TrimSpace(text)
}
