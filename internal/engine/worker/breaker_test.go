package worker

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/domain"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// enters fails the test unless the breaker lets an attempt through, or refuses it.
func enters(t testing.TB, b *breaker, after time.Duration, want bool) pass {
	t.Helper()
	p, err := b.enter(start.Add(after))
	if (err == nil) != want || err != nil && durward.ReasonOf(err) != durward.CircuitOpen {
		t.Fatalf("after %s: %v", after, err)
	}
	return p
}

func fails(t testing.TB, b *breaker, times int, after time.Duration) {
	t.Helper()
	for range times {
		enters(t, b, after, true).leave(start.Add(after), ill)
	}
}

func TestBreaker(t *testing.T) {
	b := &breaker{}
	fails(t, b, 4, 0)
	enters(t, b, 0, true).leave(start, healthy) // ends the row
	fails(t, b, 4, 0)
	enters(t, b, 0, true).leave(start, unknown) // does not
	fails(t, b, 1, time.Second)
	enters(t, b, time.Second, false)
	enters(t, b, 11*time.Second-1, false)
	if !b.isOpen(start.Add(10 * time.Second)) {
		t.Error("it is not open")
	}

	probe := enters(t, b, 11*time.Second, true)
	enters(t, b, 11*time.Second, false) // one at a time
	probe.leave(start.Add(20*time.Second), ill)
	enters(t, b, 30*time.Second-1, false)

	probe = enters(t, b, 30*time.Second, true)
	probe.leave(start.Add(31*time.Second), unknown) // cancelled: the next one may try
	probe = enters(t, b, 31*time.Second, true)
	probe.leave(start.Add(32*time.Second), healthy)
	for range 3 {
		enters(t, b, 32*time.Second, true)
	}
	fails(t, b, 5, 40*time.Second)
	enters(t, b, 40*time.Second, false)
}

// Calls that began before the circuit opened may end it, and do not make it longer.
func TestBreakerAndLateCalls(t *testing.T) {
	b := &breaker{}
	late, slow := enters(t, b, 0, true), enters(t, b, 0, true)
	fails(t, b, 5, 0)
	late.leave(start.Add(9*time.Second), ill)
	enters(t, b, 10*time.Second, true).leave(start.Add(10*time.Second), unknown)
	slow.leave(start.Add(11*time.Second), healthy)
	for range 3 {
		enters(t, b, 11*time.Second, true)
	}
}

// How long to stay away is said in whole seconds, and never as none.
func TestRetryAfter(t *testing.T) {
	b := &breaker{}
	fails(t, b, 5, 0)
	for after, want := range map[time.Duration]int64{0: 10, time.Nanosecond: 10, time.Second: 9, 9500 * time.Millisecond: 1} {
		_, err := b.enter(start.Add(after))
		if got := durward.DetailOf(err).Limit; got != want {
			t.Errorf("after %s: %d", after, got)
		}
	}
	enters(t, b, 10*time.Second, true)
	_, err := b.enter(start.Add(12 * time.Second))
	if got := durward.DetailOf(err).Limit; got != 8 {
		t.Errorf("while it is tried: %d", got)
	}
}

// A try that takes long keeps the next one away for no longer than the circuit was open, and
// what comes of it in the end counts.
func TestBreakerAndALongProbe(t *testing.T) {
	b := &breaker{}
	fails(t, b, 5, 0)
	long := enters(t, b, 10*time.Second, true)
	enters(t, b, 19*time.Second, false)
	if !b.isOpen(start.Add(19 * time.Second)) {
		t.Error("while it is tried it counts as closed")
	}
	second := enters(t, b, 20*time.Second, true)
	enters(t, b, 21*time.Second, false)
	long.leave(start.Add(22*time.Second), unknown)
	enters(t, b, 22*time.Second, false) // the second one still tries
	second.leave(start.Add(23*time.Second), healthy)
	for range 3 {
		enters(t, b, 23*time.Second, true)
	}
}

// Whatever happens in whatever order, nobody waits for a worker that answers, and one that
// does not is tried by one call at a time, or by another one when that takes too long.
func TestBreakerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, now := &breaker{}, start
		var running []pass
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				now = now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "seconds")) * time.Second)
			case 1:
				if p, err := b.enter(now); err == nil {
					running = append(running, p)
				}
				young := 0
				for _, p := range running {
					if !p.probe.IsZero() && now.Before(p.probe.Add(openTime)) {
						young++
					}
				}
				if young > 1 {
					t.Fatalf("%d try the worker at once", young)
				}
			case 2:
				if len(running) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				s := sign(rapid.IntRange(int(unknown), int(ill)).Draw(t, "sign"))
				running[i].leave(now, s)
				running = append(running[:i], running[i+1:]...)
				if s != healthy {
					continue
				}
				if _, err := b.enter(now); err != nil {
					t.Fatal("a worker that answered is left alone")
				}
			}
		}
		for _, p := range running {
			p.leave(now, unknown)
		}
		if _, err := b.enter(now.Add(openTime)); err != nil {
			t.Fatal("nobody can try the worker any more")
		}
	})
}

const openSays = `circuit_open retry=true {"reason":"circuit_open"}`

// A clock is set by the test.
type clock struct{ after atomic.Int64 }

func (c *clock) now() time.Time { return start.Add(time.Duration(c.after.Load())) }

// A worker that cannot be reached is left alone, tried by one call, and used again once it
// answers. Tools at the same worker share what is known of it, others do not.
func TestCircuit(t *testing.T) {
	p := speaks(t, whole(200, done))
	_, port, err := net.SplitHostPort(p.Addr().String())
	must(t, err)
	var c clock
	hosts := &turns{answers: append(make([][]string, mostFailures+1), []string{"127.0.0.1"})}
	e := engine(t, Options{Now: c.now, Resolver: hosts})
	of, sister := tool("http://worker:"+port), tool("http://worker:"+port)
	sister.ID, sister.Transport.Endpoint, sister.DomainID = "sister.tool", "/other", "other_domain"
	for range mostFailures {
		if got := says(do(patient(t), e, of, call(`{}`))); got != unreachableSays {
			t.Fatal(got)
		}
	}
	for _, left := range []*domain.Tool{of, sister} {
		if got := says(do(patient(t), e, left, call(`{}`))); got != openSays {
			t.Error(got)
		}
	}
	if got := e.Health(patient(t), of); got != CircuitOpen {
		t.Error(got)
	}
	if n := hosts.asked.Load(); n != mostFailures {
		t.Errorf("a worker that is left alone was looked up %d times", n)
	}
	if got := says(do(patient(t), e, tool(p.url()), call(`{}`))); got != good {
		t.Errorf("another worker: %s", got)
	}
	c.after.Store(int64(openTime))
	if one, next := says(do(patient(t), e, of, call(`{}`))), says(do(patient(t), e, of, call(`{}`))); one != unreachableSays || next != openSays {
		t.Errorf("the one that tries: %s; the next: %s", one, next)
	}
	c.after.Store(int64(2 * openTime))
	for range 3 {
		if got := says(do(patient(t), e, sister, call(`{}`))); got != good {
			t.Errorf("it is there again: %s", got)
		}
	}
}

// A worker that does not answer in time is left alone, too, unless it was given next to
// none. A caller who goes away says nothing of it, and neither does one that replies badly.
func TestWhatOpensACircuit(t *testing.T) {
	silent := serve(t, func(p *peer, c net.Conn) {
		in := bufio.NewReader(c)
		select {
		case p.heard <- p.hear(in):
		default:
		}
		_, _ = io.Copy(io.Discard, in)
	})
	for _, tt := range []struct {
		name    string
		at      *peer
		timeout time.Duration // of the tool
		within  time.Duration // of the call
		want    string
	}{
		{"no reply", silent, 20 * time.Millisecond, 20 * time.Millisecond, openSays},
		{"no reply, but hardly any time", silent, time.Minute, 20 * time.Millisecond, "timeout retry=false null"},
		{"half a reply", hangsUp(t, "HTTP/1.1 200"), time.Minute, time.Minute, unreachableSays},
		{"no envelope", speaks(t, whole(500, "")), time.Minute, time.Minute, nonStandardSays(500)},
		{"too large", speaks(t, ok+"Content-Length: 99999999\r\n\r\n"), time.Minute, time.Minute, tooLargeSays},
	} {
		e, of := engine(t, Options{}), tool(tt.at.url())
		of.Timeout = tt.timeout
		var got string
		for range mostFailures + 1 {
			ctx, cancel := context.WithTimeout(t.Context(), tt.within)
			got = says(do(ctx, e, of, call(`{}`)))
			cancel()
		}
		if got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	for len(silent.heard) > 0 {
		<-silent.heard
	}
	e, of := engine(t, Options{}), tool(silent.url())
	for range 2 * mostFailures {
		ctx, cancel := context.WithCancel(patient(t))
		ended := make(chan error, 1)
		go func() { _, err := do(ctx, e, of, call(`{}`)); ended <- err }()
		<-silent.heard
		cancel()
		if err := <-ended; durward.ReasonOf(err) != durward.CallCancelled {
			t.Fatal(err)
		}
	}
}
