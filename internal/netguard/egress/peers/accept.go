package peers

import (
	"net"
	"net/netip"
	"time"

	"github.com/durward/durward/internal/netguard/egress"
)

// restTime is how long a listener rests that has nothing to accept with.
const restTime = 100 * time.Millisecond

// accept hands every connection of a peer to that peer's proxy.
func (g *Gate) accept(l net.Listener, hand func(*egress.Proxy, net.Conn)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		l.Close()
		return
	}
	g.listeners = append(g.listeners, l)
	g.work.Go(func() {
		for g.life.Err() == nil {
			conn, err := l.Accept()
			if err != nil {
				g.rest()
				continue
			}
			g.meet(conn, hand)
		}
	})
}

// rest waits a moment, unless the gate ends.
func (g *Gate) rest() {
	timer := time.NewTimer(restTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.life.Done():
	}
}

// meet finds out who connected, which may take a while.
func (g *Gate) meet(conn net.Conn, hand func(*egress.Proxy, net.Conn)) {
	from := addressOf(conn)
	if !g.enter(from) {
		g.cutOff(conn, from, RuleDoors)
		return
	}
	since := time.Now()
	g.work.Go(func() { // the loop that called is part of the work itself
		name, known := g.book.who(g.life, from, since)
		g.leave(from)
		if !known {
			g.cutOff(conn, from, RuleStranger)
			return
		}
		hand(g.proxies[name], conn)
	})
}

// enter counts a connection from somebody who is not known yet, if there is room.
func (g *Gate) enter(from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unknown[from] >= unknownEach {
		return false
	}
	g.unknown[from]++
	return true
}

func (g *Gate) leave(from netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unknown[from]--; g.unknown[from] == 0 {
		delete(g.unknown, from)
	}
}

// cutOff closes a connection with a reset.
func (g *Gate) cutOff(conn net.Conn, from netip.Addr, rule egress.Rule) {
	g.tell(Event{Event: egress.Event{Rule: rule}, From: from})
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

func addressOf(conn net.Conn) netip.Addr {
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
