package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/domain"
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
	e := New(o)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// tool is one whose worker is at a base URL.
func tool(baseURL string) *domain.Tool {
	return &domain.Tool{
		ID: "test.tool", DomainID: "test_domain", Timeout: patience,
		Transport: domain.Transport{BaseURL: baseURL, Endpoint: "/run", MaxAttempts: 1},
	}
}

func call(input string) durward.Call {
	return durward.Call{
		ID: "0198c0de-0000-7000-8000-000000000001", Input: json.RawMessage(input),
		Trace: durward.TraceContext{TraceID: [16]byte{15: 1}, SpanID: [8]byte{7: 2}, Flags: 1},
	}
}

const limit = 1 << 20

// do takes a call through the engine as the core does.
func do(ctx context.Context, e *Engine, of *domain.Tool, c durward.Call) (durward.Result, error) {
	p, err := e.Prepare(ctx, durward.Tool{ID: of.ID, Spec: of}, c, durward.Grant{Limits: durward.Limits{Output: limit}})
	if err != nil {
		return durward.Result{}, err
	}
	defer p.Close()
	return p.Run(ctx)
}

// patient gives a context for calls that end by themselves.
func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// says tells what a call of a worker came to: its reason and the members of its details.
func says(r durward.Result, err error) string {
	if err == nil {
		return fmt.Sprintf("failed=%t %s", r.Failed, r.Output)
	}
	if r.Output != nil {
		return "output beside an error"
	}
	members, _ := json.Marshal(durward.DetailOf(err).Members) // maps of plain values always have a form
	return fmt.Sprintf("%s retry=%t %s", durward.ReasonOf(err), durward.AsError(err).Retry, members)
}

const unreachableSays = `worker_unreachable retry=true {"reason":"worker_unreachable"}`

func nonStandardSays(status int) string {
	retry := strings.Contains("429 502 503 504", fmt.Sprint(status)) && status > 0
	return fmt.Sprintf(`non_standard_response retry=%t {"reason":"non_standard_response","worker_status":%d}`, retry, status)
}

// A peer is a real server that is spoken to over plain TCP.
type peer struct {
	net.Listener
	conns    atomic.Int32
	requests atomic.Int32
	heard    chan string // the first requests to a worker that speaks
}

// serve handles each connection on its own; those still open end with the test.
func serve(t testing.TB, handle func(p *peer, c net.Conn)) *peer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &peer{Listener: ln, heard: make(chan string, 16)}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.conns.Add(1)
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			serving.Go(func() {
				defer c.Close()
				handle(p, c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return p
}

func (p *peer) url() string { return "http://" + p.Addr().String() }

// hear takes one request in, and gives its text; none when there is no whole one.
func (p *peer) hear(in *bufio.Reader) string {
	var text strings.Builder
	request, err := http.ReadRequest(bufio.NewReaderSize(io.TeeReader(oneByOne{in}, &text), 16))
	if err != nil {
		return ""
	}
	if _, err := io.Copy(io.Discard, request.Body); err != nil {
		return ""
	}
	p.requests.Add(1)
	return text.String()
}

// oneByOne keeps a reader in front of another from taking more than it needs.
type oneByOne struct{ *bufio.Reader }

func (o oneByOne) Read(b []byte) (int, error) { return o.Reader.Read(b[:1]) }

// speaks answers each request of a connection with the same text, and then says no more.
func speaks(t testing.TB, text string) *peer {
	return serve(t, func(p *peer, c net.Conn) {
		in := bufio.NewReader(c)
		for said := p.hear(in); said != ""; said = p.hear(in) {
			select {
			case p.heard <- said:
			default:
			}
			_, _ = io.WriteString(c, text)
		}
	})
}

// hangsUp answers one request of a connection and closes it.
func hangsUp(t testing.TB, text string) *peer {
	return serve(t, func(p *peer, c net.Conn) {
		if p.hear(bufio.NewReader(c)) != "" {
			_, _ = io.WriteString(c, text)
		}
	})
}

// whole is a reply of a status with that body.
func whole(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

const done = `{"ok":true,"output":{"n":1}}`

// names resolves names to what a test says.
type names map[netguard.Host][]string

func (n names) Lookup(_ context.Context, name netguard.Host) ([]netip.Addr, error) {
	var list []netip.Addr
	for _, text := range n[name] {
		list = append(list, netip.MustParseAddr(text))
	}
	return list, nil
}

var quietLog = log.New(io.Discard, "", 0)
