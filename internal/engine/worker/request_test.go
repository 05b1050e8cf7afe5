package worker

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
)

// The bytes that reach a worker are these and no others.
func TestWhatIsSent(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "socks5://127.0.0.1:1")
	p := speaks(t, whole(200, done))
	of := tool(p.url() + "/behind%2Fa")
	c := call("{\"n\" : 1.10e2,\"u\":\"\u00fc\u2028\"}")
	c.Trace.State = "vendor=1, other=2"
	c.Caller, c.ClientID, c.Client = durward.Caller{Name: "somebody"}, "client-id", durward.Client{Name: "client"}
	ctx := patient(t)
	end, _ := ctx.Deadline()
	if got := says(do(ctx, engine(t, Options{}), of, c)); got != `failed=false {"n":1}` {
		t.Fatal(got)
	}
	body := `{"meta":{"trace_id":"00000000000000000000000000000001","tool_run_id":"0198c0de-0000-7000-8000-000000000001",` +
		`"domain_id":"test_domain","deadline_ms":` + strconv.FormatInt(end.UnixMilli(), 10) + "},\"input\":{\"n\" : 1.10e2,\"u\":\"\u00fc\u2028\"}}"
	want := "POST /behind%2Fa/run HTTP/1.1\r\nHost: " + p.Addr().String() + "\r\nUser-Agent: durward\r\nAccept-Encoding: identity\r\n" +
		"Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n" +
		"X-Tool-Run-Id: 0198c0de-0000-7000-8000-000000000001\r\nX-Request-Timeout-Ms: MS\r\n" +
		"traceparent: 00-00000000000000000000000000000001-SPAN-01\r\ntracestate: vendor=1, other=2\r\n\r\n" + body
	got := <-p.heard
	span := regexp.MustCompile(`00000001-([0-9a-f]{16})-01`).FindStringSubmatch(got)
	if span == nil || span[1] == "0000000000000002" || span[1] == "0000000000000000" {
		t.Fatalf("the span is not a new one: %q", got)
	}
	left := regexp.MustCompile(`Timeout-Ms: (\d+)`).FindStringSubmatch(got)
	if ms, err := strconv.Atoi(left[1]); err != nil || time.Duration(ms)*time.Millisecond > patience || ms <= 0 {
		t.Errorf("%s ms are left", left[1])
	}
	if got = strings.NewReplacer(span[1], "SPAN", left[0], "Timeout-Ms: MS").Replace(got); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A name that the caller gave its trace is shown beside the trace context.
func TestNamedTrace(t *testing.T) {
	p := speaks(t, whole(200, done))
	c := call(`{}`)
	c.TraceID = "order-7"
	_, err := do(patient(t), engine(t, Options{}), tool(p.url()), c)
	must(t, err)
	if got := <-p.heard; !strings.Contains(got, `"trace_id":"order-7"`) || !strings.Contains(got, "traceparent: 00-00000000000000000000000000000001-") {
		t.Error(got)
	}
}

// What could not stand in a header is left out of it, and a call without a deadline says none.
func TestWhatIsLeftOut(t *testing.T) {
	p := speaks(t, whole(200, done))
	c := call(`{}`)
	c.ID, c.Trace.State = "x\r\nX-Forged: 1", "a=b\r\nX-Forged: 2"
	_, err := do(context.WithoutCancel(t.Context()), engine(t, Options{}), tool(p.url()), c)
	must(t, err)
	got := <-p.heard
	for _, part := range []string{"\r\nX-Forged", "X-Tool-Run-Id", "X-Request-Timeout-Ms", "deadline_ms", "tracestate"} {
		if strings.Contains(got, part) {
			t.Errorf("%s is in %q", part, got)
		}
	}
}

// A large input reaches the worker as it is.
func TestLargeInput(t *testing.T) {
	text := `{"large":"` + strings.Repeat("0123456789abcdef", 1<<16) + `"}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&in)
		_, _ = io.WriteString(w, `{"ok":true,"output":{"same":`+strconv.FormatBool(string(in.Input) == text)+`}}`)
	}))
	t.Cleanup(s.Close)
	e := engine(t, Options{})
	for range 3 {
		if got := says(do(patient(t), e, tool(s.URL), call(text))); got != `failed=false {"same":true}` {
			t.Error(got)
		}
	}
}

// A worker that answers and reads no more of a request is heard all the same.
func TestAnAnswerBeforeTheRequestIsRead(t *testing.T) {
	refusal := whole(413, `{"ok":false,"error":{"code":"VALIDATION_ERROR","message":"too much"}}`)
	p := serve(t, func(p *peer, c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		p.requests.Add(1)
		_, _ = io.WriteString(c, refusal)
		<-p.heard
	})
	defer close(p.heard)
	text := `"` + strings.Repeat("x", 12<<20) + `"`
	got := says(do(patient(t), engine(t, Options{}), tool(p.url()), call(text)))
	if want := `failed=true {"code":"VALIDATION_ERROR","message":"too much","retryable":false,"details":{}}`; got != want || p.requests.Load() != 1 {
		t.Errorf("%s, %d requests", got, p.requests.Load())
	}
}

func TestSecret(t *testing.T) {
	p := speaks(t, whole(200, done))
	of := tool(p.url())
	of.Transport.TokenEnv = "WORKER_TOKEN"
	value, there := "s3cret value", true
	e := engine(t, Options{Secret: func(name string) (string, bool) { return value, there && name == "WORKER_TOKEN" }})
	_, err := do(patient(t), e, of, call(`{}`))
	must(t, err)
	if got := <-p.heard; strings.Count(got, "\r\nAuthorization: Bearer s3cret value\r\n") != 1 {
		t.Error(got)
	}
	if got := e.Health(patient(t), of); got != Up {
		t.Error(got)
	}
	if got := <-p.heard; strings.Count(got, "\r\nAuthorization: Bearer s3cret value\r\n") != 1 {
		t.Error(got)
	}
	for _, s := range []struct {
		value string
		there bool
	}{{"", false}, {"", true}, {"s3cret\r\nX-Forged: 1", true}, {"s3cret\n", true}} {
		value, there = s.value, s.there
		_, err := do(patient(t), e, of, call(`{}`))
		if durward.KindOf(err) != durward.Unavailable || !strings.Contains(durward.AsError(err).Hint, "WORKER_TOKEN") || strings.Contains(err.Error()+durward.AsError(err).Hint, "s3cret") {
			t.Errorf("%q: %v", s.value, err)
		}
	}
	if n := p.requests.Load(); n != 2 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"ok":true,"output":{"proto":"`+r.Proto+`","host":"`+r.Host+`"}}`)
	}))
	s.Config.ErrorLog = quietLog
	s.EnableHTTP2 = true
	var conns atomic.Int32
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	at := s.Listener.Addr().String()
	e := engine(t, Options{Roots: roots})
	for range 3 {
		if got := says(do(patient(t), e, tool(s.URL), call(`{}`))); got != `failed=false {"proto":"HTTP/1.1","host":"`+at+`"}` {
			t.Error(got)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("three calls made %d connections", n)
	}
	if got := says(do(patient(t), engine(t, Options{}), tool(s.URL), call(`{}`))); got != unreachableSays {
		t.Errorf("nobody vouches for it: %s", got)
	}
	plain := speaks(t, whole(200, done))
	if got := says(do(patient(t), e, tool("https://"+plain.Addr().String()), call(`{}`))); got != unreachableSays {
		t.Errorf("it does not speak TLS: %s", got)
	}
}

// The usual port of a scheme stands in no Host header.
func TestHostHeader(t *testing.T) {
	for base, want := range map[string]string{
		"http://worker": "worker", "http://worker:80": "worker", "http://worker:8080": "worker:8080", "https://worker:443/x": "worker",
		"https://worker:80": "worker:80", "http://[::1]:8080": "[::1]:8080", "http://[::1]": "[::1]",
	} {
		r, err := newRemote(base, &Options{})
		must(t, err)
		if r.host != want {
			t.Errorf("%s: %s", base, r.host)
		}
	}
}

func TestCallsThatAreNone(t *testing.T) {
	e := engine(t, Options{})
	of := tool("http://127.0.0.1:1")
	prepare := func(spec any, c durward.Call) durward.Reason {
		p, err := e.Prepare(t.Context(), durward.Tool{Spec: spec}, c, durward.Grant{})
		if p != nil {
			t.Errorf("%v is prepared", spec)
		}
		return durward.ReasonOf(err)
	}
	if got := prepare("no tool", call(`{}`)); got != durward.Defect {
		t.Error(got)
	}
	if got := prepare(of, durward.Call{Argv: []string{"x"}}); got != durward.BadCall {
		t.Error(got)
	}
	for _, base := range []string{"http://[::1", "http://a b", "http://host:0", "http://"} {
		if got := prepare(tool(base), call(`{}`)); got == "" {
			t.Errorf("%s is a worker", base)
		}
	}
}
