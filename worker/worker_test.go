package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/worker"
	"github.com/durward/durward/worker/workertest"
)

// start serves a tool until the test ends.
func start(t *testing.T, tool worker.Tool, o worker.Options) (url string) {
	t.Helper()
	url, _ = startUntil(t, tool, o)
	return url
}

// startUntil serves a tool until stop is called, or the test ends; stop gives what became of it.
func startUntil(t *testing.T, tool worker.Tool, o worker.Options) (url string, stop func() error) {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	ctx, cancel := context.WithCancel(context.Background())
	started, ended := make(chan string, 1), make(chan error, 1)
	o.Started = func(url string) { started <- url }
	go func() { ended <- worker.Run(ctx, tool, o) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	select {
	case url = <-started:
	case err := <-ended:
		ended <- err
		t.Fatalf("the worker did not start: %v", err)
	}
	return url, stop
}

func post(t *testing.T, url, body string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/run", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	status, text := do(t, r)
	if status != http.StatusOK {
		t.Errorf("%s: status %d", body, status)
	}
	return text
}

func do(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

type pause struct {
	Text string `json:"text"`
	Ms   int    `json:"ms"`
}

// repeat says a text after a while.
func repeat(ctx context.Context, in pause) (map[string]string, error) {
	timer := time.NewTimer(time.Duration(in.Ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return map[string]string{"text": in.Text}, nil
	}
}

func TestConforms(t *testing.T) {
	for name, token := range map[string]string{"open": "", "with a token": "s3cret"} {
		t.Run(name, func(t *testing.T) {
			o := worker.Options{LookupEnv: func(name string) (string, bool) { return token, name == "TOKEN" }}
			if token != "" {
				o.TokenEnv = "TOKEN"
			}
			workertest.Conform(t, workertest.Worker{
				URL: start(t, worker.Typed(repeat), o), Input: `{"text": "hello"}`, Output: `{"text": "hello"}`,
				Refused: []string{`{"text": 1}`, `{"text": "a", "txet": "b"}`, `{"text": "a", "text": "b"}`, `{"Text": "a"}`},
				Slow:    `{"ms": 90000}`, Token: token,
			})
		})
	}
}

func TestInputAndOutputKeepTheirText(t *testing.T) {
	const input = `{"n":1.10000000000000000001,"big":123456789012345678901234567890,"e":1E+2,"s":"<&>\u00e9","b":1,"a":2}`
	url := start(t, worker.Func(func(_ context.Context, c worker.Call) (any, error) { return c.Input, nil }), worker.Options{})
	if got := post(t, url, `{"input": `+input+`}`); !strings.Contains(got, `"output":`+input+`}`) {
		t.Errorf("got %s", got)
	}
}

func TestWhatToolsComeBackWith(t *testing.T) {
	const secret = "s3cret"
	tests := []struct {
		name   string
		output any
		err    error
		want   string // of the answer behind its meta
	}{
		{"nothing", nil, nil, `"output":{}`},
		{"a struct", struct{ A int }{1}, nil, `"output":{"A":1}`},
		{"no object", []int{1}, nil, `"error":{"code":"INTERNAL","message":"the tool gave no usable output","retryable":false,"details":{}}`},
		{"no JSON", math.NaN(), nil, `"error":{"code":"INTERNAL","message":"the tool gave no usable output","retryable":false,"details":{}}`},
		{"broken raw JSON", json.RawMessage(`{"a"`), nil, `"error":{"code":"INTERNAL","message":"the tool gave no usable output","retryable":false,"details":{}}`},
		{"upstream", nil, &worker.Error{Code: worker.UpstreamError, Message: "m"}, `"error":{"code":"UPSTREAM_ERROR","message":"m","retryable":true,"details":{}}`},
		{"upstream for good", nil, &worker.Error{Code: worker.UpstreamError, Message: "m", Retry: worker.Final}, `"error":{"code":"UPSTREAM_ERROR","message":"m","retryable":false,"details":{}}`},
		{"validation", nil, &worker.Error{Code: worker.ValidationError, Message: "m"}, `"error":{"code":"VALIDATION_ERROR","message":"m","retryable":false,"details":{}}`},
		{"timeout", nil, &worker.Error{Code: worker.Timeout, Message: "m"}, `"error":{"code":"TIMEOUT","message":"m","retryable":true,"details":{}}`},
		{"internal", nil, &worker.Error{Code: worker.Internal, Message: "m"}, `"error":{"code":"INTERNAL","message":"m","retryable":false,"details":{}}`},
		{"internal, but later", nil, &worker.Error{Message: "m", Retry: worker.Retryable}, `"error":{"code":"INTERNAL","message":"m","retryable":true,"details":{}}`},
		{"a code of its own", nil, &worker.Error{Code: "QUOTA_2", Message: "m"}, `"error":{"code":"QUOTA_2","message":"m","retryable":false,"details":{}}`},
		{"a code that is none", nil, &worker.Error{Code: "quota", Message: "m"}, `"error":{"code":"INTERNAL","message":"m","retryable":false,"details":{}}`},
		{"a long code", nil, &worker.Error{Code: worker.Code(strings.Repeat("A", 65)), Message: "m"}, `"error":{"code":"INTERNAL","message":"m","retryable":false,"details":{}}`},
		{"no message", nil, &worker.Error{Code: worker.Timeout}, `"error":{"code":"TIMEOUT","message":"the tool failed","retryable":true,"details":{}}`},
		{"details", nil, &worker.Error{Code: worker.Timeout, Message: "m", Details: map[string]any{"n": 1}}, `"error":{"code":"TIMEOUT","message":"m","retryable":true,"details":{"n":1}}`},
		{"details that are no JSON", nil, &worker.Error{Code: worker.Timeout, Message: "m", Details: map[string]any{"n": math.NaN()}}, `"error":{"code":"INTERNAL","message":"the tool failed","retryable":false,"details":{}}`},
		{"a cause", nil, &worker.Error{Code: worker.Timeout, Message: "m", Err: errors.New(secret)}, `"error":{"code":"TIMEOUT","message":"m","retryable":true,"details":{}}`},
		{"wrapped", nil, errors.Join(errors.New(secret), &worker.Error{Code: worker.Timeout, Message: "m"}), `"error":{"code":"TIMEOUT","message":"m","retryable":true,"details":{}}`},
		{"any error", nil, errors.New(secret), `"error":{"code":"INTERNAL","message":"the tool failed","retryable":false,"details":{}}`},
		{"no error that is one", nil, (*worker.Error)(nil), `"error":{"code":"INTERNAL","message":"the tool failed","retryable":false,"details":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := start(t, worker.Func(func(context.Context, worker.Call) (any, error) { return tt.output, tt.err }), worker.Options{})
			got := post(t, url, `{"meta": {"trace_id": "T", "tool_run_id": "R"}, "input": {}}`)
			if !strings.HasSuffix(got, ","+tt.want+"}\n") || !strings.Contains(got, `"meta":{"trace_id":"T","tool_run_id":"R","duration_ms":`) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if strings.Contains(got, secret) {
				t.Errorf("the answer holds the cause: %s", got)
			}
		})
	}
}

func TestPanicsStayInside(t *testing.T) {
	for name, cause := range map[string]any{"a text": "s3cret", "an error": errors.New("s3cret"), "abort": http.ErrAbortHandler} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			url, stop := startUntil(t, worker.Func(func(context.Context, worker.Call) (any, error) { panic(cause) }), worker.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			got := post(t, url, `{"meta": {"tool_run_id": "R"}, "input": {}}`)
			if !strings.Contains(got, `"tool_run_id":"R"`) || !strings.Contains(got, `"error":{"code":"INTERNAL","message":"the tool failed","retryable":false,"details":{}}`) {
				t.Errorf("got %s", got)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if strings.Contains(got+log.String(), "s3cret") || !strings.Contains(log.String(), "the tool panicked") {
				t.Errorf("the log is %s", &log)
			}
		})
	}
}

// What is sent and answered is in no log, whatever its level.
func TestLogHoldsNoContent(t *testing.T) {
	var log bytes.Buffer
	url, stop := startUntil(t, worker.Typed(repeat), worker.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	post(t, url, `{"meta": {"trace_id": "T1", "tool_run_id": "R1\nforged"}, "input": {"text": "MARKER"}}`)
	post(t, url, `{"meta": {"trace_id": "T2"}, "input": {"text": ["MARKER"]}}`)
	post(t, url, `{"input": MARKER}`)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`trace_id=T1 tool_run_id="R1\nforged" ok=true`, `trace_id=T2 tool_run_id="" ok=false code=VALIDATION_ERROR`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "MARKER") {
		t.Errorf("the log holds what was sent:\n%s", &log)
	}
}

func TestDeadlines(t *testing.T) {
	seen := make(chan worker.Call, 1)
	deadlines := make(chan time.Time, 1)
	url := start(t, worker.Func(func(ctx context.Context, c worker.Call) (any, error) {
		seen <- c
		at, _ := ctx.Deadline()
		deadlines <- at
		return nil, nil
	}), worker.Options{})
	far := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	call := func(deadline string) string {
		return `{"meta": {"domain_id": "d", "deadline_ms": ` + deadline + `}, "input": {}}`
	}
	ms := strconv.FormatInt(far.UnixMilli(), 10)

	t.Run("none", func(t *testing.T) {
		post(t, url, `{"input": {}}`, "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		c, at := <-seen, <-deadlines
		if !at.IsZero() || !c.Deadline.IsZero() {
			t.Errorf("the deadline is %v, the context's %v", c.Deadline, at)
		}
		if c.Trace.ID() != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("the trace is %v", c.Trace)
		}
	})
	t.Run("deadline_ms", func(t *testing.T) {
		for _, header := range [][]string{nil, {"X-Request-Timeout-Ms", "36000000"}, {"X-Request-Timeout-Ms", "99999999999999999999"}} {
			post(t, url, call(ms), header...)
			c, at := <-seen, <-deadlines
			if !c.Deadline.Equal(far) || !at.Equal(far.Add(-worker.Reserve)) {
				t.Errorf("%v: the deadline is %v, the context's %v, want %v", header, c.Deadline, at, far)
			}
			if c.DomainID != "d" {
				t.Errorf("the domain is %q", c.DomainID)
			}
		}
	})
	t.Run("the header, where it leaves less", func(t *testing.T) {
		for _, body := range []string{`{"input": {}}`, call(ms), call("null"), call("1e300")} {
			from := time.Now().Add(time.Minute)
			post(t, url, body, "X-Request-Timeout-Ms", "60000")
			c, at := <-seen, <-deadlines
			if c.Deadline.Before(from) || c.Deadline.After(time.Now().Add(time.Minute)) || !at.Equal(c.Deadline.Add(-worker.Reserve)) {
				t.Errorf("%s: the deadline is %v, the context's %v", body, c.Deadline, at)
			}
		}
	})
	t.Run("past", func(t *testing.T) {
		for _, body := range []string{call("0"), call("-1"), call("1e3"), call("-1e300"), call("1700000000000")} {
			if got := post(t, url, body, "X-Request-Timeout-Ms", "60000"); !strings.Contains(got, `"code":"TIMEOUT"`) || !strings.Contains(got, `"retryable":true`) {
				t.Errorf("%s: got %s", body, got)
			}
		}
		for _, left := range []string{"0", "-5", "-99999999999999999999"} {
			if got := post(t, url, `{"input": {}}`, "X-Request-Timeout-Ms", left); !strings.Contains(got, `"code":"TIMEOUT"`) {
				t.Errorf("%s: got %s", left, got)
			}
		}
	})
	t.Run("what cannot be read is refused", func(t *testing.T) {
		for _, body := range []string{call(`"1"`), call(`true`), call(`{}`), `{"meta": [], "input": {}}`, `{"meta": {"trace_id": 1}, "input": {}}`} {
			if got := post(t, url, body); !strings.Contains(got, `"code":"VALIDATION_ERROR"`) {
				t.Errorf("%s: got %s", body, got)
			}
		}
		for _, header := range [][]string{{"X-Request-Timeout-Ms", ""}, {"X-Request-Timeout-Ms", "1s"}, {"X-Request-Timeout-Ms", "60000", "X-Request-Timeout-Ms", "60000"}} {
			if got := post(t, url, `{"input": {}}`, header...); !strings.Contains(got, `"code":"VALIDATION_ERROR"`) {
				t.Errorf("%q: got %s", header, got)
			}
		}
	})
	if len(seen) > 0 {
		t.Error("a call that was refused reached the tool")
	}
}

// With less than the reserve left a tool that asks somebody else gives up at once, and
// one that does not still answers.
func TestLastMoments(t *testing.T) {
	url := start(t, worker.Func(func(ctx context.Context, _ worker.Call) (any, error) {
		return map[string]bool{"over": ctx.Err() != nil}, nil
	}), worker.Options{})
	got := post(t, url, `{"input": {}}`, "X-Request-Timeout-Ms", "200")
	if !strings.Contains(got, `{"over":true}`) && !strings.Contains(got, "TIMEOUT") { // on a starved machine
		t.Errorf("got %s", got)
	}
}

// A held tool tells when it was started, and why its context ended.
type held struct {
	started chan struct{}
	cause   chan error
}

func newHeld() held { return held{make(chan struct{}, 1), make(chan error, 1)} }

func (h held) Run(ctx context.Context, _ worker.Call) (any, error) {
	h.started <- struct{}{}
	<-ctx.Done()
	h.cause <- context.Cause(ctx)
	return nil, ctx.Err()
}

func TestCallerThatIsGoneStopsTheTool(t *testing.T) {
	tool := newHeld()
	url := start(t, tool, worker.Options{})
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n{\"input\": {}}"); err != nil {
		t.Fatal(err)
	}
	<-tool.started
	c.Close()
	if cause := <-tool.cause; durward.ReasonOf(cause) != durward.CallCancelled {
		t.Errorf("the context ended with %v", cause)
	}
}

func TestEndOfTheWorker(t *testing.T) {
	tool := newHeld()
	url, stop := startUntil(t, tool, worker.Options{Grace: time.Millisecond})
	answered := make(chan string, 1)
	go func() { answered <- post(t, url, `{"input": {}}`) }()
	<-tool.started
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if got := <-answered; !strings.Contains(got, `"error":{"code":"UPSTREAM_ERROR","message":"the worker is shutting down","retryable":true,"details":{}}`) {
		t.Errorf("got %s", got)
	}
	<-tool.cause
}

type checked struct {
	worker.Func
	err error
}

func (c checked) Healthy(context.Context) error { return c.err }

func TestHealth(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		want   string
	}{
		{"well", nil, 200, `{"ok":true}`},
		{"with a message", &worker.Error{Message: "KEY is not set", Err: errors.New("s3cret")}, 500, `{"ok":false,"error":{"code":"INTERNAL","message":"KEY is not set","retryable":false,"details":{}},"detail":"KEY is not set"}`},
		{"any error", errors.New("s3cret"), 500, `{"ok":false,"error":{"code":"INTERNAL","message":"the tool cannot work","retryable":false,"details":{}},"detail":"the tool cannot work"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := start(t, checked{err: tt.err}, worker.Options{})
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", nil)
			if status, got := do(t, r); status != tt.status || got != tt.want+"\n" {
				t.Errorf("got %d %s", status, got)
			}
		})
	}
}

func TestWhoIsAnswered(t *testing.T) {
	env := func(name string) (string, bool) { return "s3cret", name == "TOKEN" }
	tests := []struct {
		name, path, host, origin, token string
		o                               worker.Options
		want                            string
	}{
		{"itself", "/run", "", "", "", worker.Options{}, `{"ok":true`},
		{"localhost", "/run", "localhost:1", "", "", worker.Options{}, `{"ok":true`},
		{"another name", "/run", "tool-shout:8080", "", "", worker.Options{}, `"code":"VALIDATION_ERROR"`},
		{"another name beyond loopback", "/run", "tool-shout:8080", "", "", worker.Options{Listen: "0.0.0.0:0", AllowRemote: true}, `{"ok":true`},
		{"a page", "/run", "", "http://localhost:8080", "", worker.Options{}, `"code":"VALIDATION_ERROR"`},
		{"a page beyond loopback", "/run", "", "http://localhost:8080", "", worker.Options{Listen: "0.0.0.0:0", AllowRemote: true}, `"code":"VALIDATION_ERROR"`},
		{"no token", "/run", "", "", "", worker.Options{TokenEnv: "TOKEN", LookupEnv: env}, `"code":"UNAUTHENTICATED"`},
		{"a wrong token", "/run", "", "", "s3cre", worker.Options{TokenEnv: "TOKEN", LookupEnv: env}, `"code":"UNAUTHENTICATED"`},
		{"the token", "/run", "tool-shout", "", "s3cret", worker.Options{TokenEnv: "TOKEN", LookupEnv: env, Listen: "0.0.0.0:0"}, `{"ok":true`},
		{"health without the token", "/healthz", "", "", "", worker.Options{TokenEnv: "TOKEN", LookupEnv: env}, `{"ok":true`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ran := false
			url := start(t, worker.Func(func(context.Context, worker.Call) (any, error) { ran = true; return nil, nil }), tt.o)
			method := http.MethodPost
			if tt.path == "/healthz" {
				method = http.MethodGet
			}
			r, err := http.NewRequestWithContext(t.Context(), method, strings.Replace(url, "0.0.0.0", "127.0.0.1", 1)+tt.path, strings.NewReader(`{"input": {}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = tt.host
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			if tt.token != "" {
				r.Header.Set("Authorization", "Bearer "+tt.token)
			}
			status, got := do(t, r)
			if status != http.StatusOK || !strings.Contains(got, tt.want) {
				t.Errorf("got %d %s, want %s", status, got, tt.want)
			}
			if ran != (tt.want == `{"ok":true` && tt.path == "/run") {
				t.Errorf("the tool ran: %t", ran)
			}
		})
	}
}

func TestTooLargeABody(t *testing.T) {
	url := start(t, worker.Typed(repeat), worker.Options{MaxRequestBytes: 1000})
	got := post(t, url, `{"input": {"text": "`+strings.Repeat("x", 1000)+`"}}`)
	if !strings.Contains(got, `"code":"VALIDATION_ERROR"`) || !strings.Contains(got, "too large") && !strings.Contains(got, "limit") {
		t.Errorf("got %s", got)
	}
}

func TestWhatDoesNotStart(t *testing.T) {
	nothing := func(string) (string, bool) { return "", false }
	for name, tt := range map[string]struct {
		o    worker.Options
		want durward.Reason
	}{
		"beyond loopback":         {worker.Options{Listen: "0.0.0.0:0"}, durward.RemoteDenied},
		"a name":                  {worker.Options{Listen: "localhost:0"}, durward.BadUsage},
		"no port":                 {worker.Options{Listen: "127.0.0.1"}, durward.BadUsage},
		"a token that is not set": {worker.Options{Listen: "127.0.0.1:0", TokenEnv: "TOKEN", LookupEnv: nothing}, durward.BadUsage},
		"an empty token":          {worker.Options{Listen: "0.0.0.0:0", AllowRemote: true, TokenEnv: "TOKEN", LookupEnv: func(string) (string, bool) { return "", true }}, durward.BadUsage},
	} {
		t.Run(name, func(t *testing.T) {
			tt.o.Started = func(url string) { t.Errorf("it serves on %s", url) }
			if err := worker.Run(t.Context(), worker.Typed(repeat), tt.o); durward.ReasonOf(err) != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
