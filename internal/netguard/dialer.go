package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/durward/durward"
)

// A Resolver finds the addresses of a name. It honours ctx.
type Resolver interface {
	Lookup(ctx context.Context, name Host) ([]netip.Addr, error)
}

const (
	lookupTimeout  = 5 * time.Second
	connectTimeout = 10 * time.Second
	maxAttempts    = 8
)

// A Dialer connects to what its rules allow and to nothing else. Its zero value allows
// nothing. It may be used from any goroutine and must not be changed meanwhile.
type Dialer struct {
	// Allow lists what may be reached.
	Allow Allowlist
	// AnyHostPorts lists the ports at which every public host may be reached beside
	// those of Allow. Names that mean this machine or its network stay refused.
	AnyHostPorts []uint16
	// AnyHost lets every public host be reached at every port, but for those same names.
	AnyHost bool
	// AllowPrivate lists ranges that names may lead to although they are not public.
	AllowPrivate []netip.Prefix
	// Resolver is asked once for each connection to a name. Nil means the system's.
	Resolver Resolver
}

// DialerOf gives the rules of the network part of a grant that has an allowlist.
func DialerOf(n durward.Network, r Resolver) (*Dialer, error) {
	allow, err := ParseAllow(n.Allow)
	if err != nil {
		return nil, err
	}
	private, err := Ranges(n.AllowPrivate)
	return &Dialer{Allow: allow, AllowPrivate: private, Resolver: r}, err
}

// Ranges reads address ranges such as 10.0.0.0/8.
func Ranges(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, &durward.Error{Reason: durward.PolicyInvalid, Op: "net.allow", Rule: "network.allowPrivate", Err: err}
		}
		list = append(list, prefix)
	}
	return list, nil
}

// DialContext connects to "host:port" over TCP; it has the form that an
// [net/http.Transport] wants. The first of the addresses that answers is taken.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, &durward.Error{Reason: durward.HostDenied, Op: "net.dial", Err: fmt.Errorf("network %q", network)}
	}
	t, err := ParseTarget(address)
	if err != nil {
		return nil, err
	}
	p, err := d.permit(t)
	if err != nil {
		return nil, err
	}
	addrs, err := p.addresses(ctx)
	if err != nil {
		return nil, err
	}
	return p.connect(ctx, network, addrs)
}

// DialService connects over TCP to a service that the operator named, wherever [JudgeService]
// lets one live: each address that the name leads to is judged, and one that was is dialled.
// A nil Resolver asks the system for the name as it stands, search domains included.
func DialService(ctx context.Context, t Target, r Resolver) (net.Conn, error) {
	if r == nil {
		r = searchingResolver{}
	}
	p := permit{Dialer: &Dialer{Resolver: r}, target: t, service: true}
	addrs, err := p.addresses(ctx)
	if err != nil {
		return nil, err
	}
	return p.connect(ctx, "tcp", addrs)
}

// Check refuses what can be refused without asking anybody: a host or port that the rules
// do not allow, and a host that is an address which may not be reached. What it lets pass
// may still be refused when it is dialled.
func (d *Dialer) Check(t Target) error {
	p, err := d.permit(t)
	if err != nil {
		return err
	}
	addr, literal := t.Host.Addr()
	if !literal {
		return nil
	}
	if err := p.judge(addr); err != nil {
		return t.fail(durward.AddressRefused, err)
	}
	return nil
}

// A permit is a target that may be connected to, as far as its host and port go.
type permit struct {
	*Dialer
	target Target
	// literal is the address that an entry of the allowlist names; it is not judged.
	literal netip.Addr
	// service is set for a target that was named as a service of the operator's own.
	service bool
}

func (d *Dialer) permit(t Target) (permit, error) {
	addr, _ := t.Host.Addr()
	if _, ok := d.Allow.Match(t.Host, t.Port); ok {
		return permit{Dialer: d, target: t, literal: addr}, nil
	}
	if !d.AnyHost && !slices.Contains(d.AnyHostPorts, t.Port) {
		return permit{}, t.fail(durward.HostDenied, errors.New("the allowlist has no such host and port"))
	}
	if t.Host.IsLocalName() {
		return permit{}, t.fail(durward.HostDenied, errors.New("the name means this machine or its network"))
	}
	return permit{Dialer: d, target: t}, nil
}

// addresses gives the addresses of the target, each of them judged. One that is refused
// refuses the name: which of them is dialled must not be left to chance.
func (p permit) addresses(ctx context.Context) ([]netip.Addr, error) {
	addrs, err := p.resolve(ctx)
	if err != nil {
		return nil, err
	}
	for i, addr := range addrs {
		if err := p.judge(addr); err != nil {
			return nil, p.target.fail(durward.AddressRefused, err)
		}
		addrs[i] = addr.Unmap()
	}
	return addrs, nil
}

func (p permit) judge(addr netip.Addr) error {
	if p.service {
		return JudgeService(addr)
	}
	if p.literal.IsValid() && addr == p.literal {
		return nil
	}
	return Judge(addr, p.AllowPrivate)
}

func (p permit) resolve(ctx context.Context) ([]netip.Addr, error) {
	if addr, ok := p.target.Host.Addr(); ok {
		return []netip.Addr{addr}, nil
	}
	limited, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := Lookup(limited, p.Resolver, p.target.Host)
	switch {
	case ctx.Err() != nil:
		return nil, p.target.ended(ctx.Err())
	case err == nil && len(addrs) == 0:
		err = errors.New("the name has no address")
	case err == nil:
		err = limited.Err()
	}
	if err != nil {
		return nil, p.target.fail(durward.LookupFailed, err)
	}
	return slices.Clone(addrs), nil
}

// Lookup asks r for the addresses of a name; nil means the system's resolver.
func Lookup(ctx context.Context, r Resolver, name Host) ([]netip.Addr, error) {
	if r == nil {
		r = systemResolver{}
	}
	return r.Lookup(ctx, name)
}

// connect tries the addresses one after the other.
func (p permit) connect(ctx context.Context, network string, addrs []netip.Addr) (net.Conn, error) {
	var failed error
	for _, addr := range addrs[:min(len(addrs), maxAttempts)] {
		conn, err := p.connectTo(ctx, network, addr)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, p.target.ended(ctx.Err())
		}
		failed = errors.Join(failed, err)
	}
	if durward.ReasonOf(failed) == durward.AddressRefused {
		return nil, failed
	}
	return nil, p.target.fail(durward.ConnectFailed, failed)
}

// connectTo dials addr itself, and looks once more at the socket's peer right before
// the system connects it.
func (p permit) connectTo(ctx context.Context, network string, addr netip.Addr) (net.Conn, error) {
	want := netip.AddrPortFrom(addr, p.target.Port)
	dialer := net.Dialer{
		Timeout: connectTimeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return p.checkPeer(want, address)
		},
	}
	dialer.SetMultipathTCP(false)
	return dialer.DialContext(ctx, network, want.String())
}

func (p permit) checkPeer(want netip.AddrPort, address string) error {
	peer, err := netip.ParseAddrPort(address)
	if err != nil || peer.Addr().Unmap() != want.Addr() || peer.Port() != want.Port() {
		return p.target.fail(durward.AddressRefused, fmt.Errorf("about to connect to %q instead of %s", address, want))
	}
	return p.judge(want.Addr())
}

func (t Target) fail(reason durward.Reason, err error) error {
	return &durward.Error{
		Reason: reason, Op: "net.dial",
		Retry: reason == durward.LookupFailed || reason == durward.ConnectFailed,
		Err:   fmt.Errorf("%s: %w", t, err),
	}
}

// ended says that the caller's own deadline or cancellation ended the dial.
func (t Target) ended(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return t.fail(durward.DeadlineExceeded, err)
	}
	return t.fail(durward.CallCancelled, err)
}

// systemResolver asks the system. A name with a dot in it is asked for as it stands:
// the dot put after it keeps search domains out, which would resolve another name than
// the one that was matched. A name of one label has no meaning but the system's own.
type systemResolver struct{}

func (systemResolver) Lookup(ctx context.Context, name Host) ([]netip.Addr, error) {
	text := string(name)
	if strings.Contains(text, ".") {
		text += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", text)
}

// searchingResolver asks the system for a name as an operator's own programs would: within
// a cluster, names are short.
type searchingResolver struct{}

func (searchingResolver) Lookup(ctx context.Context, name Host) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", string(name))
}
