package httpedge

import (
	"fmt"
	"strings"
)

// An origin is what a browser says of the page that made a request: "http://host:port".
type origin struct {
	scheme string
	host   host // its port is never 0
}

// parseOrigin reads an origin with the scheme http or https. "null" is none.
func parseOrigin(text string) (origin, bool) {
	scheme, authority, _ := strings.Cut(text, "://")
	port := uint16(80)
	switch scheme = strings.ToLower(scheme); scheme {
	case "http":
	case "https":
		port = 443
	default:
		return origin{}, false
	}
	h, ok := parseHost(authority)
	return origin{scheme, h.withPort(port)}, ok
}

// withPort gives h with this port where it has none.
func (h host) withPort(port uint16) host {
	if h.port == 0 {
		h.port = port
	}
	return h
}

// same reports whether o is the server's own origin for a request that named the host
// asked: a page of the very host the request went to, or of another name for this
// server at its port.
func (o origin) same(e ends, asked host) bool {
	if o.scheme != "http" {
		return false
	}
	return o.host == asked.withPort(80) || (e.own(o.host) && o.host.port == e.local.Port())
}

func parseOrigins(texts []string) ([]origin, error) {
	origins := make([]origin, len(texts))
	for i, text := range texts {
		o, ok := parseOrigin(text)
		if !ok {
			return nil, badRule(fmt.Sprintf("%q is not an origin such as https://host:port", text))
		}
		origins[i] = o
	}
	return origins, nil
}
