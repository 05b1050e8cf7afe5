package httpedge

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/durward/durward"
)

// An Address is where to listen.
type Address struct {
	// Host is a literal address: "127.0.0.1", "::1". "0.0.0.0" means every IPv4
	// address, "::" every address. A name is refused, as it may mean anything.
	Host string
	// Port 0 picks a free one.
	Port int
	// Authenticated says that every caller has to show a credential; AllowRemote that
	// the operator accepts callers from other machines without. Beyond loopback one
	// of the two is needed.
	Authenticated, AllowRemote bool
}

// Listen opens the address. The listener's Addr holds the real port; the caller closes
// the listener, or gives it to [Server.Serve].
func Listen(ctx context.Context, a Address) (net.Listener, error) {
	ip, err := a.check()
	if err != nil {
		return nil, err
	}
	network := "tcp" // with "::", which means IPv4 as well
	if ip.Is4() {
		network = "tcp4"
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, network, netip.AddrPortFrom(ip, uint16(a.Port)).String())
	if err != nil {
		return nil, &durward.Error{Reason: durward.ListenFailed, Op: "listen", Err: err}
	}
	return l, nil
}

func (a Address) check() (netip.Addr, error) {
	ip, err := netip.ParseAddr(a.Host)
	if err != nil {
		return ip, badAddress(fmt.Errorf("%q is not a literal address", a.Host))
	}
	if a.Port < 0 || a.Port > 65535 {
		return ip, badAddress(fmt.Errorf("%d is not a port", a.Port))
	}
	ip = ip.Unmap()
	if !ip.IsLoopback() && !a.Authenticated && !a.AllowRemote {
		return ip, &durward.Error{
			Reason: durward.RemoteDenied, Op: "listen", Rule: "loopback",
			Hint: "listen on 127.0.0.1, set up a bearer token, or accept every caller with --allow-remote",
			Err:  fmt.Errorf("%s is not a loopback address", ip),
		}
	}
	return ip, nil
}

func badAddress(err error) error {
	return &durward.Error{
		Reason: durward.BadUsage, Op: "listen", Err: err,
		Hint: "give an address such as 127.0.0.1 or ::1, and a port from 0 to 65535",
	}
}

// URL gives the address as the start of a URL: "http://127.0.0.1:8000".
func URL(a net.Addr) string {
	ap := addrPort(a)
	return "http://" + net.JoinHostPort(ap.Addr().String(), strconv.Itoa(int(ap.Port())))
}

// StartLine is the one line, without its newline, that a command prints on standard
// error when it accepts connections.
func StartLine(a net.Addr) string { return "Serving on " + URL(a) }

// addrPort gives the address of a TCP end, IPv4 in its own form; the zero value for
// any other network.
func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
