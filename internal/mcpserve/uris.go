package mcpserve

import (
	"strings"

	"github.com/durward/durward/internal/jsonrpc"
)

// What one client may listen to: so many resources, whose URIs have so many bytes together.
const (
	maxURIs     = 1000
	maxURIBytes = 256 << 10
)

// URIs are the resources that somebody listens to. The zero value has none.
type uris struct {
	all   map[string]bool
	bytes int
}

// add reports false where there are too many.
func (u *uris) add(uri string) bool {
	if u.all[uri] {
		return true
	}
	if len(u.all) >= maxURIs || u.bytes+len(uri) > maxURIBytes {
		return false
	}
	if u.all == nil {
		u.all = map[string]bool{}
	}
	u.all[strings.Clone(uri)] = true // it may be a part of something large
	u.bytes += len(uri)
	return true
}

func (u *uris) remove(uri string) {
	if u.all[uri] {
		delete(u.all, uri)
		u.bytes -= len(uri)
	}
}

func tooManyURIs() *jsonrpc.Error { return badRequest("too many resources are listened to") }
