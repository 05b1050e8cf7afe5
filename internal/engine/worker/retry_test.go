package worker

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// inTurn answers one request after the other with the next text, and from then on with the
// last one.
func inTurn(t testing.TB, texts ...string) *peer {
	return serve(t, func(p *peer, c net.Conn) {
		for in := bufio.NewReader(c); p.hear(in) != ""; {
			_, _ = io.WriteString(c, texts[min(int(p.requests.Load()), len(texts))-1])
		}
	})
}

func TestAttempts(t *testing.T) {
	again := whole(200, `{"ok":false,"error":{"code":"X","message":"","retryable":true}}`)
	never := whole(200, `{"ok":false,"error":{"code":"X","message":"","retryable":false}}`)
	const (
		againSays = `failed=true {"code":"X","message":"","retryable":true,"details":{}}`
		neverSays = `failed=true {"code":"X","message":"","retryable":false,"details":{}}`
	)
	e := engine(t, Options{})
	for _, tt := range []struct {
		name     string
		replies  []string
		attempts int
		requests int32
		want     string
	}{
		{"one attempt", []string{again, whole(200, done)}, 1, 1, againSays},
		{"the second one helps", []string{again, whole(200, done)}, 3, 2, good},
		{"none helps", []string{again}, 3, 3, againSays},
		{"the worker wants no other", []string{again, never}, 3, 2, neverSays},
		{"never", []string{never, whole(200, done)}, 3, 1, neverSays},
		{"no envelope, though the status asks for it", []string{whole(503, ""), whole(200, done)}, 3, 1, nonStandardSays(503)},
		{"too large", []string{ok + "Content-Length: 99999999\r\n\r\n"}, 3, 1, tooLargeSays},
		{"half a reply", []string{ok + "Content-Length: 2\r\nConnection: close\r\n\r\n", whole(200, done)}, 3, 1, ""},
	} {
		p := inTurn(t, tt.replies...)
		of := tool(p.url())
		of.Transport.MaxAttempts = tt.attempts
		ctx := patient(t)
		if tt.want == "" { // a reply that is not whole ends with the call's time
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			tt.want = "timeout retry=false null"
		}
		if got := says(do(ctx, e, of, call(`{}`))); got != tt.want || p.requests.Load() != tt.requests {
			t.Errorf("%s: %s after %d requests", tt.name, got, p.requests.Load())
		}
	}
}

// A worker that comes up meanwhile is reached by a later attempt.
func TestConnectFailuresAreTriedAgain(t *testing.T) {
	p := speaks(t, whole(200, done))
	host, port, err := net.SplitHostPort(p.Addr().String())
	must(t, err)
	dead := speaks(t, "")
	dead.Close()
	_, deadPort, err := net.SplitHostPort(dead.Addr().String())
	must(t, err)
	e := engine(t, Options{Resolver: &turns{answers: [][]string{nil, {host}}}})
	of := tool("http://worker:" + port)
	of.Transport.MaxAttempts = 2
	if got := says(do(patient(t), e, of, call(`{}`))); got != good || p.requests.Load() != 1 {
		t.Error(got)
	}
	of = tool("http://" + host + ":" + deadPort)
	of.Transport.MaxAttempts = 3
	if got := says(do(patient(t), e, of, call(`{}`))); got != unreachableSays {
		t.Error(got)
	}
	if n := e.remotes[of.Transport.BaseURL].breaker.failures; n != 3 {
		t.Errorf("%d attempts were made", n)
	}
}

// An attempt that would come too late is not waited for, and a caller who goes away waits
// for none.
func TestAttemptsStayWithinTheTime(t *testing.T) {
	p := speaks(t, whole(200, `{"ok":false,"error":{"code":"X","message":"","retryable":true}}`))
	e, of := engine(t, Options{}), tool(p.url())
	of.Transport.MaxAttempts = 1000
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r, err := do(ctx, e, of, call(`{}`))
	if err != nil || !r.Failed || ctx.Err() != nil {
		t.Errorf("%s, %v", says(r, err), ctx.Err())
	}
	gone, leave := context.WithCancel(patient(t))
	ended := make(chan error, 1)
	for len(p.heard) > 0 {
		<-p.heard
	}
	go func() { _, err := do(gone, e, of, call(`{}`)); ended <- err }()
	<-p.heard
	<-p.heard
	leave()
	if err := <-ended; durward.ReasonOf(err) != durward.CallCancelled {
		t.Error(err)
	}
}

// turns is a resolver that gives one answer after the other.
type turns struct {
	answers [][]string
	asked   atomic.Int32
}

func (r *turns) Lookup(ctx context.Context, name netguard.Host) ([]netip.Addr, error) {
	n := int(r.asked.Add(1))
	return names{name: r.answers[min(n, len(r.answers))-1]}.Lookup(ctx, name)
}
