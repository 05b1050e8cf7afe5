package execserver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

// DefaultListenURL is this machine alone, at a free port.
const DefaultListenURL = "ws://127.0.0.1:0"

// A ListenURL says where the server is to be reached. The zero value is standard input
// and output.
type ListenURL struct{ addr netip.AddrPort }

// A ListenURLError says what is wrong with the text of a listen URL. In its chain is a
// [durward.Error] with reason [durward.BadUsage].
type ListenURLError struct {
	// URL is the text, and Why what is wrong with it.
	URL, Why string
}

const listenForms = "write ws://IP:PORT, such as " + DefaultListenURL + " or ws://[::1]:8765, or stdio"

// Error says what is wrong and what to write.
func (e *ListenURLError) Error() string {
	return fmt.Sprintf("%q is no listen URL: %s; %s", e.URL, e.Why, listenForms)
}

// Unwrap gives the error as one of the command line.
func (e *ListenURLError) Unwrap() error {
	return &durward.Error{Reason: durward.BadUsage, Op: "listen", Hint: listenForms, Err: fmt.Errorf("%q is no listen URL: %s", e.URL, e.Why)}
}

// ParseListenURL reads a listen URL:
//
//	ws://IP:PORT     a literal address, an IPv6 one in brackets; port 0 picks a free one
//	stdio, stdio://  standard input and output
//
// Anything else is refused with a [*ListenURLError].
func ParseListenURL(text string) (ListenURL, error) {
	if text == "stdio" || text == "stdio://" {
		return ListenURL{}, nil
	}
	refuse := func(why string) (ListenURL, error) { return ListenURL{}, &ListenURLError{text, why} }
	authority, ok := strings.CutPrefix(text, "ws://")
	switch {
	case !ok:
		return refuse("it begins with neither ws:// nor stdio")
	case strings.ContainsAny(authority, "/?#"):
		return refuse("something stands behind the port")
	case strings.Contains(authority, "@"):
		return refuse("it names a user")
	}
	host, port, err := net.SplitHostPort(authority)
	if err != nil || port == "" {
		return refuse("it has no port")
	}
	addr, err := netip.ParseAddrPort(authority)
	if err == nil && addr.Addr().Zone() == "" {
		return ListenURL{netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())}, nil
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return refuse("its host is not a literal address")
	}
	return refuse("it is not an address and a port from 0 to 65535")
}

// IsStdio reports whether u is standard input and output.
func (u ListenURL) IsStdio() bool { return !u.addr.IsValid() }

// Addr is the address and port; the zero value for standard input and output.
func (u ListenURL) Addr() netip.AddrPort { return u.addr }

// IsLoopback reports whether nobody but this machine can reach u.
func (u ListenURL) IsLoopback() bool { return u.IsStdio() || u.addr.Addr().IsLoopback() }

// String is "stdio", or a URL for clients: "ws://127.0.0.1:8765".
func (u ListenURL) String() string {
	if u.IsStdio() {
		return "stdio"
	}
	return "ws://" + u.addr.String()
}

// listen opens the address, and gives u with the port that was bound. Beyond loopback it
// refuses to without credentials, and nothing can make it.
func (u ListenURL) listen(ctx context.Context, auth *Auth) (net.Listener, ListenURL, error) {
	l, err := httpedge.Listen(ctx, httpedge.Address{Host: u.addr.Addr().String(), Port: int(u.addr.Port()), Authenticated: auth != nil})
	if durward.ReasonOf(err) == durward.RemoteDenied {
		err = &durward.Error{
			Reason: durward.RemoteDenied, Op: "listen", Rule: "loopback",
			Hint: "listen on " + DefaultListenURL + ", or ask for a credential: --ws-auth " + modeToken + " --ws-token-file FILE",
			Err:  fmt.Errorf("%s is not a loopback address, and whoever reaches it could run commands here", u.addr.Addr()),
		}
	}
	if err != nil {
		return nil, u, err
	}
	bound := l.Addr().(*net.TCPAddr).AddrPort()
	return l, ListenURL{netip.AddrPortFrom(u.addr.Addr(), bound.Port())}, nil
}
