package worker

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward"
)

// Workers that crash, callers who leave and times that end, all at once and all mixed: every
// call ends in a way of its own, and nothing is left open.
func TestNothingIsLeft(t *testing.T) {
	var holding atomic.Int32
	p := serve(t, func(p *peer, c net.Conn) {
		for in := bufio.NewReader(c); p.hear(in) != ""; {
			switch rand.N(8) {
			case 0:
				reset(c)
				return
			case 1:
				_, _ = io.WriteString(c, ok+"Content-Length: 28\r\n\r\n{")
				return
			case 2:
				holding.Add(1)
				_, _ = io.Copy(io.Discard, in) // until it is left
				holding.Add(-1)
				return
			case 3:
				_, _ = io.WriteString(c, whole(500, "no envelope"))
			default:
				_, _ = io.WriteString(c, whole(200, done))
			}
		}
	})
	before := openFiles(t)
	e, of := New(Options{}), tool(p.url())
	of.Timeout = time.Hour // so that no time that ends opens the circuit
	known := map[durward.Reason]bool{
		"": true, durward.WorkerUnreachable: true, durward.NonStandardReply: true, durward.DeadlineExceeded: true, durward.CallCancelled: true,
	}
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.N(40))*time.Millisecond)
				if rand.N(3) == 0 {
					time.AfterFunc(time.Duration(rand.N(10))*time.Millisecond, cancel)
				}
				r, err := do(ctx, e, of, call(`{}`))
				cancel()
				if reason := durward.ReasonOf(err); !known[reason] || (err == nil) != (r.Output != nil) {
					t.Errorf("a call ended with %v, %s", err, r.Output)
				}
			}
		})
	}
	callers.Wait()
	must(t, e.Close())
	for ctx := patient(t); holding.Load() > 0; {
		if ctx.Err() != nil {
			t.Fatalf("%d connections are held", holding.Load())
		}
	}
	// The worker's own side closes when it hears of it.
	for ctx := patient(t); openFiles(t) > before; {
		if ctx.Err() != nil {
			t.Fatalf("%d descriptors were open before and %d are after", before, openFiles(t))
		}
	}
}

// Close waits for calls that run, refuses later ones, and closes what was free.
func TestClose(t *testing.T) {
	release := make(chan struct{})
	ended := make(chan struct{}, 2)
	p := serve(t, func(p *peer, c net.Conn) {
		in := bufio.NewReader(c)
		p.hear(in)
		p.heard <- ""
		<-release
		_, _ = io.WriteString(c, whole(200, done))
		_, _ = io.Copy(io.Discard, in)
		ended <- struct{}{}
	})
	e := New(Options{})
	results, closed := make(chan string, 2), make(chan struct{})
	for range 2 {
		go func() { results <- says(do(patient(t), e, tool(p.url()), call(`{}`))) }()
		<-p.heard
	}
	go func() { must(t, e.Close()); close(closed) }()
	for ctx := patient(t); ctx.Err() == nil; {
		if got := says(do(ctx, e, tool("http://127.0.0.1:1"), call(`{}`))); got == "shutting_down retry=true null" {
			break
		}
	}
	select {
	case <-closed:
		t.Error("it is closed while calls run")
	default:
	}
	close(release)
	for range 2 {
		if got := <-results; got != good {
			t.Error(got)
		}
	}
	<-closed
	<-ended
	<-ended
	must(t, e.Close())
	if got := e.Health(t.Context(), tool(p.url())); got != Down {
		t.Error(got)
	}
}

// What has been free for too long is closed, and not more than so many are kept.
func TestFreeConnectionsAreBounded(t *testing.T) {
	p := speaks(t, whole(200, done))
	e := engine(t, Options{})
	r, err := e.remote(p.url())
	must(t, err)
	for range maxIdle + 3 {
		c, err := r.dial(t.Context())
		must(t, err)
		r.idle.put(c)
	}
	if n := len(r.idle.free); n != maxIdle {
		t.Errorf("%d are kept", n)
	}
	kept := append([]*conn(nil), r.idle.free...)
	for _, c := range kept[:10] {
		c.since = c.since.Add(-idleTime)
	}
	r.idle.expire()
	if n := len(r.idle.free); n != maxIdle-10 || r.idle.free[0] != kept[10] {
		t.Errorf("%d are left", n)
	}
	for i, c := range kept {
		if open := c.raw.SetDeadline(time.Time{}) == nil; open != (i >= 10) {
			t.Errorf("the %d. is open: %t", i, open)
		}
	}
}
