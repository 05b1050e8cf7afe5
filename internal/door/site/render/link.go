package render

import (
	"net/url"
	"strings"
)

// A link is a destination a reader may go to.
type link struct {
	href     string // safe in a quoted attribute but for its &
	external bool
}

// follow gives the link that a destination means on the page at base. There is none
// where the scheme is not http, https or mailto, or where nobody can tell.
func follow(base *url.URL, destination string) (link, bool) {
	ref, err := url.Parse(escapeURL(destination))
	if err != nil {
		return link{}, false
	}
	if !isWithin(ref) {
		ref = base.ResolveReference(ref)
	}
	// What is judged is what is written.
	href := escapeURL(ref.String())
	u, err := url.Parse(href)
	if err != nil {
		return link{}, false
	}
	switch strings.ToLower(u.Scheme) {
	case "":
		return link{href: href, external: u.Host != "" || strings.HasPrefix(href, "//")}, true
	case "http", "https", "mailto":
		return link{href: href, external: true}, true
	}
	return link{}, false
}

// isWithin reports whether a reference stays on its page. The page may be shown under
// another path than its own.
func isWithin(ref *url.URL) bool {
	return ref.Scheme == "" && ref.Host == "" && ref.Path == "" && ref.RawQuery == "" && !ref.ForceQuery
}
