package worker

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

const good = `failed=false {"n":1}`

// reset ends a connection so that the other side hears of it as an error.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// A call that may have reached its worker is not repeated, on no connection.
func TestACallIsSentOnce(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"closed":              func(c net.Conn) { c.Close() },
		"reset":               reset,
		"closed within":       func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 "); c.Close() },
		"reset within":        func(c net.Conn) { _, _ = io.WriteString(c, ok+"Content-Length: 28\r\n\r\n{"); reset(c) },
		"closed for requests": func(c net.Conn) { _, _ = io.WriteString(c, whole(408, "")); c.Close() },
	} {
		for _, answered := range []int32{0, 1} { // before, on the same connection
			for _, input := range []string{`{}`, `"` + strings.Repeat("x", 2*inlineBytes) + `"`} {
				p := serve(t, func(p *peer, c net.Conn) {
					for in := bufio.NewReader(c); p.hear(in) != ""; {
						if p.requests.Load() > answered {
							end(c)
							return
						}
						_, _ = io.WriteString(c, whole(200, done))
					}
				})
				e, of := engine(t, Options{}), tool(p.url())
				of.Transport.MaxAttempts = 5
				for range answered {
					if got := says(do(patient(t), e, of, call(`{}`))); got != good {
						t.Fatal(got)
					}
				}
				want := unreachableSays
				if name == "closed for requests" {
					want = nonStandardSays(408)
				}
				if got := says(do(patient(t), e, of, call(input))); got != want {
					t.Errorf("%s after %d calls: %s", name, answered, got)
				}
				if n := p.requests.Load(); n != answered+1 || p.conns.Load() != 1 {
					t.Errorf("%s after %d calls: the worker was called %d times over %d connections", name, answered, n, p.conns.Load())
				}
			}
		}
	}
}

// A connection that its worker has ended while it was free is not used, nor is one over
// which somebody spoke unasked: a new one is made, and no call is lost.
func TestFreeConnectionsThatDied(t *testing.T) {
	for name, end := range map[string]func(net.Conn){
		"closed": func(c net.Conn) { c.Close() },
		"reset":  reset,
		"unasked": func(c net.Conn) {
			_, _ = io.WriteString(c, whole(200, `{"ok":true,"output":{"forged":1}}`))
		},
		"said to be over": func(c net.Conn) { _, _ = io.WriteString(c, whole(408, "")); c.Close() },
	} {
		ended := make(chan struct{}, 8)
		again := make(chan struct{})
		p := serve(t, func(p *peer, c net.Conn) {
			in := bufio.NewReader(c)
			p.hear(in)
			_, _ = io.WriteString(c, whole(200, done))
			<-again // the engine has its reply, and the connection is free
			end(c)
			ended <- struct{}{}
			p.hear(in)
		})
		e := engine(t, Options{})
		for range 3 {
			if got := says(do(patient(t), e, tool(p.url()), call(`{}`))); got != good {
				t.Fatalf("%s: %s", name, got)
			}
			again <- struct{}{}
			<-ended
			settle(t, e, p)
		}
		if p.requests.Load() != 3 || p.conns.Load() != 3 {
			t.Errorf("%s: %d requests over %d connections", name, p.requests.Load(), p.conns.Load())
		}
	}
}

// settle waits until the kernel has told the free connection of what the worker did.
func settle(t testing.TB, e *Engine, p *peer) {
	t.Helper()
	pool := &e.remotes[p.url()].idle
	for ctx := patient(t); ctx.Err() == nil; {
		pool.mu.Lock()
		quiet := len(pool.free) > 0 && pool.free[0].isQuiet()
		pool.mu.Unlock()
		if !quiet {
			return
		}
	}
	t.Fatal("the connection stays quiet")
}

// A connection whose other side was lost unseen, so that no byte can be sent over it, is
// replaced once.
func TestUnsentIsSentOverANewConnection(t *testing.T) {
	for _, input := range []string{`{}`, `"` + strings.Repeat("x", 2*inlineBytes) + `"`} {
		stay := make(chan struct{})
		p := serve(t, func(p *peer, c net.Conn) {
			for in := bufio.NewReader(c); p.hear(in) != ""; {
				_, _ = io.WriteString(c, whole(200, done))
			}
			<-stay
		})
		e, of := engine(t, Options{}), tool(p.url())
		if got := says(do(patient(t), e, of, call(`{}`))); got != good {
			t.Fatal(got)
		}
		// No write goes through any more, and nothing tells so before.
		must(t, e.remotes[p.url()].idle.free[0].raw.(*net.TCPConn).CloseWrite())
		if got := says(do(patient(t), e, of, call(input))); got != good || p.requests.Load() != 2 || p.conns.Load() != 2 {
			t.Errorf("%s, %d requests over %d connections", got, p.requests.Load(), p.conns.Load())
		}
		close(stay)
	}
}

// A connection is used for the next call where its reply ended plainly, and else is not.
func TestReuse(t *testing.T) {
	chunked := ok + "Transfer-Encoding: chunked\r\n\r\n1c\r\n" + done + "\r\n0\r\n\r\n"
	for _, tt := range []struct {
		name, text string
		conns      int32
	}{
		{"a length", whole(200, done), 1},
		{"chunks", chunked, 1},
		{"interim replies", "HTTP/1.1 100 Continue\r\n\r\n" + whole(200, done), 1},
		{"an error of the tool's own", whole(500, `{"ok":false,"error":{"code":"X","message":""}}`), 1},
		{"no envelope", whole(200, `{}`), 1},
		{"said to close", ok + "Connection: close\r\nContent-Length: 28\r\n\r\n" + done, 4},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 28\r\n\r\n" + done, 4},
		{"more than was announced", whole(200, done) + "HTTP/1.1 200 OK\r\n\r\n", 4},
		{"packed", ok + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 4},
		{"too large", ok + "Content-Length: 99999999\r\n\r\n", 4},
	} {
		p := speaks(t, tt.text)
		e := engine(t, Options{})
		for range 4 {
			_, _ = do(patient(t), e, tool(p.url()), call(`{}`))
		}
		if n := p.conns.Load(); n != tt.conns || p.requests.Load() != 4 {
			t.Errorf("%s: %d connections for %d calls, want %d", tt.name, n, p.requests.Load(), tt.conns)
		}
	}
}

// Many at once get their own answers, over no more connections than there are calls at once.
func TestManyAtOnce(t *testing.T) {
	p := serve(t, func(p *peer, c net.Conn) {
		in := bufio.NewReader(c)
		for text := p.hear(in); text != ""; text = p.hear(in) {
			input := text[strings.LastIndex(text, `"input":`)+len(`"input":`) : len(text)-1]
			_, _ = io.WriteString(c, whole(200, `{"ok":true,"output":`+input+`}`))
		}
	})
	e := engine(t, Options{})
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			input := `{"n":` + strings.Repeat("1", i+1) + `}`
			for range 50 {
				if got := says(do(patient(t), e, tool(p.url()), call(input))); got != "failed=false "+input {
					t.Errorf("%s: %s", input, got)
				}
			}
		})
	}
	callers.Wait()
	if p.conns.Load() > 16 || p.requests.Load() != 16*50 {
		t.Errorf("%d connections, %d requests", p.conns.Load(), p.requests.Load())
	}
}
