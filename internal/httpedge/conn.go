package httpedge

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
)

// A listener hands out at most so many connections at a time, and can close them all,
// those that a handler took over included.
type listener struct {
	net.Listener
	options Options
	slots   chan struct{}
	rests   atomic.Uint64 // how often a connection came to rest
	rested  chan struct{} // has an element when one did
	closed  chan struct{}
	close   func() error

	mu   sync.Mutex
	open map[*conn]struct{} // guarded by mu
}

func newListener(l net.Listener, o Options) *listener {
	closed := make(chan struct{})
	return &listener{
		Listener: l, options: o, closed: closed,
		slots: make(chan struct{}, o.Connections), rested: make(chan struct{}, 1),
		close: sync.OnceValue(func() error { close(closed); return l.Close() }),
		open:  make(map[*conn]struct{}),
	}
}

// Accept holds one connection back while there is no room for it, and leaves the rest to the
// kernel's queue.
func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !l.makeRoom() {
		return nil, errors.Join(net.ErrClosed, nc.Close())
	}
	c := &conn{Conn: nc, listener: l, timeout: l.options.WriteTimeout}
	c.release = sync.OnceFunc(func() { l.forget(c) })
	l.mu.Lock()
	l.open[c] = struct{}{}
	l.mu.Unlock()
	c.lieDown()
	return c, nil
}

func (l *listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	<-l.slots
}

func (l *listener) Close() error { return l.close() }

func (l *listener) closeAll() {
	l.mu.Lock()
	open := make([]*conn, 0, len(l.open))
	for c := range l.open {
		open = append(open, c)
	}
	l.mu.Unlock()
	for _, c := range open {
		c.cut()
	}
}

const (
	// writePiece is what has to get through within one write time-out.
	writePiece = 64 << 10
	// What a client still sends after a refusal is read for so long and so far before
	// the connection is closed. Closing it with bytes unread would reset it, and a
	// reset takes the answer away that the client has not read yet.
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// A conn is one connection from a client. What net/http does with it passes through.
type conn struct {
	net.Conn
	listener *listener
	timeout  time.Duration // of one piece written
	release  func()        // frees the slot, once
	linger   atomic.Bool
	reset    atomic.Bool // a read failed because the peer is gone
	eof      atomic.Bool // the peer ended its side
	watch    watch       // of its request

	mu       sync.Mutex
	explicit bool // guarded by mu: someone else set a write deadline
	// extended, guarded by mu, is when we last set one; for a moment it will do.
	extended time.Time
	quiet    bool           // guarded by mu: no interim response may be written
	probes   probe          // guarded by mu
	rest     rest           // guarded by mu
	caller   durward.Caller // guarded by mu: of the last request
}

// Read notes how the peer ended, for systems where that cannot be asked.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch slow, ok := err.(net.Error); { // as it comes from a net.Conn
	case err == nil || ok && slow.Timeout():
	case errors.Is(err, io.EOF):
		c.eof.Store(true)
	default:
		c.reset.Store(true)
	}
	return n, err
}

// Write sends p, and fails when a piece of it does not get through in time.
func (c *conn) Write(p []byte) (n int, err error) {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1 100 ")) {
		c.keepQuiet()
	}
	for {
		c.extend()
		m, err := c.Conn.Write(p[n:min(len(p), n+writePiece)])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

func (c *conn) extend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.explicit || now.Sub(c.extended) < c.timeout/32 {
		return
	}
	c.extended = now
	_ = c.Conn.SetWriteDeadline(now.Add(c.timeout)) // a closed connection fails at the write
}

// SetWriteDeadline takes the place of the time-out per piece until it is set to zero.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.explicit, c.extended = !t.IsZero(), time.Time{}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.Conn.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite ends our side; net/http asks for it before it waits for the client's end.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// NetConn gives the connection beneath, for a handler that took it over and whose writes
// may wait for longer. It ends with Close of c only.
func (c *conn) NetConn() net.Conn { return c.Conn }

// keepQuiet is called when the answer begins: from then on nothing may be put between
// its bytes.
func (c *conn) keepQuiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet = true
}

// lingerAtClose makes Close wait for a client that may still be sending.
func (c *conn) lingerAtClose() { c.linger.Store(true) }

// Close closes the connection and frees its slot.
func (c *conn) Close() error {
	if c.linger.Swap(false) && c.CloseWrite() == nil {
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	defer c.release()
	return c.Conn.Close()
}

// cut closes the connection without waiting for anyone.
func (c *conn) cut() {
	c.linger.Store(false)
	_ = c.Close()
}

// begin prepares for the next request.
func (c *conn) begin(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet = !r.ProtoAtLeast(1, 1) // HTTP/1.0 knows no interim responses
	c.probes = probe{}
}
