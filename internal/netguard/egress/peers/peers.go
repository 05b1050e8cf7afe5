// Package peers is an egress proxy for several peers, each with rules of its own.
//
// A [Gate] knows a peer by the address that it connects from, and by nothing that it says:
// the address has to be one that a peer's name leads to at that time. Who is no peer is
// cut off before it is heard.
//
// A name is asked for again when its answer is a second old, and at once when somebody
// unknown connects: a peer that was started anew has another address. Two names that lead
// to the same address make it nobody's.
package peers

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/egress"
)

const (
	// RuleStranger refused one who is no peer.
	RuleStranger egress.Rule = "peer"
	// RuleDoors refused a peer, or nobody known, that made too many connections at once.
	RuleDoors egress.Rule = "maxUnknown"

	// connectionsEach is how many connections a peer may have open at once.
	connectionsEach = 256
	// unknownEach is how many connections from an address may wait to be known.
	unknownEach = 32
)

// A Peer is one who may go out.
type Peer struct {
	// Name leads to the addresses that it connects from; an address is its own.
	Name netguard.Host
	// Dialer holds its rules. It must be there.
	Dialer *netguard.Dialer
}

// An Event is what became of one connection or request.
type Event struct {
	egress.Event
	// Peer is empty for a stranger.
	Peer netguard.Host
	// From is a stranger's address; a peer's is not told.
	From netip.Addr
}

// Options are who may go out, and where to.
type Options struct {
	// Peers have names of their own each.
	Peers []Peer
	// Resolver finds the peers. Nil means the system's.
	Resolver netguard.Resolver
	// Remedies are what peers are told about refusals.
	Remedies egress.Remedies
	// Event is told of everything that was judged, once, from any goroutine. Nil is told
	// nothing. It must not call Close.
	Event func(Event)

	// Tests are in a hurry: zero means staleAfter.
	stale time.Duration
}

// A Gate accepts the connections of all peers. Make one with [New]; it may be used from any
// goroutine.
type Gate struct {
	options Options
	book    *book
	proxies map[netguard.Host]*egress.Proxy
	room    egress.Room
	life    context.Context // ends with Close
	end     context.CancelFunc

	mu        sync.Mutex
	work      sync.WaitGroup     // added to under mu, and not once closed is set
	listeners []net.Listener     // guarded by mu
	unknown   map[netip.Addr]int // guarded by mu; connections that wait to be known
	closed    bool               // guarded by mu
}

// New gives a gate that listens to nothing yet. It has to be closed.
func New(o Options) *Gate {
	g := &Gate{options: o, book: newBook(o), proxies: make(map[netguard.Host]*egress.Proxy), unknown: make(map[netip.Addr]int)}
	g.life, g.end = context.WithCancel(context.Background())
	for _, p := range o.Peers {
		g.proxies[p.Name] = egress.New(egress.Options{
			Dialer: p.Dialer, RequireSNI: true, Remedies: o.Remedies, Connections: connectionsEach, Room: &g.room,
			Event: func(e egress.Event) { g.tell(Event{Event: e, Peer: p.Name}) },
		})
	}
	return g
}

// Serve begins to accept clients of a proxy on l, and returns at once. The listener belongs
// to the gate then.
func (g *Gate) Serve(l net.Listener) {
	g.accept(l, func(p *egress.Proxy, conn net.Conn) { p.Take(conn) })
}

// ServeNamed begins to accept on l clients that take it for that port of their target, and
// returns at once. The listener belongs to the gate then.
func (g *Gate) ServeNamed(l net.Listener, port uint16) {
	g.accept(l, func(p *egress.Proxy, conn net.Conn) { p.TakeNamed(conn, port) })
}

// Close ends the listeners and all that goes through the gate, and waits for it.
func (g *Gate) Close() {
	g.end()
	g.mu.Lock()
	g.closed = true
	for _, l := range g.listeners {
		l.Close()
	}
	g.mu.Unlock()
	g.work.Wait()
	for _, p := range g.proxies {
		p.Close()
	}
}

func (g *Gate) tell(e Event) {
	if g.options.Event != nil {
		g.options.Event(e)
	}
}
