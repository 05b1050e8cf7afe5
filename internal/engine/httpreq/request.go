package httpreq

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// A request is one message to one server.
type request struct {
	method string
	url    *url.URL // the host in its canonical form
	target netguard.Target
	fields []field // none of them says how the message travels
	body   []byte
}

// isFor tells whether a Host header says where the request goes.
func (r request) isFor(host string) bool {
	return strings.EqualFold(host, r.url.Host) || strings.EqualFold(host, r.target.String())
}

// head gives what is sent before the body. Every part was judged: none holds the end of a
// line.
func (r request) head() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", r.method, r.url.RequestURI(), r.url.Host)
	for _, f := range r.fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	if len(r.body) > 0 || r.method == http.MethodPost || r.method == http.MethodPut || r.method == http.MethodPatch {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// escaped writes what stands in no URL as a URL does. Where something is left to escape,
// net/url writes all of a path anew, and what was escaped in it may come to mean another
// thing.
func escaped(url string) string {
	var b strings.Builder
	for i := range len(url) {
		if c := url[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// redirected gives the request that an answer leads to, if it does.
func (r request) redirected(a *answer) (next request, ok bool, err error) {
	location, there := a.value("location")
	if !there || !slices.Contains([]int{301, 302, 303, 307, 308}, a.status) {
		return request{}, false, nil
	}
	next = r
	if next.url, next.target, err = r.resolve(location); err != nil {
		return request{}, false, err
	}
	if a.status <= 303 && r.method != http.MethodGet && r.method != http.MethodHead {
		next.method, next.body = http.MethodGet, nil
		next.drop(func(name string) bool { return strings.HasPrefix(name, "Content-") })
	}
	if next.url.Scheme != r.url.Scheme || next.target != r.target {
		next.drop(func(name string) bool { return name == "Authorization" || name == "Cookie" || name == "Cookie2" })
	}
	return next, true, nil
}

// resolve reads a place that may be given from where the request went. What a server says is
// no fault of the call.
func (r request) resolve(location string) (*url.URL, netguard.Target, error) {
	to, err := r.url.Parse(escaped(location))
	if err != nil {
		return nil, netguard.Target{}, leadsNowhere(errors.New("the Location is no URL"))
	}
	u, t, err := place(to.String())
	if durward.ReasonOf(err) == durward.BadCall {
		err = leadsNowhere(err)
	}
	return u, t, err
}

func leadsNowhere(err error) error {
	return &durward.Error{Reason: durward.ConnectFailed, Op: op, Err: fmt.Errorf("redirected to what is no place: %w", err)}
}

// drop takes the headers of some names out.
func (r *request) drop(named func(canonical string) bool) {
	r.fields = slices.DeleteFunc(slices.Clone(r.fields), func(f field) bool { return named(http.CanonicalHeaderKey(f.Name)) })
}
