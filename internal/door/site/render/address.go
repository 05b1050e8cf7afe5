package render

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// An address is where a site is found.
type address struct {
	origin string // "http://127.0.0.1:8000"
	prefix string // path of its root, with a slash at the end: "/"
}

var defaultAddress = address{origin: "http://127.0.0.1:8000", prefix: "/"}

var hostForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
})

// parseAddress takes only what has no meaning in a shell, in Markdown or in HTML.
func parseAddress(site string) address {
	u, err := url.Parse(site)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !hostForm().MatchString(u.Host) || u.User != nil {
		return defaultAddress
	}
	a := address{origin: u.Scheme + "://" + u.Host, prefix: "/"}
	if below := strings.Trim(u.EscapedPath(), "/"); below != "" {
		a.prefix = "/" + escapeURL(below) + "/"
	}
	return a
}

func (a address) String() string { return a.origin + a.prefix }

// page gives the path of a file of the site as its links see it.
func (a address) page(path string) *url.URL {
	u, err := url.Parse(a.prefix + escapePath(path))
	if err != nil {
		return &url.URL{Path: a.prefix}
	}
	return u
}

func escapePath(path string) string {
	return escapeURL((&url.URL{Path: "/" + path}).EscapedPath())[1:]
}

// escapeURL leaves nothing in an address that a browser drops, or reads as something
// else, or that has a meaning in HTML, in a shell's single quotes or to curl.
func escapeURL(raw string) string {
	const safe = "!#$%&()*+,-./:;=?@_~"
	var b strings.Builder
	for _, c := range []byte(raw) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(safe, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
