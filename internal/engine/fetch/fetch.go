// Package fetch carries out the built-in command that sends one HTTP request.
//
//	curl [-X METHOD] [-H 'Name: value']… [-d DATA]… [-f] [-i] [-s] [-S] [--max-time SECONDS] URL
//
// The words mean what they mean to the program of that name: --request is -X, -d makes a
// POST of a form, --data-raw takes a leading "@" as it stands, -i prints the status and
// the headers first, -f ends with code 22 and without a body where the status is 400 or
// more. -s and -S decide whether that is said on the standard error. Whatever else that
// program knows is refused.
//
// A request goes to public addresses alone, at ports 80 and 443 and those that were
// allowed. The name is looked up once, every address of the answer is judged, and the
// connection goes to one that was. A redirect is an answer like any other. There are no
// cookies, no proxy and no stored credentials.
package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/netguard"
)

// Options configure an Engine. The zero value reaches the public internet at ports 80
// and 443.
type Options struct {
	// Ports may be reached beside 80 and 443.
	Ports []uint16
	// AllowPrivate lists ranges that may be reached although they are not public.
	AllowPrivate []netip.Prefix
	// Resolver finds the addresses of a name. Nil means the system's.
	Resolver netguard.Resolver
	// Roots are the authorities that servers have to be vouched for by. Nil means the
	// system's.
	Roots *x509.CertPool
}

// An Engine sends requests. It is safe for concurrent use and holds nothing open.
//
// Whoever makes one permits its tool to reach the network: a grant that gives commands
// none, or their own loopback, is about the sockets of commands and does not stop it. A
// grant with an allowlist does narrow it: a request then has to be allowed by both.
type Engine struct{ Options }

// New makes an Engine.
func New(o Options) *Engine {
	o.Ports = append([]uint16{80, 443}, o.Ports...)
	return &Engine{o}
}

// Enforces lists what a request holds by itself: it touches no file and reads no
// variable, goes where both the engine and the grant let it, and counts what it keeps.
func (e *Engine) Enforces() []durward.GrantField {
	return []durward.GrantField{durward.FieldFiles, durward.FieldNetwork, durward.FieldEnv, durward.FieldLimits}
}

// Prepare reads the arguments and refuses what can be refused without a lookup.
func (e *Engine) Prepare(_ context.Context, _ durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	r, err := parseArguments(c.Argv)
	if err != nil {
		return nil, err
	}
	dialer, err := e.dialer(r.target, g.Network)
	if err != nil {
		return nil, err
	}
	if err := dialer.Check(r.target); err != nil {
		return nil, err
	}
	return &prepared{request: r, dialer: dialer, roots: e.Roots, limit: limitOf(g.Limits.WithDefaults())}, nil
}

// dialer gives the rules for one request: the engine's, and no more than the grant's.
func (e *Engine) dialer(t netguard.Target, n durward.Network) (*netguard.Dialer, error) {
	d := &netguard.Dialer{AnyHostPorts: e.Ports, AllowPrivate: e.AllowPrivate, Resolver: e.Resolver}
	if n.Mode != durward.NetAllowlist {
		return d, nil
	}
	list, err := netguard.ParseAllow(n.Allow)
	if err != nil {
		return nil, err
	}
	if _, ok := list.Match(t.Host, t.Port); !ok {
		return nil, &durward.Error{
			Reason: durward.HostDenied, Op: "curl", Rule: "sandbox.network.allow",
			// A hint reaches those, too, who may not see what the author put into the URL.
			Hint: "use a host and port that network.allow has, or add them to it",
			Err:  fmt.Errorf("the policy does not allow %s", t),
		}
	}
	granted, err := ranges(t, n.AllowPrivate)
	d.AllowPrivate = common(e.AllowPrivate, granted)
	return d, err
}

// ranges gives what a grant lets an allowed target lead to beside public addresses. An
// address that the allowlist names is among it.
func ranges(t netguard.Target, texts []string) ([]netip.Prefix, error) {
	list, err := netguard.Ranges(texts)
	if err != nil {
		return nil, err
	}
	if addr, ok := t.Host.Addr(); ok {
		list = append(list, netip.PrefixFrom(addr, addr.BitLen()))
	}
	return list, nil
}

// common gives the ranges that lie in both lists.
func common(a, b []netip.Prefix) []netip.Prefix {
	var both []netip.Prefix
	for _, x := range a {
		for _, y := range b {
			if x.Overlaps(y) { // then one holds the other
				both = append(both, slices.MaxFunc([]netip.Prefix{x, y}, func(x, y netip.Prefix) int { return x.Bits() - y.Bits() }))
			}
		}
	}
	return both
}

// limitOf gives the number of bytes a call may print, or a negative number for any.
func limitOf(l durward.Limits) int64 {
	switch {
	case l.Output < 0:
		return l.OutputHard
	case l.OutputHard < 0:
		return l.Output
	}
	return min(l.Output, l.OutputHard)
}

// ended says why the time of a call is over.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &durward.Error{
			Reason: durward.DeadlineExceeded, Op: "curl", Rule: "limits.wallMs", Retry: true,
			Hint: "allow more time", Err: errors.New("the answer was not complete when the time was up"),
		}
	}
	return &durward.Error{Reason: durward.CallCancelled, Op: "curl", Err: context.Cause(ctx)}
}
