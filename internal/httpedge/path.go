package httpedge

import (
	"net/http"
	"net/url"
	"strings"
)

// DecodePath gives the path of the request target, percent-decoded exactly once. It
// begins with the "/" that the target begins with and is not cleaned in any other way:
// "//x", "a/../b", "%2e%2e" and NUL bytes arrive as they were sent, for the door to judge.
//
// A target that is not a path ("http://…", "host:port", "*") is refused with BadRequest.
func DecodePath(r *http.Request) (string, error) {
	target, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(target, "/") {
		return "", badRequest("the request target is not a path")
	}
	path, err := url.PathUnescape(target)
	if err != nil {
		return "", badRequest(err.Error())
	}
	return path, nil
}
