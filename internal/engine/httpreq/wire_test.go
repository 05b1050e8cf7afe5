package httpreq

import (
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http/httpguts"
)

const empty = "HTTP/1.1 204 No Content\r\n\r\n"

// The bytes that reach a server are these and no others.
func TestWhatIsSent(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "socks5://127.0.0.1:1")
	s := speak(t, empty)
	e := engine(t, Options{Allow: []string{s.at}})
	first := func(line string) string { return line + " HTTP/1.1\r\nHost: " + s.at + "\r\nConnection: close\r\n" }
	for _, tt := range []struct {
		name, method, path string
		headers            []field
		body, want         string
	}{
		{name: "nothing is added", method: "GET", path: "/a?b=c#d", want: first("GET /a?b=c") + "\r\n"},
		{name: "an empty path", method: "GET", want: first("GET /") + "\r\n"},
		{name: "a query alone", method: "GET", path: "?", want: first("GET /?") + "\r\n"},
		{name: "any method", method: "brew-42", path: "/", want: first("brew-42 /") + "\r\n"},
		{name: "not ASCII", method: "GET", path: "/ü/%2e%2E%2F\"|?ü=\"%41", want: first("GET /%C3%BC/%2e%2E%2F%22%7C?%C3%BC=%22%41") + "\r\n"},
		{name: "a path of two", method: "GET", path: "//x/../y", want: first("GET //x/../y") + "\r\n"},
		{name: "a post of nothing", method: "POST", path: "/", want: first("POST /") + "Content-Length: 0\r\n\r\n"},
		{name: "a body", method: "GET", path: "/", body: "ab\r\n\r\nGET / HTTP/1.1\r\n\r\n", want: first("GET /") + "Content-Length: 24\r\n\r\nab\r\n\r\nGET / HTTP/1.1\r\n\r\n"},
		{
			name: "headers as they are, in order", method: "GET", path: "/",
			headers: []field{{"x-B", " 1 "}, {"X-A", "2"}, {"x-b", ""}, {"Accept-Encoding", "gzip"}, {"X-U", "ü\ty"}},
			want:    first("GET /") + "x-B: 1\r\nX-A: 2\r\nx-b: \r\nAccept-Encoding: gzip\r\nX-U: ü\ty\r\n\r\n",
		},
		{
			name: "how it travels is not the caller's", method: "POST", path: "/", body: "abc",
			headers: []field{
				{"content-length", "0"},
				{"Content-Length", "4, 4"},
				{"transfer-encoding", "chunked"},
				{"Transfer-Encoding", "identity"},
				{"connection", "keep-alive, X-One"},
				{"keep-alive", "5"},
				{"TE", "trailers"},
				{"Trailer", "X"},
				{"Upgrade", "websocket"},
				{"HTTP2-Settings", "x"},
				{"Proxy-Authorization", "x"},
				{"Expect", "100-continue"},
				{"Host", s.at},
				{"X-One", "1"},
				{"X-Two", "2"},
			},
			want: first("POST /") + "X-Two: 2\r\nContent-Length: 3\r\n\r\nabc",
		},
	} {
		answered(t, e, says(map[string]any{
			"method": tt.method, "url": "http://" + s.at + tt.path, "headers": tt.headers, "bodyBase64": base64of(tt.body),
			"requestId": "r", "streamResponse": nil, "timeoutMs": nil, "other": []int{1},
		}))
		if diff := cmp.Diff(tt.want, <-s.heard); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, tt := range []struct {
		name, text, method string
		want               said
	}{
		{"order, repeats and case", ok + "X-b: 1\r\nx-A:2\r\nX-B: \t3 \r\nContent-Length: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nhi", "GET", said{
			200, []field{{"x-b", "1"}, {"x-a", "2"}, {"x-b", "3"}, {"content-length", "2"}, {"set-cookie", "a"}, {"set-cookie", "b"}}, []byte("hi"),
		}},
		{"no header", "HTTP/1.1 404\r\n\r\n", "GET", said{404, []field{}, []byte{}}},
		{"lines without carriage returns", "HTTP/1.0 200 OK\nA: b\n\nto the end", "GET", said{200, []field{{"a", "b"}}, []byte("to the end")}},
		{"chunks and what is behind them", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\nX-Late: 1\r\n\r\n", "GET", said{200, []field{{"transfer-encoding", "chunked"}}, []byte("abc")}},
		{"what comes before", "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na", "GET", said{200, []field{{"content-length", "1"}}, []byte("a")}},
		{"no body for HEAD", ok + "Content-Length: 99999999\r\n\r\n", "HEAD", said{200, []field{{"content-length", "99999999"}}, []byte{}}},
		{"no body of 304", "HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n", "GET", said{304, []field{{"content-length", "9"}}, []byte{}}},
		{"more than was announced", ok + "Content-Length: 1\r\n\r\nabc", "GET", said{200, []field{{"content-length", "1"}}, []byte("a")}},
		{"packed as it came", ok + "Content-Encoding: gzip\r\n\r\n\x1f\x8bx", "GET", said{200, []field{{"content-encoding", "gzip"}}, []byte("\x1f\x8bx")}},
		{"a header that is no UTF-8", ok + "X: a\xffb\r\n\r\n", "GET", said{200, []field{{"x", "a\ufffdb"}}, []byte{}}},
		{"a redirect without a place", "HTTP/1.1 302 Found\r\n\r\n", "GET", said{302, []field{}, []byte{}}},
	} {
		s := speak(t, tt.text)
		got := answered(t, engine(t, Options{Allow: []string{s.at}}), says(map[string]any{"method": tt.method, "url": "http://" + s.at}))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, text := range map[string]string{
		"nothing":                    "",
		"no HTTP":                    "SSH-2.0-x\r\n",
		"HTTP/0.9":                   "<html>\n\n",
		"HTTP/2":                     "HTTP/2.0 200 OK\r\n\r\n",
		"a status that is none":      "HTTP/1.1 20 OK\r\n\r\n",
		"a negative status":          "HTTP/1.1 -20 OK\r\n\r\n",
		"half a status":              "HTTP/1.1 200 O",
		"half a header":              ok + "Conte",
		"no end of the head":         ok + "A: b\r\n",
		"half a body":                ok + "Content-Length: 10\r\n\r\nabc",
		"half a chunk":               ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
		"no last chunk":              ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
		"a broken length":            ok + "Content-Length: -1\r\n\r\n",
		"two lengths":                ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"a coding nobody knows":      ok + "Transfer-Encoding: gzip\r\n\r\nab",
		"a header that goes on":      ok + "A: b\r\n c\r\n\r\n",
		"a header without a name":    ok + ": b\r\n\r\n",
		"a blank before the colon":   ok + "Content-Length : 1\r\n\r\na",
		"a header with a NUL":        ok + "A: b\x00c\r\n\r\n",
		"a carriage return":          ok + "A: b\rContent-Length: 1\r\n\r\na",
		"another protocol":           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		"a header that is too large": ok + "A: " + strings.Repeat("x", maxHeadBytes) + "\r\n\r\n",
		"headers that are too many":  ok + strings.Repeat("A: b\r\n", maxHeadBytes/6) + "\r\n",
		"heads that are too many":    strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxHeadBytes/25+1) + ok + "\r\n",
	} {
		s := speak(t, text)
		r, err := do(t.Context(), engine(t, Options{Allow: []string{s.at}}), ample, get("http://"+s.at))
		if durward.ReasonOf(err) != durward.ConnectFailed || r.Output != nil || r.Network == nil || r.Network.Connections != 1 {
			t.Errorf("%s: %s, %v", name, r.Output, err)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	closed := newSite(t, func(http.ResponseWriter, *http.Request) {})
	closed.Close()
	_, err := do(t.Context(), engine(t, Options{Allow: []string{closed.at()}}), ample, get(closed.URL))
	if durward.ReasonOf(err) != durward.ConnectFailed || durward.KindOf(err) != durward.Upstream {
		t.Error(err)
	}
}

// A server that answers and reads no more of the request is heard all the same.
func TestAnAnswerBeforeTheBodyIsSent(t *testing.T) {
	done := make(chan struct{})
	at := serve(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1))
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
		<-done
	})
	defer close(done)
	got := answered(t, engine(t, Options{Allow: []string{at}}), says(map[string]any{
		"method": "POST", "url": "http://" + at, "bodyBase64": base64of(strings.Repeat("x", 6<<20)),
	}))
	if got.Status != 413 || string(got.Body) != "no" {
		t.Errorf("%d %q", got.Status, got.Body)
	}
}

func TestLargeBodies(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	large := strings.Repeat("0123456789abcdef", 1<<16)
	got := answered(t, engine(t, Options{Allow: []string{s.at()}}), says(map[string]any{"method": "PUT", "url": s.URL, "bodyBase64": base64of(large)}))
	if string(got.Body) != large {
		t.Errorf("%d bytes came back", len(got.Body))
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "secret for "+r.Host) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	at := s.Listener.Addr().String()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	if got := answered(t, engine(t, Options{Allow: []string{at}, Roots: roots}), get(s.URL)); string(got.Body) != "secret for "+at {
		t.Errorf("%q", got.Body)
	}
	for _, o := range []Options{{Allow: []string{at}}, {Allow: []string{at}, Roots: x509.NewCertPool()}} {
		if _, err := do(t.Context(), engine(t, o), ample, get(s.URL)); durward.ReasonOf(err) != durward.ConnectFailed {
			t.Errorf("nobody vouches for it: %v", err)
		}
	}
}

// FuzzAnswer asks of what any server says that it is refused, or given in a form that its
// parts can stand in.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 100 \r\n\r\nHTTP/1.0 404\nA:b\n\nx", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"HTTP/1.1 101 x\r\n\r\n", "HTTP/1.1 204 x\r\n : \r\n\r\n",
	} {
		f.Add(text, "GET")
	}
	f.Fuzz(func(t *testing.T, text, method string) {
		a, err := readAnswer(strings.NewReader(text), method)
		if err != nil {
			return
		}
		if a.status < 200 || a.status > 999 {
			t.Fatalf("%q has status %d", text, a.status)
		}
		for _, h := range a.fields {
			if !httpguts.ValidHeaderFieldName(h.Name) || h.Name != strings.ToLower(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
				t.Fatalf("%q has %q: %q", text, h.Name, h.Value)
			}
		}
		body, _ := io.ReadAll(a.body)
		if len(body) > len(text) || len(body) > 0 && method == "HEAD" {
			t.Fatalf("%q gives %d bytes to %s", text, len(body), method)
		}
	})
}
