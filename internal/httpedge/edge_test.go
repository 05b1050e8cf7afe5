package httpedge_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// A running is a server under test.
type running struct {
	t    *testing.T
	addr string
	// stop ends the server; ended gives what Serve returned.
	stop   context.CancelFunc
	ended  chan error
	server *httpedge.Server
}

func start(t *testing.T, h http.Handler, rules httpedge.Rules, o httpedge.Options) *running {
	t.Helper()
	l, err := httpedge.Listen(t.Context(), httpedge.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, l, h, rules, o)
}

func startOn(t *testing.T, l net.Listener, h http.Handler, rules httpedge.Rules, o httpedge.Options) *running {
	t.Helper()
	guard, err := httpedge.NewGuard(rules)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &running{
		t: t, addr: l.Addr().String(), stop: stop,
		ended: make(chan error, 1), server: httpedge.New(guard.Wrap(h), o),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.ended <- s.server.Serve(ctx, l)
	}()
	t.Cleanup(func() { s.server.Close(); stop(); <-served })
	return s
}

// dial opens a raw connection; everything on it must happen within patience.
func (s *running) dial() *net.TCPConn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// send writes a request on a new connection. "ADDR" stands for the server's address,
// and a line ends with "\n".
func (s *running) send(request string) *net.TCPConn {
	s.t.Helper()
	c := s.dial()
	s.write(c, request)
	return c
}

func (s *running) write(c net.Conn, request string) {
	s.t.Helper()
	request = strings.ReplaceAll(strings.ReplaceAll(request, "ADDR", s.addr), "\n", "\r\n")
	if _, err := io.WriteString(c, request); err != nil {
		s.t.Fatal(err)
	}
}

// An answer is a response with its body.
type answer struct {
	*http.Response
	body string
}

func (s *running) read(r *bufio.Reader, method string) answer {
	s.t.Helper()
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res, string(body)}
}

// only reads one answer and then the end of the connection.
func (s *running) only(c net.Conn, method string) answer {
	s.t.Helper()
	r := bufio.NewReader(c)
	a := s.read(r, method)
	if rest, err := io.ReadAll(r); len(rest) > 0 {
		s.t.Errorf("more than one answer: %q, %v", rest, err)
	}
	return a
}

// A door stands for what the real doors do with a request. It notes what it ran.
type door struct {
	maxBytes int64
	mu       sync.Mutex
	ran      []string // guarded by mu
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, err := d.accept(r)
	if err != nil {
		httpedge.WriteError(w, r, err)
		return
	}
	d.mu.Lock()
	d.ran = append(d.ran, r.Method+" "+path)
	d.mu.Unlock()
	fmt.Fprintf(w, "%q", path)
}

func (d *door) accept(r *http.Request) (string, error) {
	if r.Method == http.MethodPost {
		if err := httpedge.NeedJSON(r, false); err != nil {
			return "", err
		}
		if _, err := httpedge.ReadBody(r, d.maxBytes); err != nil {
			return "", err
		}
	}
	return httpedge.DecodePath(r)
}

func (d *door) runs() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.ran...)
}

var siteRules = httpedge.Rules{Methods: []string{"GET", "HEAD", "POST"}}

// second is a request that would be run if what stands before it were taken as complete.
const second = "GET /second HTTP/1.1\nHost: ADDR\n\n"

func TestRefusedRequestsRunNothing(t *testing.T) {
	const get, post = "GET / HTTP/1.1\n", "POST / HTTP/1.1\nHost: ADDR\n"
	const asJSON = "Content-Type: application/json\n"
	tests := []struct {
		name, request string
		status        int
		code          string // empty where the parser of net/http answers
	}{
		{"rebound name", get + "Host: evil.example\n\n", 403, "origin_denied"},
		{"rebound name with our port", get + "Host: evil.example:8000\n\n", 403, "origin_denied"},
		{"name that begins like ours", get + "Host: localhost.evil.example\n\n", 403, "origin_denied"},
		{"user before the host", get + "Host: localhost@evil.example\n\n", 400, ""},
		{"our address, another port", get + "Host: 127.0.0.1:1\n\n", 403, "origin_denied"},
		{"another loopback address", get + "Host: 127.0.0.2\n\n", 403, "origin_denied"},
		{"short form of our address", get + "Host: 127.1\n\n", 403, "origin_denied"},
		{"number for our address", get + "Host: 2130706433\n\n", 403, "origin_denied"},
		{"unspecified address", get + "Host: 0.0.0.0\n\n", 403, "origin_denied"},
		{"IPv6 in brackets", get + "Host: [::1]\n\n", 403, "origin_denied"},
		{"our address in IPv6 form", get + "Host: [::ffff:127.0.0.1]\n\n", 403, "origin_denied"},
		{"bracket left open", get + "Host: [::1\n\n", 403, "origin_denied"},
		{"port that is none", get + "Host: localhost:0\n\n", 403, "origin_denied"},
		{"port too great", get + "Host: localhost:65536\n\n", 403, "origin_denied"},
		{"empty host", get + "Host:\n\n", 403, "origin_denied"},
		{"no host", get + "\n", 400, ""},
		{"two hosts", get + "Host: ADDR\nHost: evil.example\n\n", 400, ""},
		{"no host in HTTP/1.0", "GET / HTTP/1.0\n\n", 403, "origin_denied"},
		{"absolute target, foreign", "GET http://evil.example/ HTTP/1.1\nHost: ADDR\n\n", 403, "origin_denied"},
		{"absolute target, ours", "GET http://ADDR/ HTTP/1.1\nHost: evil.example\n\n", 400, "bad_request"},
		{"connect", "CONNECT ADDR HTTP/1.1\nHost: ADDR\n\n", 405, "method"},
		{"options of the server", "OPTIONS * HTTP/1.1\nHost: ADDR\n\n", 405, "method"},
		{"method", "DELETE / HTTP/1.1\nHost: ADDR\n\n", 405, "method"},
		{"method in lower case", "get / HTTP/1.1\nHost: ADDR\n\n", 405, "method"},
		{"HTTP/2 preface", "PRI * HTTP/2.0\n\nSM\n\n", 405, "method"},
		{"foreign origin", get + "Host: ADDR\nOrigin: http://evil.example\n\n", 403, "origin_denied"},
		{"origin of another port", get + "Host: ADDR\nOrigin: http://127.0.0.1:1\n\n", 403, "origin_denied"},
		{"origin of localhost, other port", get + "Host: ADDR\nOrigin: http://localhost:1\n\n", 403, "origin_denied"},
		{"our origin with TLS", get + "Host: ADDR\nOrigin: https://ADDR\n\n", 403, "origin_denied"},
		{"opaque origin", get + "Host: ADDR\nOrigin: null\n\n", 403, "origin_denied"},
		{"empty origin", get + "Host: ADDR\nOrigin:\n\n", 403, "origin_denied"},
		{"origin with a path", get + "Host: ADDR\nOrigin: http://ADDR/\n\n", 403, "origin_denied"},
		{"two origins", get + "Host: ADDR\nOrigin: http://ADDR\nOrigin: http://evil.example\n\n", 403, "origin_denied"},
		{"foreign origin on HEAD", "HEAD / HTTP/1.1\nHost: ADDR\nOrigin: http://evil.example\n\n", 403, ""},
		{"form", post + "Content-Type: text/plain\nContent-Length: 2\n\n{}", 415, "bad_content_type"},
		{"no content type", post + "Content-Length: 2\n\n{}", 415, "bad_content_type"},
		{"two content types", post + asJSON + asJSON + "Content-Length: 2\n\n{}", 415, "bad_content_type"},
		{"list of content types", post + "Content-Type: application/json, text/plain\nContent-Length: 2\n\n{}", 415, "bad_content_type"},
		{"longer content type", post + "Content-Type: application/jsonp\nContent-Length: 2\n\n{}", 415, "bad_content_type"},
		{"bad parameter", post + "Content-Type: application/json; charset\nContent-Length: 2\n\n{}", 415, "bad_content_type"},
		{"compressed", post + asJSON + "Content-Encoding: gzip\nContent-Length: 2\n\n{}", 415, "bad_content_type"},
		{"wrong type, body never sent", post + "Content-Type: text/plain\nContent-Length: 10\n\n", 415, "bad_content_type"},
		{"announced too large", post + asJSON + "Content-Length: 65\n\n" + strings.Repeat("x", 65), 413, "body_too_large"},
		{"announced too large, never sent", post + asJSON + "Content-Length: 1000000000\n\n", 413, "body_too_large"},
		{"announced too large, asks first", post + asJSON + "Expect: 100-continue\nContent-Length: 65\n\n", 413, "body_too_large"},
		{"chunks over the limit", post + asJSON + "Transfer-Encoding: chunked\n\n41\n" + strings.Repeat("x", 65) + "\n0\n\n", 413, "body_too_large"},
		{"chunks over the limit, no end", post + asJSON + "Transfer-Encoding: chunked\n\nfffffff\n" + strings.Repeat("x", 1000), 413, "body_too_large"},
		{"bad chunk", post + asJSON + "Transfer-Encoding: chunked\n\nxyz\n", 400, "bad_request"},
		{"two lengths", post + asJSON + "Content-Length: 2\nContent-Length: 40\n\n{}", 400, ""},
		{"list of lengths", post + asJSON + "Content-Length: 2, 40\n\n{}", 400, ""},
		{"signed length", post + asJSON + "Content-Length: +2\n\n{}", 400, ""},
		{"negative length", post + asJSON + "Content-Length: -2\n\n{}", 400, ""},
		{"unknown coding", post + asJSON + "Transfer-Encoding: gzip, chunked\n\n0\n\n", 501, ""},
		{"chunked twice", post + asJSON + "Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n0\n\n", 501, ""},
		{"space before the colon", get + "Host : ADDR\n\n", 400, ""},
		{"bad escape in the target", "GET /%zz HTTP/1.1\nHost: ADDR\n\n", 400, ""},
		{"space in the target", "GET /a b HTTP/1.1\nHost: ADDR\n\n", 400, ""},
		{"target without a slash", "GET x HTTP/1.1\nHost: ADDR\n\n", 400, ""},
		{"unknown expectation", get + "Host: ADDR\nExpect: tea\n\n", 417, ""},
		{"head too large", get + "Host: ADDR\nX-A: " + strings.Repeat("x", 20<<10) + "\n\n", 431, ""},
		{"not HTTP", "\x16\x03\x01\n\n", 400, ""},
	}
	d := &door{maxBytes: 64}
	s := start(t, d, siteRules, httpedge.Options{HeaderBytes: 8 << 10})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			method, _, _ := strings.Cut(tt.request, " ")
			a := s.only(s.send(tt.request+second), method)
			if a.StatusCode != tt.status {
				t.Errorf("status %d, want %d: %s", a.StatusCode, tt.status, a.body)
			}
			if tt.code != "" && !strings.Contains(a.body, `"code":"`+tt.code+`"`) {
				t.Errorf("body is %s, want code %s", a.body, tt.code)
			}
			if method == "HEAD" && a.body != "" {
				t.Errorf("HEAD has the body %q", a.body)
			}
			if tt.status == 405 && a.Header.Get("Allow") != "GET, HEAD, POST" {
				t.Errorf("Allow is %q", a.Header.Get("Allow"))
			}
			if runs := d.runs(); len(runs) > 0 {
				t.Fatalf("the door ran %q", runs)
			}
		})
	}
}

func TestPathsArriveAsSent(t *testing.T) {
	tests := []struct{ target, want string }{
		{"/", `"/"`},
		{"//x", `"//x"`},
		{"/a//b/", `"/a//b/"`},
		{"/a/../b", `"/a/../b"`},
		{"/..", `"/.."`},
		{"/%2e%2e/x", `"/../x"`},
		{"/%252e%252e", `"/%2e%2e"`},
		{"/%2Fx", `"//x"`},
		{"/a%00b", `"/a\x00b"`},
		{"/v1/tools/a.b:run", `"/v1/tools/a.b:run"`},
		{"/v1/tools/a.b%3Arun", `"/v1/tools/a.b:run"`},
		{"/a+b;c", `"/a+b;c"`},
		{"/a?b=/../c?d", `"/a"`},
		{"/a%3Fb", `"/a?b"`},
		{"/a#b", `"/a#b"`},
		{"/\xff%ff", `"/\xff\xff"`},
		{"/%5c..%5c", `"/\\..\\"`},
		{"/./.", `"/./."`},
	}
	d := &door{}
	s := start(t, d, siteRules, httpedge.Options{})
	for _, tt := range tests {
		a := s.read(bufio.NewReader(s.send("GET "+tt.target+" HTTP/1.1\nHost: ADDR\n\n")), "GET")
		if a.StatusCode != 200 || a.body != tt.want {
			t.Errorf("%s: got %d %s, want 200 %s", tt.target, a.StatusCode, a.body, tt.want)
		}
	}
}

func TestAcceptedRequests(t *testing.T) {
	rules := siteRules
	rules.Hosts = []string{"Tools.Example", "fixed.example:8443", "10.9.8.7"}
	rules.Origins = []string{"https://App.example", "http://other.example:81"}
	tests := []struct{ name, request string }{
		{"our address", "GET / HTTP/1.1\nHost: ADDR\n\n"},
		{"our address without the port", "GET / HTTP/1.1\nHost: 127.0.0.1\n\n"},
		{"localhost", "GET / HTTP/1.1\nHost: LocalHost\n\n"},
		{"localhost behind a forwarded port", "GET / HTTP/1.1\nHost: localhost:9\nOrigin: http://localhost:9\n\n"},
		{"HTTP/1.0", "GET / HTTP/1.0\nHost: ADDR\n\n"},
		{"allowed name", "GET / HTTP/1.1\nHost: tools.example:1234\n\n"},
		{"allowed name with its port", "GET / HTTP/1.1\nHost: fixed.example:8443\n\n"},
		{"allowed address", "GET / HTTP/1.1\nHost: 10.9.8.7\n\n"},
		{"own origin", "GET / HTTP/1.1\nHost: ADDR\nOrigin: http://ADDR\n\n"},
		{"own origin by the other name", "GET / HTTP/1.1\nHost: ADDR\nOrigin: http://localhost:PORT\n\n"},
		{"own origin of an allowed name", "GET / HTTP/1.1\nHost: tools.example\nOrigin: http://tools.example\n\n"},
		{"allowed origin", "GET / HTTP/1.1\nHost: ADDR\nOrigin: https://app.example\n\n"},
		{"allowed origin, port written", "GET / HTTP/1.1\nHost: ADDR\nOrigin: https://app.example:443\n\n"},
		{"content type with a parameter", "POST / HTTP/1.1\nHost: ADDR\nContent-Type: Application/JSON; charset=utf-8\nContent-Length: 2\n\n{}"},
		{"body at the limit", "POST / HTTP/1.1\nHost: ADDR\nContent-Type: application/json\nContent-Length: 64\n\n" + strings.Repeat(" ", 64)},
		{"chunks at the limit", "POST / HTTP/1.1\nHost: ADDR\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n40\n" + strings.Repeat(" ", 64) + "\n0\n\n"},
		{"empty body", "POST / HTTP/1.1\nHost: ADDR\nContent-Type: application/json\nContent-Length: 0\n\n"},
		{"HEAD", "HEAD / HTTP/1.1\nHost: ADDR\n\n"},
	}
	s := start(t, &door{maxBytes: 64}, rules, httpedge.Options{})
	_, port, _ := net.SplitHostPort(s.addr)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			method, _, _ := strings.Cut(tt.request, " ")
			a := s.read(bufio.NewReader(s.send(strings.ReplaceAll(tt.request, "PORT", port))), method)
			if a.StatusCode != 200 {
				t.Errorf("got %d %s", a.StatusCode, a.body)
			}
			if a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("security headers are missing: %v", a.Header)
			}
			if method == "HEAD" && a.body != "" {
				t.Errorf("HEAD has the body %q", a.body)
			}
		})
	}
	for _, host := range []string{"fixed.example", "fixed.example:1", "sub.tools.example", "10.9.8.8"} {
		if a := s.only(s.send("GET / HTTP/1.1\nHost: "+host+"\n\n"), "GET"); a.StatusCode != 403 {
			t.Errorf("host %s: got %d, want 403", host, a.StatusCode)
		}
	}
}

// Nothing is hidden between a length and chunks: the chunks count, and what follows is
// not read as a request.
func TestLengthBesideChunksEndsTheConnection(t *testing.T) {
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		d := &door{}
		s := start(t, d, siteRules, httpedge.Options{})
		a := s.only(s.send("POST /first "+version+"\nHost: ADDR\nConnection: keep-alive\nContent-Type: application/json\n"+
			"Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n"+second), "POST")
		if runs := d.runs(); a.StatusCode != 200 || len(runs) != 1 || runs[0] != "POST /first" {
			t.Errorf("%s: got %d, and the door ran %q", version, a.StatusCode, runs)
		}
	}
}

func TestConnectionsAreReusedWhenNothingWasRefused(t *testing.T) {
	d := &door{}
	s := start(t, d, siteRules, httpedge.Options{})
	post := "POST /p HTTP/1.1\nHost: ADDR\nContent-Type: application/json\nContent-Length: 2\n\n{}"
	r := bufio.NewReader(s.send(post + post + second))
	for _, want := range []string{`"/p"`, `"/p"`, `"/second"`} {
		if a := s.read(r, "POST"); a.body != want {
			t.Errorf("got %s, want %s", a.body, want)
		}
	}
}

// A client that sends its whole body before it reads still gets to see the refusal.
func TestRefusalReachesAClientThatIsStillSending(t *testing.T) {
	d := &door{maxBytes: 64}
	s := start(t, d, siteRules, httpedge.Options{})
	const size = 900 << 10
	body := strings.Repeat("x", size)
	for _, head := range []string{
		fmt.Sprintf("Content-Length: %d\n\n%s", size, body),
		fmt.Sprintf("Transfer-Encoding: chunked\n\n%x\n%s\n0\n\n", size, body),
	} {
		a := s.only(s.send("POST / HTTP/1.1\nHost: ADDR\nContent-Type: application/json\n"+head+second), "POST")
		if a.StatusCode != 413 || !a.Close || len(d.runs()) > 0 {
			t.Errorf("got %d, close %v, and the door ran %q", a.StatusCode, a.Close, d.runs())
		}
	}
}

// A handler that answers nothing, or before it read the body, does not wait for it.
func TestNobodyWaitsForABodyThatIsNotRead(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"no answer": func(http.ResponseWriter, *http.Request) {},
		"written":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") },
		"flushed":   func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"controlled": func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				panic(err)
			}
		},
		"half read": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 1))
			w.WriteHeader(http.StatusOK)
		},
	}
	for name, h := range handlers {
		for _, framing := range []string{"Content-Length: 10\n\nx", "Transfer-Encoding: chunked\n\n1\nx\n"} {
			s := start(t, h, httpedge.Rules{}, httpedge.Options{RequestTimeout: time.Hour})
			a := s.only(s.send("POST / HTTP/1.1\nHost: ADDR\n"+framing), "POST")
			if a.StatusCode != 200 || !a.Close {
				t.Errorf("%s: got %d, close %v", name, a.StatusCode, a.Close)
			}
		}
	}
}

// Each server has one short time-out, so that a slow machine cannot meet another first.
func TestSlowRequestsEnd(t *testing.T) {
	const short = 50 * time.Millisecond
	d := &door{}
	head := start(t, d, siteRules, httpedge.Options{HeaderTimeout: short})
	for name, request := range map[string]string{"half a head": "GET / HTTP/1.1\nHost: ADDR\nX-A: ", "nothing": ""} {
		if rest, err := io.ReadAll(head.send(request)); len(rest) > 0 || err != nil {
			t.Errorf("%s: got %q, %v; want the end of the connection", name, rest, err)
		}
	}
	body := start(t, d, siteRules, httpedge.Options{RequestTimeout: short})
	c := body.send("POST / HTTP/1.1\nHost: ADDR\nContent-Type: application/json\nContent-Length: 10\n\n{")
	if a := body.only(c, "POST"); a.StatusCode != 408 || !strings.Contains(a.body, "request_timeout") {
		t.Errorf("half a body: got %d %s", a.StatusCode, a.body)
	}
	if runs := d.runs(); len(runs) > 0 {
		t.Errorf("the door ran %q", runs)
	}
	idle := start(t, d, siteRules, httpedge.Options{IdleTimeout: short})
	if a := idle.only(idle.send(second), "GET"); a.StatusCode != 200 {
		t.Errorf("idle: got %d", a.StatusCode)
	}
}

// A body is capped even for a door that reads it by itself.
func TestBodyOfAnIncautiousDoorIsCapped(t *testing.T) {
	got := make(chan error, 1)
	s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if n != 100 {
			err = fmt.Errorf("read %d bytes: %w", n, err)
		}
		got <- err
	}), httpedge.Rules{}, httpedge.Options{BodyBytes: 100})
	s.send("POST / HTTP/1.1\nHost: ADDR\nContent-Length: 101\n\n" + strings.Repeat("x", 101))
	if err := <-got; durward.ReasonOf(err) != durward.BodyTooLarge {
		t.Errorf("got %v, want BodyTooLarge", err)
	}
}

// What was longest without a request makes room for another connection.
func TestConnectionsAtRestMakeRoom(t *testing.T) {
	s := start(t, &door{}, siteRules, httpedge.Options{Connections: 2})
	oldest, kept := s.dial(), s.dial()
	const request = "GET / HTTP/1.1\nHost: ADDR\n\n"
	s.read(bufio.NewReader(s.send(request)), "GET")
	if n, err := oldest.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		t.Errorf("the oldest reads %d bytes, %v", n, err)
	}
	s.write(kept, request)
	s.read(bufio.NewReader(kept), "GET")
}

// While all connections have requests that are answered others wait, and the first that has none
// any more makes room.
func TestConnectionsAreLimited(t *testing.T) {
	began, end := make(chan string), map[string]chan struct{}{}
	for _, path := range []string{"/1", "/2", "/3"} {
		end[path] = make(chan struct{})
	}
	s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		began <- r.URL.Path
		<-end[r.URL.Path]
	}), httpedge.Rules{}, httpedge.Options{Connections: 2})
	get := func(path string) *net.TCPConn { return s.send("GET " + path + " HTTP/1.1\nHost: ADDR\n\n") }
	next := func(want string) {
		t.Helper()
		if path := <-began; path != want {
			t.Errorf("%s is next, not %s", path, want)
		}
	}
	first := get("/1")
	next("/1")
	second := get("/2")
	next("/2")
	third := get("/3")
	close(end["/1"])
	s.only(first, "GET")
	next("/3")
	close(end["/2"])
	close(end["/3"])
	s.read(bufio.NewReader(second), "GET")
	s.read(bufio.NewReader(third), "GET")
}

// A client that does not read holds its handler for the write time-out only.
func TestClientThatDoesNotReadIsLetGo(t *testing.T) {
	failed := make(chan error, 1)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := w.Write(piece); err != nil {
				failed <- err
				return
			}
		}
	}), httpedge.Rules{}, httpedge.Options{WriteTimeout: 50 * time.Millisecond})
	s.send("GET / HTTP/1.1\nHost: ADDR\n\n")
	select {
	case <-failed:
	case <-time.After(patience):
		t.Fatal("the handler still writes")
	}
}

func TestPanicIsAnsweredAndLeavesTheServerAlive(t *testing.T) {
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/early":
			w.Header().Set("Content-Length", "1000")
			panic("secret")
		case "/late":
			w.WriteHeader(http.StatusOK)
			panic("secret")
		}
	}), httpedge.Rules{}, httpedge.Options{})
	a := s.only(s.send("GET /early HTTP/1.1\nHost: ADDR\n\n"), "GET")
	if a.StatusCode != 500 || !strings.Contains(a.body, `"internal"`) || strings.Contains(a.body, "secret") {
		t.Errorf("got %d %s", a.StatusCode, a.body)
	}
	if rest, err := io.ReadAll(s.send("GET /late HTTP/1.1\nHost: ADDR\n\n")); len(rest) > 0 || err != nil {
		t.Errorf("got %q, %v; want a cut connection", rest, err)
	}
	if a := s.read(bufio.NewReader(s.send(second)), "GET"); a.StatusCode != 200 {
		t.Errorf("got %d afterwards", a.StatusCode)
	}
}
