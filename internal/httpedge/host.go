package httpedge

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// A host is the authority of a Host header or an Origin: a name or a literal address,
// and a port, which is 0 where none was written.
type host struct {
	name string // lower case; empty for a literal address
	ip   netip.Addr
	port uint16
}

// parseHost reads "name", "name:port", "1.2.3.4:port", "[::1]" or "[::1]:port". It
// knows one spelling of an address: "127.1" and "0x7f000001" are names, and an IPv4
// address in IPv6 form is another address.
func parseHost(text string) (host, bool) {
	name, port, ok := cutPort(text)
	if !ok {
		return host{}, false
	}
	if inside, isLiteral := strings.CutPrefix(name, "["); isLiteral {
		ip, err := netip.ParseAddr(strings.TrimSuffix(inside, "]"))
		return host{ip: ip, port: port}, err == nil && ip.Is6() && ip.Zone() == "" && strings.HasSuffix(inside, "]")
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return host{ip: ip, port: port}, ip.Is4()
	}
	return host{name: strings.ToLower(name), port: port}, isName(name)
}

// cutPort splits off ":port".
func cutPort(text string) (name string, port uint16, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.HasSuffix(text, "]") {
		return text, 0, true
	}
	n, err := strconv.ParseUint(text[i+1:], 10, 16)
	return text[:i], uint16(n), err == nil && n > 0
}

func isName(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return true
}

// ends are the addresses by which a request's server is known.
type ends struct {
	// local is the server's end of the connection, bound what its listener was bound
	// to; each may be the zero value.
	local, bound netip.AddrPort
}

func endsOf(r *http.Request) ends {
	var e ends
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		e.local = addrPort(a)
	}
	if a, ok := r.Context().Value(boundKey{}).(net.Addr); ok {
		e.bound = addrPort(a)
	}
	return e
}

// own reports whether h is the server's own literal address, or localhost. A port that
// is written with an address must be the server's; localhost may carry any, as that of
// a forwarded port.
func (e ends) own(h host) bool {
	if h.name != "" {
		return h.name == "localhost"
	}
	for _, end := range []netip.AddrPort{e.local, e.bound} {
		if end.IsValid() && h.ip == end.Addr().WithZone("") && (h.port == 0 || h.port == end.Port()) {
			return true
		}
	}
	return false
}

// parseHosts reads the allowed hosts of a configuration.
func parseHosts(texts []string) ([]host, error) {
	hosts := make([]host, len(texts))
	for i, text := range texts {
		h, ok := parseHost(text)
		if !ok {
			return nil, badRule(fmt.Sprintf("%q is not a host name", text))
		}
		hosts[i] = h
	}
	return hosts, nil
}

// allows reports whether h is a, with a's port if it names one.
func (a host) allows(h host) bool {
	return a.name == h.name && a.ip == h.ip && (a.port == 0 || a.port == h.port)
}
