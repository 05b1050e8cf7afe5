package httpreq

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// patience bounds waits that an engine which keeps its rules ends at once.
const patience = 20 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func engine(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	must(t, err)
	return e
}

// An unasked resolver must not be asked.
type unasked struct{ testing.TB }

func (u unasked) Lookup(_ context.Context, name netguard.Host) ([]netip.Addr, error) {
	u.Errorf("%s is looked up", name)
	return nil, nil
}

// says makes the input of a call from the members of an object.
func says(members map[string]any) durward.Call {
	text, _ := json.Marshal(members) // maps of plain values always have a form
	return durward.Call{Input: text}
}

func get(url string) durward.Call { return says(map[string]any{"method": "GET", "url": url}) }

var ample = durward.Grant{Limits: durward.Limits{Output: 128 << 20, OutputHard: durward.Unlimited}}

func do(ctx context.Context, e *Engine, g durward.Grant, c durward.Call) (durward.Result, error) {
	p, err := e.Prepare(ctx, Tools()[0], c, g)
	if err != nil {
		return durward.Result{}, err
	}
	defer p.Close()
	return p.Run(ctx)
}

// A said answer is an output that was read again.
type said struct {
	Status  int     `json:"status"`
	Headers []field `json:"headers"`
	Body    []byte  `json:"bodyBase64"`
}

func read(t testing.TB, output json.RawMessage) said {
	t.Helper()
	var s said
	must(t, json.Unmarshal(output, &s))
	return s
}

// answered gives what a call was answered.
func answered(t testing.TB, e *Engine, c durward.Call) said {
	t.Helper()
	r, err := do(t.Context(), e, ample, c)
	must(t, err)
	return read(t, r.Output)
}

// A site is a real server on the loopback address that notes what it is asked.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // guarded by mu; "METHOD path"
}

func newSite(t testing.TB, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Method+" "+r.URL.String())
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) at() string { return s.Listener.Addr().String() }

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// A speaker is a server that says a text to whoever connects, whatever is asked.
type speaker struct {
	at    string
	heard chan string // what was asked, of each connection
}

func speak(t testing.TB, text string) *speaker {
	t.Helper()
	s := &speaker{heard: make(chan string, 16)}
	s.at = serve(t, func(conn net.Conn) {
		var asked strings.Builder
		if request, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &asked))); err == nil {
			_, _ = io.Copy(io.Discard, request.Body)
		}
		s.heard <- asked.String()
		_, _ = io.WriteString(conn, text)
	})
	return s
}

// serve gives the address of a server that handles one connection after the other.
func serve(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var server sync.WaitGroup
	server.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			handle(conn)
			conn.Close()
		}
	})
	t.Cleanup(func() {
		ln.Close()
		server.Wait()
	})
	return ln.Addr().String()
}

// A sentry listens where nobody may come, and fails the test when somebody did.
func sentry(t testing.TB, address string) string {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	must(t, err)
	t.Cleanup(func() {
		defer ln.Close()
		own, err := net.Dial("tcp", ln.Addr().String()) // what is accepted first came first
		must(t, err)
		defer own.Close()
		first, err := ln.Accept()
		must(t, err)
		defer first.Close()
		if first.RemoteAddr().String() != own.LocalAddr().String() {
			t.Errorf("somebody connected to %s", ln.Addr())
		}
	})
	return ln.Addr().String()
}

func base64of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
