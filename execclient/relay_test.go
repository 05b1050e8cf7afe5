package execclient_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// A relay stands between a client and a server, and loses connections.
type relay struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[*net.TCPConn]bool // guarded by mu
	away  bool                  // guarded by mu
}

// newRelay relays to the host and port of a ws:// URL.
func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener, to: to, conns: map[*net.TCPConn]bool{}}
	r.running.Go(r.accept)
	t.Cleanup(func() {
		listener.Close()
		r.cut(true)
		r.running.Wait()
	})
	return r
}

func (r *relay) url() string { return "ws://" + r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", r.to)
		if err != nil || !r.keep(in.(*net.TCPConn), out.(*net.TCPConn)) {
			in.Close()
			continue
		}
		r.running.Go(func() { r.pass(in, out) })
		r.running.Go(func() { r.pass(out, in) })
	}
}

func (r *relay) keep(in, out *net.TCPConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		out.Close()
		return false
	}
	r.conns[in], r.conns[out] = true, true
	return true
}

func (r *relay) pass(from, to net.Conn) {
	_, err := io.Copy(to, from)
	if errors.Is(err, net.ErrClosed) { // one of them, by the test, and the other one hears nothing
		io.Copy(io.Discard, from)
	} else {
		to.(*net.TCPConn).CloseWrite()
	}
	from.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, from.(*net.TCPConn))
}

// silence ends all connections for the server, while the client does not hear of it.
func (r *relay) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		if c.RemoteAddr().String() == r.to {
			c.Close()
		}
	}
}

// cut resets all connections, and keeps new ones away or not.
func (r *relay) cut(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
	for c := range r.conns {
		c.SetLinger(0)
		c.Close()
	}
}
