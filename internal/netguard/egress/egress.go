// Package egress is the only way out of a command's network namespace.
//
// A [Proxy] accepts on listeners that were made in the namespace and takes every
// connection to where a [netguard.Dialer] lets it go. One listener speaks three
// protocols, told apart by the first byte:
//
//	CONNECT api.example.com:443 HTTP/1.1    a tunnel
//	GET http://api.example.com/x HTTP/1.1   one request, judged by itself
//	05 01 00 ...                            SOCKS5 CONNECT, to a name or an address
//
// A listener of a pair speaks none: whatever is connected to it goes to the one target. A
// client that knows no proxy is taken with [Proxy.TakeNamed]: it goes to the host that it
// names itself, in its TLS hello or in the Host field of its request.
//
// The host is brought into its canonical form as it is read, and that form alone is
// matched, resolved, sent on and told of. A refusal is answered in the protocol of the
// client, is one [Event], and nothing was connected to for it, but for a TLS hello that
// was refused, of which no byte left. An answer never holds an address that a name led to.
//
// A request for a URL gets a connection of its own. Fields that are for one hop stay on it,
// and so does Upgrade: who wants a WebSocket asks for a tunnel, as clients do. Interim
// answers other than 100 are not passed on.
package egress

import (
	"cmp"
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/durward/durward/internal/netguard"
)

const (
	defaultConnections = 64

	// intakeBytes bounds the head of a request and a TLS hello.
	intakeBytes = 32 << 10
	// A client has this long for its first byte, and for what it has begun to ask.
	intakeTime = 10 * time.Second
	// A client that has ended its side, and may be gone, has this long for its answer.
	endedTime = 30 * time.Second
	// idleTime is how long a client may think between two requests.
	idleTime = time.Minute
)

// Options are the rules of a run's way out.
type Options struct {
	// Dialer decides and connects. It must be there.
	Dialer *netguard.Dialer
	// RequireSNI asks of a connection that begins with a TLS handshake that it is for the
	// name that was asked for.
	RequireSNI bool
	// Event is told of every connection and every request that was judged, once, from any
	// goroutine. The client hears of a refusal when Event has returned, and so long nobody
	// may be let in, either. It must not call Close. Nil is told nothing.
	Event func(Event)
	// Remedies are what clients are told about refusals. Zero speaks of a command's policy.
	Remedies Remedies
	// Connections may be open at once. Zero means 64.
	Connections int
	// Room is what the proxies of one program share. Nil is one of the proxy's own.
	Room *Room

	// Tests are in a hurry: zero means intakeTime and endedTime.
	intake, ended time.Duration
}

// Remedies say what to do about a refusal, each behind the target that was refused.
type Remedies struct {
	// Host is for a host and port that the list lacks.
	Host string
	// Private is for one that leads to an address that is not public.
	Private string
}

// A Proxy is the way out of one run. Make one with [New]; it may be used from any goroutine.
type Proxy struct {
	options Options
	life    context.Context // ends with Close: no call outlives it
	end     context.CancelFunc
	slots   chan struct{} // holds one for each connection that is served
	spare   chan struct{} // holds one for each connection that is told there is no room
	tally   tally

	mu     sync.Mutex
	work   sync.WaitGroup         // added to under mu, and not once closed is set
	open   map[io.Closer]struct{} // guarded by mu
	closed bool                   // guarded by mu
}

// New gives a proxy that listens to nothing yet. It has to be closed.
func New(o Options) *Proxy {
	if o.Connections <= 0 {
		o.Connections = defaultConnections
	}
	if o.Room == nil {
		o.Room = new(Room)
	}
	o.Remedies.Host = cmp.Or(o.Remedies.Host, "is not in network.allow; add it to the policy to reach it")
	o.Remedies.Private = cmp.Or(o.Remedies.Private, "leads to an address that is not public; add its range to network.allowPrivate to reach it")
	o.intake, o.ended = cmp.Or(o.intake, intakeTime), cmp.Or(o.ended, endedTime)
	p := &Proxy{options: o, open: make(map[io.Closer]struct{})}
	p.slots = make(chan struct{}, o.Connections)
	p.spare = make(chan struct{}, spareConnections)
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Serve begins to accept on l, and returns at once. The listener belongs to the proxy then.
// It speaks HTTP and SOCKS5.
func (p *Proxy) Serve(l net.Listener) { p.listen(l, p.proxyDoor()) }

// Take serves a connection as those of Serve are, and returns at once. The connection
// belongs to the proxy then.
func (p *Proxy) Take(conn net.Conn) { p.admit(conn, p.proxyDoor()) }

// TakeNamed serves a client that takes the proxy for its target at that port, and returns
// at once. The connection belongs to the proxy then.
func (p *Proxy) TakeNamed(conn net.Conn, port uint16) { p.admit(conn, p.namedDoor(port)) }

func (p *Proxy) proxyDoor() door { return door{serve: p.serveClient, full: p.turnAway} }

// ServePair begins to accept on l, and returns at once. The listener belongs to the proxy
// then. Every connection to it goes to t, if the rules allow that; where t is the zero
// target, clients say where they want to go, as those of Serve do.
func (p *Proxy) ServePair(l net.Listener, t netguard.Target) {
	if t == (netguard.Target{}) {
		p.Serve(l)
		return
	}
	p.listen(l, door{
		serve: func(conn net.Conn) { p.servePair(conn, t) },
		full: func(conn net.Conn, r Rule) {
			p.begin(t, ViaTCP).refuse(r)
			abort(conn)
		},
	})
}

// Close ends the listeners and all that goes through the proxy, waits for it, and says what
// there was. Later calls say the same.
func (p *Proxy) Close() Totals {
	p.end()
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
	return p.tally.totals()
}

// goWith runs f in a goroutine that Close waits for, with c open until f returns. A proxy
// that is closed closes c instead.
func (p *Proxy) goWith(c io.Closer, f func()) bool {
	if !p.keep(c) {
		return false
	}
	go func() {
		defer p.work.Done()
		defer p.drop(c)
		f()
	}()
	return true
}

// keep has Close close c and wait for one more; it says whether there was still time.
func (p *Proxy) keep(c io.Closer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.open[c] = struct{}{}
	p.work.Add(1)
	return true
}

func (p *Proxy) drop(c io.Closer) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}
