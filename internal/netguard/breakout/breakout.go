// Package breakout tries to get out of a network, by every way that should be closed.
//
// Each [Attempt] really connects, sends or asks; nothing is concluded from settings. A way
// counts as open when something answered, and as closed when it was refused, when there was
// no way, or when nobody answered in time:
//
//	another host       example.com:443        directly, and by the proxy
//	another port       api.example.com:80     directly, and by the proxy
//	a bare address     1.1.1.1:443            directly, and by the proxy
//	an inside address  169.254.169.254:80     directly, and by the proxy
//	the proxy itself   127.0.0.1:3129         by the proxy
//	IPv6               [2606:4700:…]:443      directly, and by the proxy
//	direct DNS         1.1.1.1:53             a question by UDP and by TCP
//	a name outside     example.com            asked of the network's own resolver
//	UDP                162.159.200.1:123      a question for the time
//	a redirect         to an inside address   if a URL is given that leads there
//
// Beside these the allowed targets are tried, which have to be reached.
package breakout

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/durward/durward/internal/netguard"
)

// attemptTime bounds an attempt: who has not answered by then is not there.
const attemptTime = 3 * time.Second

// Options say what to try. What is zero has a default on the public internet.
type Options struct {
	// Allowed are the targets that have to be reached, if any.
	Allowed []netguard.Target
	// Proxy is the way out that there should be; "" is none.
	Proxy string // host:port
	// Host is a target that may not be reached.
	Host netguard.Target
	// Addresses may not be reached either.
	Addresses []netip.AddrPort
	// Inside is an address on no public network. It may not be reached, nor may IPv6.
	Inside, IPv6 netip.AddrPort
	// DNS may not answer a question, UDP no datagram.
	DNS, UDP netip.AddrPort
	// Redirect is a URL that leads to an inside address; nil is not tried.
	Redirect *url.URL
	// Time bounds an attempt. Zero means three seconds.
	Time time.Duration
}

// A Route is how an attempt is made.
type Route string

const (
	Direct  Route = "direct"
	ByProxy Route = "proxy"
	ByDNS   Route = "resolver" // the network's own
)

// An Attempt is one way and what came of it.
type Attempt struct {
	Name   string
	Route  Route
	Target string
	// Wanted is set for an allowed target, Reached when something answered. Void is set when
	// nothing could be tried, which is no good sign.
	Wanted, Reached, Void bool
	// Detail says what answered, or why nothing did.
	Detail string
}

// Holds tells whether the attempt ended as it should.
func (a Attempt) Holds() bool { return !a.Void && a.Wanted == a.Reached }

// Open tells whether the attempt found a way that should be closed.
func (a Attempt) Open() bool { return !a.Wanted && a.Reached }

// Try makes every attempt, all at once, and gives them in a fixed order.
func Try(ctx context.Context, o Options) []Attempt {
	o = o.withDefaults()
	trials := o.trials()
	var running sync.WaitGroup
	for i := range trials {
		running.Go(func() { trials[i].run(ctx, o.Time) })
	}
	running.Wait()
	attempts := make([]Attempt, len(trials))
	for i, t := range trials {
		attempts[i] = t.Attempt
	}
	return attempts
}

func (o Options) withDefaults() Options {
	o.Host = cmp.Or(o.Host, netguard.Target{Host: "example.com", Port: 443})
	o.Inside = cmp.Or(o.Inside, netip.MustParseAddrPort("169.254.169.254:80")) // where clouds tell a machine its secrets
	o.IPv6 = cmp.Or(o.IPv6, netip.MustParseAddrPort("[2606:4700:4700::1111]:443"))
	o.DNS = cmp.Or(o.DNS, netip.MustParseAddrPort("1.1.1.1:53"))
	o.UDP = cmp.Or(o.UDP, netip.MustParseAddrPort("162.159.200.1:123"))
	o.Time = cmp.Or(o.Time, attemptTime)
	if len(o.Addresses) == 0 {
		o.Addresses = []netip.AddrPort{netip.MustParseAddrPort("1.1.1.1:443")}
	}
	return o
}

// A trial is an attempt with how it is made. It says what answered, or why nothing did.
type trial struct {
	Attempt
	try func(ctx context.Context) (string, error)
}

func (t *trial) run(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said, err := t.try(ctx)
	t.Reached, t.Void = err == nil, errors.Is(err, errVoid)
	t.Detail = said
	if err != nil {
		t.Detail = err.Error()
	}
}

// trials lists what is tried.
func (o Options) trials() []trial {
	var list []trial
	for _, to := range o.Allowed {
		list = append(list, o.bothWays("allowed", to)...)
	}
	for i := range list {
		list[i].Wanted = true
	}
	list = append(list, o.bothWays("another host", o.Host)...)
	for _, to := range o.otherPorts() {
		list = append(list, o.bothWays("another port", to)...)
	}
	for _, at := range o.Addresses {
		list = append(list, o.bothWays("a bare address", targetAt(at))...)
	}
	list = append(list, o.bothWays("an inside address", targetAt(o.Inside))...)
	if o.Proxy != "" {
		list = append(list, o.byProxy("the proxy itself", netguard.Target{Host: "127.0.0.1", Port: 3129}))
	}
	list = append(list, o.bothWays("IPv6", targetAt(o.IPv6))...)
	list = append(list,
		trial{Attempt{Name: "direct DNS by UDP", Route: Direct, Target: o.DNS.String()}, ask("udp", o.DNS, question(o.Host.Host))},
		trial{Attempt{Name: "direct DNS by TCP", Route: Direct, Target: o.DNS.String()}, ask("tcp", o.DNS, withLength(question(o.Host.Host)))},
		trial{Attempt{Name: "a name outside", Route: ByDNS, Target: string(o.Host.Host)}, resolve(o.Host.Host)},
		trial{Attempt{Name: "UDP", Route: Direct, Target: o.UDP.String()}, ask("udp", o.UDP, timeQuestion())},
	)
	if o.Redirect != nil {
		list = append(list, trial{Attempt{Name: "a redirect inside", Route: o.route(), Target: o.Redirect.String()}, o.followRedirect})
	}
	return list
}

func targetAt(at netip.AddrPort) netguard.Target {
	return netguard.Target{Host: netguard.Host(at.Addr().String()), Port: at.Port()}
}

// otherPorts names for each allowed host one port that is not allowed.
func (o Options) otherPorts() []netguard.Target {
	var list []netguard.Target
	for _, allowed := range o.Allowed {
		for _, port := range []uint16{80, 8080, 22, 25} {
			other := netguard.Target{Host: allowed.Host, Port: port}
			if slices.Contains(o.Allowed, other) || slices.Contains(list, other) {
				continue
			}
			list = append(list, other)
			break
		}
	}
	return list
}

func (o Options) route() Route {
	if o.Proxy != "" {
		return ByProxy
	}
	return Direct
}

func (o Options) bothWays(name string, to netguard.Target) []trial {
	list := []trial{{Attempt{Name: name, Route: Direct, Target: to.String()}, func(ctx context.Context) (string, error) { return o.reach(ctx, to) }}}
	if o.Proxy != "" {
		list = append(list, o.byProxy(name, to))
	}
	return list
}

func (o Options) byProxy(name string, to netguard.Target) trial {
	return trial{Attempt{Name: name, Route: ByProxy, Target: to.String()}, func(ctx context.Context) (string, error) { return tunnel(ctx, o.Proxy, to) }}
}
