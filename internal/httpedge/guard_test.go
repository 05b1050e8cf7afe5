package httpedge_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

func TestRulesThatSayNothingAreRefused(t *testing.T) {
	for _, rules := range []httpedge.Rules{
		{Hosts: []string{""}},
		{Hosts: []string{"*"}},
		{Hosts: []string{"*.example"}},
		{Hosts: []string{"http://a"}},
		{Hosts: []string{"a:0"}},
		{Hosts: []string{"a:b"}},
		{Hosts: []string{"bücher.example"}},
		{Hosts: []string{strings.Repeat("a", 254)}},
		{Hosts: []string{"::1"}},
		{Hosts: []string{"[fe80::1%eth0]"}},
		{Hosts: []string{"[127.0.0.1]"}},
		{Origins: []string{""}},
		{Origins: []string{"*"}},
		{Origins: []string{"null"}},
		{Origins: []string{"example.org"}},
		{Origins: []string{"ftp://example.org"}},
		{Origins: []string{"https://example.org/"}},
		{Origins: []string{"https://"}},
	} {
		if _, err := httpedge.NewGuard(rules); durward.ReasonOf(err) != durward.BadUsage {
			t.Errorf("NewGuard(%q, %q) = %v, want BadUsage", rules.Hosts, rules.Origins, err)
		}
	}
}

func TestBearerTokens(t *testing.T) {
	ci, err := httpedge.NewToken("ci", " s3cret-._~+/=\n")
	if err != nil {
		t.Fatal(err)
	}
	tokens := httpedge.Tokens{ci, {Name: "by digest", SHA256: sha256.Sum256([]byte("other"))}}
	callers := make(chan durward.Caller, 1)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { callers <- httpedge.CallerOf(r.Context()) })
	s := start(t, h, httpedge.Rules{Authenticate: tokens.Authenticate, Open: []string{"/health"}}, httpedge.Options{})

	anonymous := durward.Caller{Name: "anonymous", Method: "none"}
	allowed := []struct {
		path, headers string
		want          durward.Caller
	}{
		{"/", "Authorization: Bearer s3cret-._~+/=\n", durward.Caller{Name: "token:ci", Method: "bearer"}},
		{"/", "Authorization: bearer   other\n", durward.Caller{Name: "token:by digest", Method: "bearer"}},
		{"/health", "", anonymous},
		{"/health?x", "Authorization: Bearer wrong\n", anonymous},
	}
	for _, tt := range allowed {
		a := s.read(bufio.NewReader(s.send("GET "+tt.path+" HTTP/1.1\nHost: ADDR\n"+tt.headers+"\n")), "GET")
		if a.StatusCode != 200 {
			t.Fatalf("%s %q: got %d", tt.path, tt.headers, a.StatusCode)
		}
		if got := <-callers; got != tt.want {
			t.Errorf("%s %q: caller is %v, want %v", tt.path, tt.headers, got, tt.want)
		}
	}
	for _, tt := range []struct{ path, headers string }{
		{"/", ""},
		{"/", "Authorization: Bearer wrong\n"},
		{"/", "Authorization: Bearer\n"},
		{"/", "Authorization: Bearer \n"},
		{"/", "Authorization: s3cret-._~+/=\n"},
		{"/", "Authorization: Basic other\n"},
		{"/", "Authorization: Bearer other x\n"},
		{"/", "Authorization: Bearer Other\n"},
		{"/", "Authorization: Bearer other\nAuthorization: Bearer other\n"},
		{"/health/", ""},
		{"/%68ealth", ""},
		{"//health", ""},
	} {
		a := s.only(s.send("GET "+tt.path+" HTTP/1.1\nHost: ADDR\n"+tt.headers+"\n"+second), "GET")
		if a.StatusCode != 401 || a.Header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(a.body, `"unauthenticated"`) {
			t.Errorf("%s %q: got %d %v %s", tt.path, tt.headers, a.StatusCode, a.Header, a.body)
		}
	}
	if len(callers) > 0 {
		t.Error("the handler ran without a credential")
	}
	if _, err := (httpedge.Tokens{}).Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer x"}}}); err == nil {
		t.Error("no tokens accept somebody")
	}
}

func TestTokensThatNobodyCanSendAreRefused(t *testing.T) {
	for _, text := range []string{"", " \n", "two words", "a\nb", "ümlaut", "a\x00"} {
		_, err := httpedge.NewToken("file", text)
		if durward.ReasonOf(err) != durward.BadUsage {
			t.Errorf("NewToken(%q) = %v, want BadUsage", text, err)
		}
		if strings.TrimSpace(text) != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

func TestNoOriginServesNoBrowser(t *testing.T) {
	d := &door{}
	s := start(t, d, httpedge.Rules{NoOrigin: true, Origins: []string{"http://a.example"}}, httpedge.Options{})
	for _, origin := range []string{"http://ADDR", "http://a.example", "null", ""} {
		if a := s.only(s.send("GET / HTTP/1.1\nHost: ADDR\nOrigin: "+origin+"\n\n"), "GET"); a.StatusCode != 403 {
			t.Errorf("origin %q: got %d", origin, a.StatusCode)
		}
	}
	if a := s.read(bufio.NewReader(s.send(second)), "GET"); a.StatusCode != 200 || len(d.runs()) != 1 {
		t.Errorf("got %d, and the door ran %q", a.StatusCode, d.runs())
	}
}

// A guard also stands in a program that has a server of its own.
func TestGuardWithoutOurServer(t *testing.T) {
	guard, err := httpedge.NewGuard(siteRules)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{}
	theirs := httptest.NewServer(guard.Wrap(d))
	defer theirs.Close()
	s := &running{t: t, addr: theirs.Listener.Addr().String()}
	if a := s.only(s.send("GET / HTTP/1.1\nHost: evil.example\n\n"+second), "GET"); a.StatusCode != 403 || len(d.runs()) > 0 {
		t.Errorf("got %d, and the door ran %q", a.StatusCode, d.runs())
	}
	if a := s.read(bufio.NewReader(s.send(second)), "GET"); a.StatusCode != 200 {
		t.Errorf("got %d", a.StatusCode)
	}
}

func TestErrorsOfADoorsOwnShape(t *testing.T) {
	write := func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, "own shape: "+string(durward.ReasonOf(err)), httpedge.Status(err))
	}
	s := start(t, &door{}, httpedge.Rules{WriteError: write}, httpedge.Options{})
	a := s.only(s.send("GET / HTTP/1.1\nHost: evil.example\n\n"), "GET")
	if a.StatusCode != 403 || a.body != "own shape: origin_denied\n" {
		t.Errorf("got %d %q", a.StatusCode, a.body)
	}
}

func TestWriteError(t *testing.T) {
	tests := []struct {
		err    error
		status int
		body   string
	}{
		{&durward.Error{Reason: durward.BadContentType}, 415, `{"error":"the body is not sent as plain application/json","code":"bad_content_type"}`},
		{fmt.Errorf("/secret: %w", &durward.Error{Reason: durward.OriginDenied, Err: errors.New("/secret")}), 403, `{"error":"the Host or Origin is not allowed","code":"origin_denied"}`},
		{&durward.Error{Kind: durward.Conflict, Err: errors.New("secret")}, 409, `{"error":"conflict","code":"conflict"}`},
		{errors.New("secret"), 500, `{"error":"internal","code":"internal"}`},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		httpedge.WriteError(w, nil, tt.err)
		if w.Code != tt.status || w.Body.String() != tt.body+"\n" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%v: got %d %v %s", tt.err, w.Code, w.Header(), w.Body)
		}
	}
}

func TestListen(t *testing.T) {
	refused := []struct {
		at   httpedge.Address
		want durward.Reason
	}{
		{httpedge.Address{}, durward.BadUsage},
		{httpedge.Address{Host: "localhost"}, durward.BadUsage},
		{httpedge.Address{Host: "127.1"}, durward.BadUsage},
		{httpedge.Address{Host: "127.0.0.1:1"}, durward.BadUsage},
		{httpedge.Address{Host: "[::1]"}, durward.BadUsage},
		{httpedge.Address{Host: "127.0.0.1", Port: -1}, durward.BadUsage},
		{httpedge.Address{Host: "127.0.0.1", Port: 65536}, durward.BadUsage},
		{httpedge.Address{Host: "0.0.0.0"}, durward.RemoteDenied},
		{httpedge.Address{Host: "::"}, durward.RemoteDenied},
		{httpedge.Address{Host: "::ffff:0.0.0.0"}, durward.RemoteDenied},
		{httpedge.Address{Host: "192.0.2.1"}, durward.RemoteDenied},
		{httpedge.Address{Host: "192.0.2.1", AllowRemote: true}, durward.ListenFailed},
	}
	for _, tt := range refused {
		l, err := httpedge.Listen(t.Context(), tt.at)
		if durward.ReasonOf(err) != tt.want {
			t.Errorf("Listen(%+v) = %v, want %s", tt.at, err, tt.want)
		}
		if l != nil {
			l.Close()
		}
	}
	for _, at := range []httpedge.Address{
		{Host: "127.0.0.1"}, {Host: "::ffff:127.0.0.1"}, {Host: "0.0.0.0", AllowRemote: true}, {Host: "0.0.0.0", Authenticated: true},
	} {
		l, err := httpedge.Listen(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^Serving on http://(127\.0\.0\.1|0\.0\.0\.0):[1-9]\d*$`).MatchString(httpedge.StartLine(l.Addr())) {
			t.Errorf("start line is %q", httpedge.StartLine(l.Addr()))
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		again := at
		if _, err := fmt.Sscan(port, &again.Port); err != nil {
			t.Fatal(err)
		}
		if _, err := httpedge.Listen(t.Context(), again); durward.ReasonOf(err) != durward.ListenFailed {
			t.Errorf("a port in use: %v, want ListenFailed", err)
		}
		l.Close()
	}
	if got := httpedge.URL(&net.TCPAddr{IP: net.IPv6loopback, Port: 8000}); got != "http://[::1]:8000" {
		t.Errorf("URL is %s", got)
	}
}

func TestIntake(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	tests := []struct {
		name      string
		header    http.Header
		id, state string
	}{
		{"none", http.Header{}, "", ""},
		{"one", http.Header{"Traceparent": {parent}, "Tracestate": {"a=1", "b=2"}}, "4bf92f3577b34da6a3ce929d0e0e4736", "a=1,b=2"},
		{"two", http.Header{"Traceparent": {parent, parent}}, "", ""},
		{"bad", http.Header{"Traceparent": {"00-x"}, "Tracestate": {"a=1"}}, "", ""},
		{"long state", http.Header{"Traceparent": {parent}, "Tracestate": {strings.Repeat("a", 513)}}, "4bf92f3577b34da6a3ce929d0e0e4736", ""},
	}
	for _, tt := range tests {
		got := httpedge.TraceOf(&http.Request{Header: tt.header})
		if got.ID() != tt.id || got.State != tt.state {
			t.Errorf("%s: got %q %q", tt.name, got.ID(), got.State)
		}
	}
	for id, want := range map[string]string{
		"a-Z_9": "a-Z_9", "": "", "a b": "", "a\"": "", "é": "", strings.Repeat("a", 64): strings.Repeat("a", 64), strings.Repeat("a", 65): "",
	} {
		if got := httpedge.ClientID(&http.Request{Header: http.Header{"X-Trace-Id": {id}}}, "X-Trace-Id"); got != want {
			t.Errorf("ClientID(%q) = %q, want %q", id, got, want)
		}
	}
	if got := httpedge.ClientID(&http.Request{Header: http.Header{"X-Trace-Id": {"a", "b"}}}, "X-Trace-Id"); got != "" {
		t.Errorf("two ids give %q", got)
	}
}

func TestNeedJSONMayDoWithout(t *testing.T) {
	if err := httpedge.NeedJSON(&http.Request{Header: http.Header{}}, true); err != nil {
		t.Error(err)
	}
	if err := httpedge.NeedJSON(&http.Request{Header: http.Header{"Content-Encoding": {"Identity"}}}, true); err != nil {
		t.Error(err)
	}
	for _, header := range []http.Header{
		{"Content-Type": {""}}, {"Content-Type": {"text/plain"}}, {"Content-Encoding": {"identity", "gzip"}}, {"Content-Encoding": {""}},
	} {
		if err := httpedge.NeedJSON(&http.Request{Header: header}, true); durward.ReasonOf(err) != durward.BadContentType {
			t.Errorf("%v: got %v, want BadContentType", header, err)
		}
	}
}

// ours are the only hosts and origins that a guard with no further rules lets through
// to a server at 127.0.0.1:8000.
var (
	ourHost   = regexp.MustCompile(`(?i)^(127\.0\.0\.1(:0*8000)?|localhost(:\d{1,20})?)$`)
	ourOrigin = regexp.MustCompile(`(?i)^http://(127\.0\.0\.1|localhost)(:\d{1,20})?$`)
)

// Whatever bytes arrive, the door sees no request of a foreign page or name.
func FuzzGuard(f *testing.F) {
	for _, request := range []string{
		"GET / HTTP/1.1\r\nHost: localhost:8000\r\nOrigin: http://localhost:8000\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nOrigin: http://evil.example\r\n\r\n",
		"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST //x HTTP/1.0\r\nHost: [::1]:8000\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:8000\r\nOrigin: null\r\n\r\n",
	} {
		f.Add([]byte(request))
	}
	guard, err := httpedge.NewGuard(siteRules)
	if err != nil {
		f.Fatal(err)
	}
	ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			return
		}
		ran := false
		guard.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran = true })).ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
		origins := r.Header.Values("Origin")
		if ran && (!ourHost.MatchString(r.Host) || len(origins) > 1 || len(origins) == 1 && !ourOrigin.MatchString(origins[0])) {
			t.Fatalf("the door ran for host %q, origin %q", r.Host, origins)
		}
		if ran && !strings.HasPrefix(r.RequestURI, "/") {
			t.Fatalf("the door ran for target %q", r.RequestURI)
		}
	})
}

// A path that is decoded is the one that net/http found, decoded once.
func FuzzDecodePath(f *testing.F) {
	for _, target := range []string{"/", "//x", "/%2e%2e", "/%252e", "/a%00", "/a?b", "http://h/x", "*", "/%", "/a#b"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		path, err := httpedge.DecodePath(&http.Request{RequestURI: target})
		u, parsed := url.ParseRequestURI(target)
		switch {
		case err != nil && durward.ReasonOf(err) != durward.BadRequest:
			t.Fatalf("%q: %v", target, err)
		case err == nil && !strings.HasPrefix(path, "/"):
			t.Fatalf("%q gives %q", target, path)
		case err == nil && parsed == nil && !strings.HasPrefix(target, "//") && u.Path != path:
			t.Fatalf("%q gives %q, want %q", target, path, u.Path)
		}
	})
}

func TestAnyHost(t *testing.T) {
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	s := start(t, h, httpedge.Rules{AnyHost: true, NoOrigin: true}, httpedge.Options{})
	for _, tt := range []struct {
		headers string
		want    int
	}{
		{"Host: tool-x:8080\n", 200},
		{"Host: example.org\n", 200},
		{"Host: ex*ample\n", 403},
		{"Host: tool-x\nOrigin: http://tool-x\n", 403},
	} {
		if a := s.read(bufio.NewReader(s.send("GET / HTTP/1.1\n"+tt.headers+"\n")), "GET"); a.StatusCode != tt.want {
			t.Errorf("%q: got %d, want %d", tt.headers, a.StatusCode, tt.want)
		}
	}
}

// A caller whose requests hold all the connections that it may have is refused further ones;
// everybody else is answered. Where callers are not told apart, there is nobody else.
func TestCallersLeaveConnectionsToOthers(t *testing.T) {
	greedy := httpedge.Token{Name: "greedy", SHA256: sha256.Sum256([]byte("greedy"))}
	other := httpedge.Token{Name: "other", SHA256: sha256.Sum256([]byte("other"))}
	tokens := httpedge.Tokens{greedy, other}
	for name, authenticate := range map[string]func(*http.Request) (durward.Caller, error){"tokens": tokens.Authenticate, "nobody is asked": nil} {
		t.Run(name, func(t *testing.T) {
			began, end := make(chan struct{}), make(chan struct{})
			h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/hold" {
					began <- struct{}{}
					<-end
				}
			})
			const most = 128
			s := start(t, h, httpedge.Rules{Authenticate: authenticate, Open: []string{"/health"}}, httpedge.Options{Connections: most})
			ask := func(path, token string) net.Conn {
				return s.send("GET " + path + " HTTP/1.1\nHost: ADDR\nAuthorization: Bearer " + token + "\n\n")
			}
			var held []net.Conn
			for range most - 2 {
				held = append(held, ask("/hold", "greedy"))
				<-began
			}
			want := map[[2]string]int{{"/", "greedy"}: 503, {"/", "other"}: 200, {"/health", ""}: 200}
			if authenticate == nil {
				want[[2]string{"/", "greedy"}] = 200
			}
			for of, status := range want {
				if a := s.read(bufio.NewReader(ask(of[0], of[1])), "GET"); a.StatusCode != status {
					t.Errorf("%s for %q: got %d %s, want %d", of[0], of[1], a.StatusCode, a.body, status)
				}
			}
			close(end)
			for _, c := range held {
				s.read(bufio.NewReader(c), "GET")
			}
			if a := s.read(bufio.NewReader(ask("/", "greedy")), "GET"); a.StatusCode != 200 {
				t.Errorf("afterwards: got %d", a.StatusCode)
			}
		})
	}
}
