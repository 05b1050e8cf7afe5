package egress

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/durward/durward/internal/netguard"
)

const (
	// spareConnections are told that there is no room; those beyond are closed unheard.
	spareConnections = 16
	// A client that is told something and then closed is listened to for so long and so
	// far. Closing with bytes unread would reset the connection, and a reset takes the
	// answer away that the client has not read yet.
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
	// When there is nothing left to accept with, the listener rests.
	shortestRest = 5 * time.Millisecond
	longestRest  = time.Second
)

// A door is what a listener leads to. Neither function closes the connection.
type door struct {
	serve func(net.Conn)
	full  func(net.Conn, Rule) // when there is no room by that rule; it blocks no longer than Event does
}

func (p *Proxy) listen(l net.Listener, d door) {
	p.goWith(l, func() {
		rest := shortestRest
		for {
			conn, err := l.Accept()
			switch {
			case err == nil:
				rest = shortestRest
				p.admit(conn, d)
			case errors.Is(err, net.ErrClosed) || !p.pause(rest):
				return
			default:
				rest = min(2*rest, longestRest)
			}
		}
	})
}

// pause waits, unless the proxy ends.
func (p *Proxy) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.life.Done():
		return false
	}
}

// admit serves a connection if there is room.
func (p *Proxy) admit(conn net.Conn, d door) {
	free, full := p.place()
	if full != "" {
		d.full(conn, full)
		return
	}
	p.hold(conn, free, d.serve)
}

// place takes a place for a connection, in the proxy and in what it shares, and gives what
// frees it. Where there is none it gives the rule that says so.
func (p *Proxy) place() (free func(), full Rule) {
	if !take(p.slots) {
		return nil, RuleConnections
	}
	if !p.options.Room.enter() {
		<-p.slots
		return nil, RuleRoom
	}
	return func() { p.options.Room.leave(); <-p.slots }, ""
}

func take(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// hold runs f with the connection, and free behind it, also where it is too late for f.
func (p *Proxy) hold(conn net.Conn, free func(), f func(net.Conn)) {
	started := p.goWith(conn, func() {
		defer free()
		f(conn)
	})
	if !started {
		free()
	}
}

// turnAway tells a client in its own protocol that there is no room.
func (p *Proxy) turnAway(conn net.Conn, full Rule) {
	p.begin(netguard.Target{}, ViaNone).refuse(full)
	if !take(p.spare) {
		abort(conn)
		return
	}
	p.hold(conn, func() { <-p.spare }, func(conn net.Conn) { p.sayFull(conn, full) })
}

func (p *Proxy) sayFull(conn net.Conn, full Rule) {
	_ = conn.SetDeadline(time.Now().Add(2 * lingerTime))
	c := &client{proxy: p, conn: conn, in: bufio.NewReader(conn)}
	first, err := c.in.Peek(1)
	if err != nil {
		return
	}
	if first[0] == socksVersion {
		c.turnAwaySOCKS()
		c.linger()
		return
	}
	text := "too many connections are open at once; close some first"
	if full == RuleRoom {
		text = "too many connections of all calls are open at once; try again later"
	}
	c.dismiss(answer{http.StatusServiceUnavailable, socksFailed, "connection_limit_reached", text}, head{})
}

// A client is a connection that a command made.
type client struct {
	proxy *Proxy
	conn  net.Conn      // bare: the kernel copies between two of them
	in    *bufio.Reader // reads conn, intakeBytes at most ahead
	named uint16        // the port of the target that the client takes us for, if it does
}

func (p *Proxy) serveClient(conn net.Conn) {
	c := &client{proxy: p, conn: conn, in: bufio.NewReaderSize(conn, intakeBytes)}
	c.within(c.proxy.options.intake)
	first, err := c.in.Peek(1)
	switch {
	case err != nil: // it asked for nothing
	case first[0] == socksVersion:
		c.serveSOCKS()
	default:
		c.serveHTTP()
	}
}

func (p *Proxy) servePair(conn net.Conn, t netguard.Target) {
	c := &client{proxy: p, conn: conn, in: bufio.NewReaderSize(conn, intakeBytes)}
	j := p.begin(t, ViaTCP)
	up, err := p.dial(j)
	if err != nil {
		abort(conn)
		return
	}
	defer up.finish()
	c.tunnel(up, j)
}

// within bounds what is read from the client from now on.
func (c *client) within(d time.Duration) { _ = c.conn.SetReadDeadline(time.Now().Add(d)) }

// unbound takes the bound away.
func (c *client) unbound() { _ = c.conn.SetReadDeadline(time.Time{}) }

// linger lets the client read its answer before the connection is closed.
func (c *client) linger() {
	endWriting(c.conn)
	c.within(lingerTime)
	_, _ = io.CopyN(io.Discard, c.in, lingerBytes)
}

// endWriting passes on that no more will come.
func endWriting(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	conn.Close()
}

// abort closes so that the peer sees a reset, and not an end.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
