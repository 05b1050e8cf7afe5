//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A wire leads to a server, and can be cut.
type wire struct {
	address string
	to      string
	done    sync.WaitGroup
	mu      sync.Mutex
	current []*strand // guarded by mu
}

// A strand is one connection.
type strand struct {
	near, far net.Conn
	deaf      atomic.Bool // what the server says is lost
}

func (s *strand) Write(p []byte) (int, error) {
	if s.deaf.Load() {
		return len(p), nil
	}
	return s.near.Write(p)
}

func (s *strand) close() {
	s.near.Close()
	s.far.Close()
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{address: l.Addr().String(), to: to}
	w.done.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			w.lay(t, near)
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.cut()
		w.done.Wait()
	})
	return w
}

func (w *wire) lay(t *testing.T, near net.Conn) {
	far, err := net.Dial("tcp", w.to)
	if err != nil {
		near.Close()
		t.Error(err)
		return
	}
	s := &strand{near: near, far: far}
	w.mu.Lock()
	w.current = append(w.current, s)
	w.mu.Unlock()
	for _, carry := range []func() (int64, error){
		func() (int64, error) { return io.Copy(far, near) },
		func() (int64, error) { return io.Copy(s, far) },
	} {
		w.done.Go(func() {
			_, _ = carry() // until either end closes
			s.close()
		})
	}
}

// deafen loses what the server says, until the wire is cut.
func (w *wire) deafen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.current {
		s.deaf.Store(true)
	}
}

// cut ends all connections. Later ones are as good as new.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.current {
		s.close()
	}
	w.current = nil
}
