package egress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// get is a request for a path of a host at the target's port.
func (w *world) get(host, path string, fields ...string) string {
	return w.request("GET", host, path, "", fields...)
}

func (w *world) request(method, host, path, body string, fields ...string) string {
	lines := append([]string{method + " http://" + w.at(host) + path + " HTTP/1.1", "Host: " + w.at(host)}, fields...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// TestRequests: V45. One connection may ask for many things, and each is judged by itself.
func TestRequests(t *testing.T) {
	w := newWorld(t)
	w.target.serve(t, func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "%s %s %s", r.Method, r.Host, r.RequestURI)
	})
	c := w.dial()
	for _, step := range []struct {
		host, path, seen string
		rule             Rule
	}{
		{"a.test", "/x", "a.test", ""},
		{"c.test", "/x", "", RuleAllow},
		{"B.Test.", "//y?q=%2F&&x=//", "b.test", ""},
		{"127.0.0.1", "/%41%2f/../z", "127.0.0.1", ""},
		{"127.1", "/x", "", RuleHost},
		{"q.w.test", "?q", "q.w.test", ""},
		{"a.test", "/y", "a.test", ""},
	} {
		c.say(w.get(step.host, step.path))
		a, body := c.answer("GET")
		e := w.next()
		if e.Rule != step.rule || e.Allowed != (step.rule == "") || e.Via != ViaHTTP {
			t.Errorf("%s: told of %+v", step.host, e)
		}
		if step.rule != "" {
			if a.StatusCode != 403 || a.Header.Get("Proxy-Status") != "durward; error=http_request_denied" || a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s: %d %v", step.host, a.StatusCode, a.Header)
			}
			continue
		}
		path := step.path
		if path[0] == '?' {
			path = "/" + path
		}
		if want := "GET " + w.at(step.seen) + " " + path; a.StatusCode != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", step.host, a.StatusCode, body, want)
		}
	}
	if totals := w.toldAll(); totals.Connections != 5 || totals.Up == 0 || totals.Down == 0 {
		t.Errorf("totals %+v", totals)
	}
}

func TestBodies(t *testing.T) {
	w := newWorld(t)
	w.target.serve(t, func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		rw.Header().Set("Trailer", "X-Sum")
		if r.URL.Path == "/sized" {
			rw.Header().Set("Content-Length", fmt.Sprint(len(body)))
		}
		fmt.Fprintf(rw, "%s", body)
		rw.Header().Set("X-Sum", fmt.Sprintf("%d,%s", r.ContentLength, r.Trailer.Get("X-Own")))
	})
	long := strings.Repeat("0123456789abcdef", 10_000)
	c := w.dial()
	c.say(w.request("POST", "a.test", "/", long, fmt.Sprintf("Content-Length: %d", len(long))))
	if a, body := c.answer("POST"); body != long || a.Trailer.Get("X-Sum") != fmt.Sprint(len(long), ",") || !slices.Equal(a.TransferEncoding, []string{"chunked"}) {
		t.Errorf("%d bytes, trailer %v", len(body), a.Trailer)
	}
	c.say(w.request("POST", "a.test", "/", "5\r\nhello\r\n3;x=y\r\n yo\r\n0\r\nX-Own: mine\r\n\r\n", "Transfer-Encoding: Chunked", "Trailer: X-Own"))
	if a, body := c.answer("POST"); body != "hello yo" || a.Trailer.Get("X-Sum") != "-1,mine" {
		t.Errorf("%q, trailer %v", body, a.Trailer)
	}
	c.say(w.request("PUT", "a.test", "/sized", "abc", "Content-Length: 3"))
	if a, body := c.answer("PUT"); body != "abc" || a.ContentLength != 3 {
		t.Errorf("%q, %d", body, a.ContentLength)
	}
	c.say(w.request("POST", "a.test", "/sized", "", "Content-Length: 0"))
	if a, body := c.answer("POST"); body != "" || a.ContentLength != 0 {
		t.Errorf("%q, %d", body, a.ContentLength)
	}
	c.say(w.request("HEAD", "a.test", "/sized", ""))
	if a, body := c.answer("HEAD"); body != "" || a.StatusCode != 200 {
		t.Errorf("%q, %d", body, a.StatusCode)
	}
	c.say("POST http://" + w.at("a.test") + "/ HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi") // the last one
	if a, body := c.answer("POST"); body != "hi" || !a.Close || a.TransferEncoding != nil {
		t.Errorf("%q, %v", body, a.Header)
	}
	c.closed()
}

// What a target sends piece by piece arrives piece by piece.
func TestAnswersStream(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	c.say(w.get("a.test", "/"))
	up := w.target.accept(t)
	_, err := http.ReadRequest(bufio.NewReader(up))
	must(t, err)
	_, err = io.WriteString(up, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
	must(t, err)
	a, err := http.ReadResponse(c.in, nil)
	must(t, err)
	for _, piece := range []string{"one", "two"} {
		_, err = io.WriteString(up, piece)
		must(t, err)
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(a.Body, got); err != nil || string(got) != piece {
			t.Fatalf("%q, %v", got, err)
		}
	}
	must(t, up.Close())
	if rest, err := io.ReadAll(a.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// An answer that was cut off must not look whole.
func TestACutAnswerIsCut(t *testing.T) {
	w := newWorld(t)
	for _, head := range []string{"Content-Length: 100\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		c := w.dial()
		c.say(w.get("a.test", "/"))
		up := w.target.accept(t)
		_, err := http.ReadRequest(bufio.NewReader(up))
		must(t, err)
		_, err = io.WriteString(up, "HTTP/1.1 200 OK\r\n"+head)
		must(t, err)
		must(t, up.Close())
		a, err := http.ReadResponse(c.in, nil)
		must(t, err)
		if body, err := io.ReadAll(a.Body); err == nil || string(body) != "abc" {
			t.Errorf("%q, %v", body, err)
		}
	}
}

// Fields for one hop stay on it, in both directions, and the rest goes through untouched.
func TestFields(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	c.say(w.get("a.test", "/", "Connection: X-Mine, keep-alive", "Connection: x-other", "X-Mine: 1", "X-Other: 2", "Keep-Alive: 5",
		"Proxy-Connection: keep-alive", "Proxy-Authorization: Basic eDp5", "Proxy-Foo: 1", "TE: trailers, gzip", "Upgrade: websocket",
		"HTTP2-Settings: AAA", "Authorization: Bearer x", "Cookie: a=1", "X-Forwarded-For: 1.2.3.4", "Accept-Encoding: gzip"))
	up := w.target.accept(t)
	seen, err := http.ReadRequest(bufio.NewReader(up))
	must(t, err)
	_, err = io.WriteString(up, "HTTP/1.1 302 Moved\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n"+
		"Proxy-Status: other\r\nUpgrade: h2c\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Encoding: gzip\r\nLocation: http://c.test/\r\n"+
		"Content-Length: 21\r\n\r\nnot really compressed")
	must(t, err)
	a, body := c.answer("GET")
	want := http.Header{
		"Te": {"trailers"}, "Authorization": {"Bearer x"}, "Cookie": {"a=1"}, "X-Forwarded-For": {"1.2.3.4"}, "Accept-Encoding": {"gzip"},
		"Connection": {"close"}, // of the hop to the target
	}
	if diff := cmp.Diff(want, seen.Header); diff != "" {
		t.Errorf("the target saw (-want +got):\n%s", diff)
	}
	want = http.Header{
		"Set-Cookie": {"a=1", "b=2"}, "Content-Encoding": {"gzip"}, "Location": {"http://c.test/"}, "Content-Length": {"21"},
	}
	if diff := cmp.Diff(want, a.Header); diff != "" || a.StatusCode != 302 || body != "not really compressed" {
		t.Errorf("%d %q (-want +got):\n%s", a.StatusCode, body, diff)
	}
	w.tells(w.event("a.test", ViaHTTP, ""))
	w.toldAll()
}

// A target that changes the protocol unasked is not followed.
func TestAnUpgradeIsNotPassedOn(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	c.say(w.get("a.test", "/", "Connection: Upgrade", "Upgrade: websocket"))
	up := w.target.accept(t)
	r, err := http.ReadRequest(bufio.NewReader(up))
	must(t, err)
	if r.Header.Get("Upgrade") != "" {
		t.Errorf("the target saw %v", r.Header)
	}
	_, err = io.WriteString(up, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	must(t, err)
	if a, _ := c.answer("GET"); a.StatusCode != 502 {
		t.Error(a.StatusCode)
	}
	c.closed()
}

func TestExpectContinue(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	c.say(w.request("POST", "a.test", "/", "", "Content-Length: 5", "Expect: 100-Continue"))
	up := w.target.accept(t)
	in := bufio.NewReader(up)
	r, err := http.ReadRequest(in)
	must(t, err)
	if r.Header.Get("Expect") != "100-continue" {
		t.Errorf("the target saw %v", r.Header)
	}
	_, err = io.WriteString(up, "HTTP/1.1 100 Continue\r\n\r\n")
	must(t, err)
	c.hears("HTTP/1.1 100 Continue\r\n\r\n")
	c.say("hello")
	if body, err := io.ReadAll(r.Body); err != nil || string(body) != "hello" {
		t.Errorf("%q, %v", body, err)
	}
	_, err = io.WriteString(up, "HTTP/1.1 204 No Content\r\n\r\n")
	must(t, err)
	if a, _ := c.answer("POST"); a.StatusCode != 204 || a.Close {
		t.Errorf("%d, closes: %v", a.StatusCode, a.Close)
	}
	must(t, up.Close())

	// One that does not want the body never gets it.
	c.say(w.request("POST", "a.test", "/", "", "Content-Length: 5", "Expect: 100-continue"))
	up = w.target.accept(t)
	_, err = http.ReadRequest(bufio.NewReader(up))
	must(t, err)
	_, err = io.WriteString(up, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
	must(t, err)
	if a, _ := c.answer("POST"); a.StatusCode != 413 || !a.Close {
		t.Errorf("%d, closes: %v", a.StatusCode, a.Close)
	}
	c.say("hello")
	c.closed()
	if rest, _ := io.ReadAll(up); len(rest) > 0 {
		t.Errorf("the target got %q", rest)
	}
}

// A Host field has to say what the URL says.
func TestHostField(t *testing.T) {
	w := newWorld(t)
	for _, host := range []string{"b.test", "a.test", "a.test:1", w.at("b.test"), "", w.at("a.test") + ",b.test", "127.0.0.1"} {
		c := w.dial()
		c.say("GET http://" + w.at("a.test") + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		if a, body := c.answer("GET"); a.StatusCode != 403 || !strings.Contains(body, "Host field") {
			t.Errorf("%q: %d %q", host, a.StatusCode, body)
		}
		w.tells(w.event("a.test", ViaHTTP, RuleHost))
	}
	w.toldAll()
	w.target.sawNobody(t)
	if n := w.names.asked.Load(); n != 0 {
		t.Errorf("%d lookups", n)
	}
}

// What is no request, or one that two programs could read in two ways, goes nowhere.
func TestRequestsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	url, host := "http://"+w.at("a.test")+"/", "Host: "+w.at("a.test")+"\r\n"
	for what, request := range map[string]string{
		"no proxy form":            "GET / HTTP/1.1\r\n" + host + "\r\n",
		"asterisk":                 "OPTIONS * HTTP/1.1\r\n" + host + "\r\n",
		"https":                    "GET https://" + w.at("a.test") + "/ HTTP/1.1\r\n" + host + "\r\n",
		"ftp":                      "GET ftp://" + w.at("a.test") + "/ HTTP/1.1\r\n" + host + "\r\n",
		"no scheme":                "GET " + w.at("a.test") + " HTTP/1.1\r\n" + host + "\r\n",
		"credentials":              "GET http://u:p@" + w.at("a.test") + "/ HTTP/1.1\r\n" + host + "\r\n",
		"a user in front":          "GET http://a.test@" + w.at("b.test") + "/ HTTP/1.1\r\n" + host + "\r\n",
		"a fragment":               "GET " + url + "#x HTTP/1.1\r\n" + host + "\r\n",
		"no host":                  "GET http:///x HTTP/1.1\r\n" + host + "\r\n",
		"no host, a port":          "GET http://:80/x HTTP/1.1\r\n" + host + "\r\n",
		"no Host":                  "GET " + url + " HTTP/1.1\r\n\r\n",
		"two Hosts":                "GET " + url + " HTTP/1.1\r\n" + host + host + "\r\n",
		"two lengths":              "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
		"a list of lengths":        "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 1, 1\r\n\r\nx",
		"a signed length":          "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\nx",
		"an endless length":        "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\nx",
		"a length and chunks":      "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"another coding":           "POST " + url + " HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"two codings":              "POST " + url + " HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks of HTTP/1.0":       "POST " + url + " HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a blank before a colon":   "POST " + url + " HTTP/1.1\r\n" + host + "Content-Length : 1\r\n\r\nx",
		"a folded field":           "GET " + url + " HTTP/1.1\r\n" + host + "X: 1\r\n y\r\n\r\n",
		"a bare line feed":         "GET " + url + " HTTP/1.1\r\n" + host + "X: 1\nY: 2\r\n\r\n",
		"a bare carriage return":   "GET " + url + " HTTP/1.1\r\n" + host + "X: 1\rY: 2\r\n\r\n",
		"a NUL":                    "GET " + url + " HTTP/1.1\r\n" + host + "X: \x00\r\n\r\n",
		"an odd name":              "GET " + url + " HTTP/1.1\r\n" + host + "X(: 1\r\n\r\n",
		"an empty name":            "GET " + url + " HTTP/1.1\r\n" + host + ": 1\r\n\r\n",
		"an empty line first":      "\r\nGET " + url + " HTTP/1.1\r\n" + host + "\r\n",
		"HTTP/2":                   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/0.9":                 "GET " + url + "\r\n\r\n",
		"a blank in the URL":       "GET " + url + "a b HTTP/1.1\r\n" + host + "\r\n",
		"a bad escape":             "GET " + url + "%zz HTTP/1.1\r\n" + host + "\r\n",
		"TLS to the proxy":         "\x16\x03\x01\x00\x05hello",
		"SOCKS4":                   "\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
		"a tunnel with a body":     "CONNECT " + w.at("a.test") + " HTTP/1.1\r\n" + host + "Content-Length: 1\r\n\r\nx",
		"a tunnel with chunks":     "CONNECT " + w.at("a.test") + " HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"an odd expectation":       "POST " + url + " HTTP/1.1\r\n" + host + "Expect: a miracle\r\nContent-Length: 1\r\n\r\nx",
		"a head beyond its bound":  "GET " + url + " HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", intakeBytes) + "\r\n\r\n",
		"a line beyond its bound":  "GET http://" + strings.Repeat("x", 2*intakeBytes),
		"fields beyond all reason": "GET " + url + " HTTP/1.1\r\n" + strings.Repeat("X: 1\r\n", intakeBytes),
	} {
		c := w.dial()
		_, _ = io.WriteString(c.TCPConn, request) // it may be answered before it is through
		a, body := c.answer("GET")
		if a.StatusCode/100 != 4 || !strings.HasPrefix(body, "durward: ") || !a.Close {
			t.Errorf("%s: %d %q", what, a.StatusCode, body)
		}
		if e := w.next(); e.Rule != RuleRequest || e.Allowed {
			t.Errorf("%s: told of %+v", what, e)
		}
		c.closed()
	}
	w.toldAll()
	w.target.sawNobody(t)
	if n := w.names.asked.Load(); n != 0 {
		t.Errorf("%d lookups", n)
	}
}

// Bytes behind a request are the next one, and never part of the body of another.
func TestPipelining(t *testing.T) {
	w := newWorld(t)
	w.target.serve(t, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "%s %s", r.URL.Path, body)
	})
	c := w.dial()
	const asked = 300
	var all bytes.Buffer
	for i := range asked {
		all.WriteString(w.request("POST", "a.test", fmt.Sprintf("/%d", i), "5\r\nGET h\r\n0\r\n\r\n", "Transfer-Encoding: chunked"))
		all.WriteString(w.get("c.test", "/"))
	}
	go func() { _, _ = c.Write(all.Bytes()) }()
	for i := range asked {
		if _, body := c.answer("POST"); body != fmt.Sprintf("/%d GET h", i) {
			t.Fatalf("%d: %q", i, body)
		}
		if a, _ := c.answer("GET"); a.StatusCode != 403 {
			t.Fatalf("%d: %d", i, a.StatusCode)
		}
	}
	if totals := w.Close(); totals.Connections != asked || totals.Refused.Listed[0].Times != asked {
		t.Errorf("totals %+v", totals)
	}
}

// The body of a request that is refused is not taken for another request.
func TestARefusedBodyIsNotRead(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	body := w.get("a.test", "/")
	c.say(w.request("POST", "c.test", "/", body, fmt.Sprintf("Content-Length: %d", len(body))))
	if a, _ := c.answer("POST"); a.StatusCode != 403 || !a.Close {
		t.Errorf("%d, closes: %v", a.StatusCode, a.Close)
	}
	c.closed()
	w.tells(w.event("c.test", ViaHTTP, RuleAllow))
	w.toldAll()
	w.target.sawNobody(t)
}

func TestAnAnswerBeforeTheBodyIsThrough(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	c.say(w.request("POST", "a.test", "/", "abc", "Content-Length: 100"))
	up := w.target.accept(t)
	_, err := http.ReadRequest(bufio.NewReader(up))
	must(t, err)
	_, err = io.WriteString(up, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
	must(t, err)
	if a, body := c.answer("POST"); a.StatusCode != 403 || body != "no" || !a.Close {
		t.Errorf("%d %q", a.StatusCode, body)
	}
	c.closed()
}

// A client that goes away takes its request with it.
func TestClientsThatVanish(t *testing.T) {
	for what, request := range map[string]func(w *world) string{
		"with no answer":       func(w *world) string { return w.get("a.test", "/") },
		"with a body":          func(w *world) string { return w.request("POST", "a.test", "/", "abc", "Content-Length: 3") },
		"in the middle of one": func(w *world) string { return w.request("POST", "a.test", "/", "abc", "Content-Length: 100") },
		"in the middle of some": func(w *world) string {
			return w.request("POST", "a.test", "/", "5\r\nab", "Transfer-Encoding: chunked")
		},
	} {
		w := newWorld(t)
		c := w.dial()
		c.say(request(w))
		up := w.target.accept(t)
		_, err := http.ReadRequest(bufio.NewReader(up))
		must(t, err)
		must(t, c.SetLinger(0))
		c.Close()
		_, err = io.Copy(io.Discard, up) // until the proxy lets go
		if isTimeout(err) {
			t.Errorf("%s: the request lives on", what)
		}
		w.tells(w.event("a.test", ViaHTTP, ""))
		w.toldAll()
	}
}

// R26: a client that has only ended its side gets its answer.
func TestAHalfClosedClientIsAnswered(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	c.say(w.get("a.test", "/"))
	must(t, c.CloseWrite())
	up := w.target.accept(t)
	_, err := http.ReadRequest(bufio.NewReader(up))
	must(t, err)
	_, err = io.WriteString(up, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	must(t, err)
	if a, body := c.answer("GET"); a.StatusCode != 200 || body != "ok" {
		t.Errorf("%d %q", a.StatusCode, body)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	w := newWorld(t)
	for _, said := range []string{"", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*answerHeadBytes)} {
		c := w.dial()
		c.say(w.get("a.test", "/"))
		up := w.target.accept(t)
		_, err := http.ReadRequest(bufio.NewReader(up))
		must(t, err)
		_, _ = io.WriteString(up, said)
		up.Close()
		if a, body := c.answer("GET"); a.StatusCode != 502 || !strings.Contains(body, "gave no answer") {
			t.Errorf("%d %q", a.StatusCode, body)
		}
	}
}

// FuzzHead: what is let through means the same to net/http, and nothing in it is of two
// minds about where it ends.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "CONNECT a.test:443 HTTP/1.0\r\n\r\n",
		"POST http://a.test:1/x?y HTTP/1.1\r\nHost: a.test:1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
		"POST http://[::1] HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n0\r\n\r\n",
		"GET http://u@a.test#/ HTTP/1.1\r\nHost:a.test\r\nX: y\r\n z\r\n\r\n",
		"T http://://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		end, bad := headEnd([]byte(s), 0)
		for cut := range min(len(s), 64) { // in two pieces it is the same
			first, badFirst := headEnd([]byte(s[:cut]), 0)
			if badFirst && !bad || first > 0 && first != end {
				t.Fatalf("%q: %d, %v; its first %d bytes: %d, %v", s, end, bad, cut, first, badFirst)
			}
			if first == 0 && !badFirst {
				if e, b := headEnd([]byte(s), cut); e != end || b != bad {
					t.Fatalf("%q: %d, %v; from %d: %d, %v", s, end, bad, cut, e, b)
				}
			}
		}
		if bad || end == 0 {
			return
		}
		h, err := parseHead(s[:end])
		if err != nil {
			return
		}
		in := bufio.NewReaderSize(strings.NewReader(s), len(s)+16)
		r, err := http.ReadRequest(in)
		if err != nil {
			return // refused then
		}
		if r.Method != h.method || r.RequestURI != h.target || r.ProtoMinor == 0 != h.old {
			t.Fatalf("%q: %s %s", s, r.Method, r.RequestURI)
		}
		if (r.ContentLength != 0) != h.hasBody {
			t.Fatalf("%q: a length of %d, a body: %v", s, r.ContentLength, h.hasBody)
		}
		if in.Buffered() != len(s)-end {
			t.Fatalf("%q: %d bytes are left of %d", s, in.Buffered(), len(s)-end)
		}
		if asked, err := authority(h.target); err == nil && (strings.ContainsAny(asked, "/?#@ ") || strings.HasPrefix(asked, ":")) {
			t.Fatalf("%q: %q", s, asked)
		}
	})
}

// FuzzSOCKS: a request gives one host and port, or an error, and takes no byte too many.
func FuzzSOCKS(f *testing.F) {
	for _, s := range []string{"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x01\x00\x03\x06a.test\x01\xbb", "\x05\x01\x00\x04" + strings.Repeat("\x00", 18), "\x05\x02\x01\x03"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := strings.NewReader(s)
		request, err := readSOCKS(r)
		if err != nil {
			return
		}
		read := len(s) - r.Len()
		if s[0] != 5 || s[1] != request.command || read < 7 || read > 4+1+255+2 {
			t.Fatalf("%q gave %+v after %d bytes", s, request, read)
		}
		if again, err := readSOCKS(strings.NewReader(s[:read])); err != nil || again != request {
			t.Fatalf("%q gave %+v, %v", s[:read], again, err)
		}
	})
}

// A client that is slow to ask loses its place.
func TestSlowClients(t *testing.T) {
	w := newWorld(t, requireSNI, func(o *Options) { o.intake = 200 * time.Millisecond })
	c := w.dial()
	c.say("GET http://a.test/ HTTP/1.1\r\nHost")
	if a, _ := c.answer("GET"); a.StatusCode != 408 {
		t.Error(a.StatusCode)
	}
	c.closed()
	w.tells(Event{Via: ViaHTTP, Rule: RuleRequest})
	c = w.dial()
	c.say("\x05\x01")
	c.hears("\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00")
	c.closed()
	w.tells(Event{Via: ViaSOCKS5, Rule: RuleRequest})
	w.dial().closed() // one that asks for nothing is told of nowhere
	w.target.sawNobody(t)
	c = w.connect(w.at("a.test"))
	up := w.target.accept(t)
	c.say(string(helloFor(t, "a.test")[:100]))
	c.closed()
	if n, _ := up.Read(make([]byte, 1)); n > 0 {
		t.Error("a part of a hello has left")
	}
	w.tells(w.event("a.test", ViaConnect, RuleSNI))
	w.toldAll()
}

// A tunnel that was opened, and a request that waits for its answer, may be quiet for longer
// than a client may take to ask.
func TestQuietConnectionsLive(t *testing.T) {
	const intake = 50 * time.Millisecond
	w := newWorld(t, requireSNI, func(o *Options) { o.intake = intake })
	tunnel := w.connect(w.at("a.test"))
	through := w.target.accept(t)
	request := w.dial()
	request.say(w.get("b.test", "/"))
	up := w.target.accept(t)
	_, err := http.ReadRequest(bufio.NewReader(up))
	must(t, err)
	w.dial().closed() // by then one intake time has passed
	tunnel.say("late")
	said(t, through, "late")
	_, err = io.WriteString(up, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	must(t, err)
	if _, body := request.answer("GET"); body != "ok" {
		t.Errorf("%q", body)
	}
}

// A client that has ended its side is not waited for without end.
func TestAnEndedClientIsNotServedForEver(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ended = 50 * time.Millisecond })
	c := w.dial()
	c.say(w.get("a.test", "/"))
	must(t, c.CloseWrite())
	up := w.target.accept(t)
	if _, err := io.Copy(io.Discard, up); isTimeout(err) {
		t.Error("the request lives on")
	}
	c.closed()
}
