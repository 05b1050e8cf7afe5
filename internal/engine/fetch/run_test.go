package fetch

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/google/go-cmp/cmp"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}

// A resolver gives one answer after the other, the last one for ever.
type resolver struct {
	answers [][]string
	asked   atomic.Int32
}

func answering(answers ...[]string) *resolver { return &resolver{answers: answers} }

func (r *resolver) Lookup(context.Context, netguard.Host) ([]netip.Addr, error) {
	n := int(r.asked.Add(1))
	var addrs []netip.Addr
	for _, s := range r.answers[min(n, len(r.answers))-1] {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, nil
}

// A site is a real server on the loopback address, and an engine that may reach it under
// any name.
type site struct {
	*httptest.Server
	*Engine
	port string

	mu   sync.Mutex
	seen []string // guarded by mu; requests, "METHOD host path"
}

func newSite(t *testing.T, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(s.noting(handler))
	s.ready(t, nil)
	return s
}

func (s *site) noting(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Method+" "+r.Host+" "+r.URL.String())
		s.mu.Unlock()
		handler(w, r)
	}
}

func (s *site) ready(t *testing.T, roots *x509.CertPool) {
	t.Cleanup(s.Close)
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	s.port = strconv.Itoa(int(at.Port()))
	s.Engine = New(Options{Ports: []uint16{at.Port()}, AllowPrivate: loopback, Resolver: answering([]string{"127.0.0.1"}), Roots: roots})
}

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// curl runs a command. "$" stands for the server under a name.
func (s *site) curl(ctx context.Context, g durward.Grant, argv ...string) (durward.Result, error) {
	for i, word := range argv {
		argv[i] = strings.Replace(word, "$", "http://site.test:"+s.port, 1)
	}
	return run(ctx, s.Engine, g, append([]string{"curl"}, argv...)...)
}

func run(ctx context.Context, e *Engine, g durward.Grant, argv ...string) (durward.Result, error) {
	p, err := e.Prepare(ctx, durward.Tool{}, durward.Call{Argv: argv}, g)
	if err != nil {
		return durward.Result{}, err
	}
	defer p.Close()
	return p.Run(ctx)
}

func (s *site) output(t *testing.T, argv ...string) string {
	t.Helper()
	r, err := s.curl(t.Context(), durward.Grant{}, argv...)
	must(t, err)
	if *r.Exit != 0 || len(r.Stderr.Bytes()) != 0 {
		t.Errorf("exit %d, %s", *r.Exit, r.Stderr.Bytes())
	}
	return string(r.Stdout.Bytes())
}

// echo tells what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(
		w, "%s %s type=%q accept=%q agent=%q cookie=%q auth=%q length=%d body=%q", r.Method, r.URL, r.Header.Get("Content-Type"),
		r.Header.Get("Accept"), r.Header.Get("User-Agent"), r.Header.Get("Cookie"), r.Header.Get("Authorization"), r.ContentLength, body,
	)
}

func TestWhatIsSent(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "socks5://127.0.0.1:1")
	s := newSite(t, echo)
	for _, tt := range []struct{ line, want string }{
		{"$/a?b=c#d", `GET /a?b=c type="" accept="*/*" agent="durward" cookie="" auth="" length=0 body=""`},
		{"-X options $/", `OPTIONS / type="" accept="*/*" agent="durward" cookie="" auth="" length=0 body=""`},
		{"-X POST $/", `POST / type="" accept="*/*" agent="durward" cookie="" auth="" length=0 body=""`},
		{"-d a=1 -d b=_2 $/", `POST / type="application/x-www-form-urlencoded" accept="*/*" agent="durward" cookie="" auth="" length=8 body="a=1&b= 2"`},
		{"-X PUT --data-raw @x $/", `PUT / type="application/x-www-form-urlencoded" accept="*/*" agent="durward" cookie="" auth="" length=2 body="@x"`},
		{"-X GET -d x -H content-type:_text/x $/", `GET / type="text/x" accept="*/*" agent="durward" cookie="" auth="" length=1 body="x"`},
		{"-H Authorization:_Bearer_t -H Accept:a/b -H User-Agent:me $/", `GET / type="" accept="a/b" agent="me" cookie="" auth="Bearer t" length=0 body=""`},
	} {
		if got := s.output(t, words(tt.line)...); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.line, got, tt.want)
		}
	}
}

func TestResult(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "body\xff") })
	r, err := s.curl(t.Context(), durward.Grant{}, "$/")
	must(t, err)
	sum, nothing, code := sha256.Sum256([]byte("body\xff")), sha256.Sum256(nil), 0
	if diff := cmp.Diff(durward.Result{
		Exit:   &code,
		Stdout: durward.Capture{Head: []byte("body\xff"), Total: 5, SHA256: hex.EncodeToString(sum[:])},
		Stderr: durward.Capture{SHA256: hex.EncodeToString(nothing[:])},
	}, r); diff != "" {
		t.Error(diff)
	}
}

func TestStatus(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		w.Header()["Date"] = nil
		w.Header().Set("X-B", "1")
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(status)
		fmt.Fprint(w, "body")
	})
	const complaint = "curl: (22) The requested URL returned error: 404\n"
	header := func(status string) string {
		return "HTTP/1.1 " + status + "\r\nContent-Length: 4\r\nContent-Type: text/plain; charset=utf-8\r\nX-B: 1\r\n\r\n"
	}
	for _, tt := range []struct {
		line, stdout, stderr string
		exit                 int
	}{
		{"$/200", "body", "", 0},
		{"$/404", "body", "", 0},
		{"$/500", "body", "", 0},
		{"-f $/200", "body", "", 0},
		{"-f $/399", "body", "", 0},
		{"-f $/404", "", complaint, 22},
		{"-f -s $/404", "", "", 22},
		{"-fsS $/404", "", complaint, 22},
		{"-i $/200", header("200 OK") + "body", "", 0},
		{"-i -f -s $/404", header("404 Not Found"), "", 22},
	} {
		r, err := s.curl(t.Context(), durward.Grant{}, words(tt.line)...)
		must(t, err)
		got := []string{string(r.Stdout.Bytes()), string(r.Stderr.Bytes()), strconv.Itoa(*r.Exit)}
		if diff := cmp.Diff([]string{tt.stdout, tt.stderr, strconv.Itoa(tt.exit)}, got); diff != "" {
			t.Errorf("%s: %s", tt.line, diff)
		}
	}
}

func TestHead(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999") })
	if got := s.output(t, "-X", "head", "$/"); got != "" {
		t.Errorf("HEAD prints %q", got)
	}
	if got := s.output(t, "-i", "-X", "HEAD", "$/"); !strings.Contains(got, "\r\nContent-Length: 99999999\r\n") {
		t.Errorf("HEAD prints %q", got)
	}
}

func TestARedirectIsAnAnswer(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	})
	got := s.output(t, "-i", "$/x")
	if !strings.HasPrefix(got, "HTTP/1.1 302 Found\r\n") || !strings.Contains(got, "\r\nLocation: http://169.254.169.254/latest\r\n") {
		t.Errorf("%q", got)
	}
	if diff := cmp.Diff([]string{"GET site.test:" + s.port + " /x"}, s.requests()); diff != "" {
		t.Error(diff)
	}
}

func TestLimits(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ten":
			fmt.Fprint(w, "0123456789")
		case "/endless":
			_, _ = io.Copy(w, endless{})
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.Copy(z, io.LimitReader(endless{}, 8<<20))
			_ = z.Close()
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}
	})
	for _, tt := range []struct {
		name   string
		limits durward.Limits
		line   string
		reason durward.Reason
	}{
		{"exactly the limit", durward.Limits{Output: 10}, "$/ten", ""},
		{"one byte more", durward.Limits{Output: 9}, "$/ten", durward.OutputTooLarge},
		{"the headers count", durward.Limits{Output: 10}, "-i $/ten", durward.OutputTooLarge},
		{"no limit", durward.Limits{Output: durward.Unlimited, OutputHard: durward.Unlimited}, "$/ten", ""},
		{"the hard limit", durward.Limits{Output: durward.Unlimited, OutputHard: 9}, "$/ten", durward.OutputTooLarge},
		{"a body without an end", durward.Limits{}, "$/endless", durward.OutputTooLarge},
		{"a small body that unpacks to a large one", durward.Limits{}, "$/bomb", durward.OutputTooLarge},
		{"a header that is too large", durward.Limits{}, "$/header", durward.ConnectFailed},
	} {
		r, err := s.curl(t.Context(), durward.Grant{Limits: tt.limits}, words(tt.line)...)
		if durward.ReasonOf(err) != tt.reason || err != nil && r.Stdout.Total != 0 {
			t.Errorf("%s: %d bytes, %v", tt.name, r.Stdout.Total, err)
		}
	}
}

func TestUnpacked(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("it accepts %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "text")
		_ = z.Close()
	})
	if got := s.output(t, "$/"); got != "text" {
		t.Errorf("%q", got)
	}
}

func TestTime(t *testing.T) {
	started := make(chan struct{}, 1)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			fmt.Fprint(w, "part")
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case started <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	})
	for _, path := range []string{"$/body", "$/header"} {
		r, err := s.curl(t.Context(), durward.Grant{}, "--max-time", "0.3", path)
		if durward.ReasonOf(err) != durward.DeadlineExceeded {
			t.Errorf("%s: %v", path, err)
		}
		if want := map[string]string{"$/body": "part"}[path]; string(r.Stdout.Bytes()) != want {
			t.Errorf("%s: %q came before, want %q", path, r.Stdout.Bytes(), want)
		}
		<-started
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-started
			cancel()
		}()
		if _, err := s.curl(ctx, durward.Grant{}, path); durward.ReasonOf(err) != durward.CallCancelled {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":         "",
		"no HTTP":         "SSH-2.0-x\r\n",
		"half a body":     "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
		"half a chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"no gzip":         "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
		"half a header":   "HTTP/1.1 200 OK\r\nConte",
		"a broken length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"two lengths":     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer ln.Close()
			var server sync.WaitGroup
			defer server.Wait()
			server.Go(func() {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, text)
			})
			at := netip.MustParseAddrPort(ln.Addr().String())
			e := New(Options{Ports: []uint16{at.Port()}, AllowPrivate: loopback})
			if r, err := run(t.Context(), e, durward.Grant{}, "curl", "http://"+at.String()+"/"); durward.ReasonOf(err) != durward.ConnectFailed {
				t.Errorf("%q, %v", r.Stdout.Bytes(), err)
			}
		})
	}
}

func TestTLSKeepsTheName(t *testing.T) {
	s := &site{}
	s.Server = httptest.NewUnstartedServer(s.noting(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.TLS.ServerName, " ", r.Host) }))
	s.Config.ErrorLog = quiet
	s.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	s.ready(t, roots)
	for _, tt := range []struct {
		host, want string
		roots      *x509.CertPool
	}{
		{"example.com", "example.com example.com:" + s.port, roots},
		{"Example.COM.", "example.com example.com:" + s.port, roots},
		{"127.0.0.1", " 127.0.0.1:" + s.port, roots},
		{"other.test", "", roots},               // the certificate is for another name
		{"example.com", "", x509.NewCertPool()}, // nobody vouches for it
	} {
		s.Engine.Roots = tt.roots
		r, err := run(t.Context(), s.Engine, durward.Grant{}, "curl", "https://"+tt.host+":"+s.port+"/")
		if tt.want == "" {
			if durward.ReasonOf(err) != durward.ConnectFailed {
				t.Errorf("%s: %v", tt.host, err)
			}
			continue
		}
		must(t, err)
		if got := string(r.Stdout.Bytes()); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.host, got, tt.want)
		}
	}
	if n := len(s.requests()); n != 3 {
		t.Errorf("the server saw %q", s.requests())
	}
}

// endless is zeroes without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
