package httpreq

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/netguard"
	"golang.org/x/net/http/httpguts"
)

// A field is one header.
type field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// An input is what a call says. A member that is null counts as absent.
type input struct {
	Method         string  `json:"method"`
	URL            string  `json:"url"`
	Headers        []field `json:"headers"`
	BodyBase64     string  `json:"bodyBase64"`
	TimeoutMs      *int64  `json:"timeoutMs"`
	RedirectPolicy string  `json:"redirectPolicy"`
}

// parseInput gives the first request, and how to go on from there.
func parseInput(text json.RawMessage) (*prepared, error) {
	var in input
	limits := jsonx.Limits{Bytes: int64(len(text))} // the door has bounded it
	if err := jsonx.Decode(text, &in, jsonx.Options{Limits: limits, IgnoreUnknown: true}); err != nil {
		return nil, err
	}
	p := &prepared{}
	var err error
	if p.time, err = timeOf(in.TimeoutMs); err != nil {
		return nil, err
	}
	switch in.RedirectPolicy {
	case "", "follow":
		p.follow = true
	case "stop":
	default:
		return nil, badCall(errors.New("redirectPolicy is neither follow nor stop"))
	}
	p.first, err = requestOf(in)
	return p, err
}

// timeOf gives the time that a call has; zero is any.
func timeOf(ms *int64) (time.Duration, error) {
	if ms == nil {
		return 0, nil
	}
	if *ms < 1 {
		return 0, &durward.Error{Reason: durward.BadTimeout, Op: op, Err: fmt.Errorf("timeoutMs is %d", *ms)}
	}
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(*ms, most)) * time.Millisecond, nil
}

func requestOf(in input) (request, error) {
	// A token is what both a method and the name of a header are.
	if !httpguts.ValidHeaderFieldName(in.Method) || in.Method == http.MethodConnect {
		return request{}, badCall(fmt.Errorf("%.40q is no method", in.Method))
	}
	r := request{method: in.Method}
	var err error
	if r.url, r.target, err = place(in.URL); err != nil {
		return request{}, err
	}
	if r.fields, err = outgoing(in.Headers, r); err != nil {
		return request{}, err
	}
	r.body, err = jsonx.Base64(in.BodyBase64)
	if err != nil {
		return request{}, &durward.Error{Reason: durward.BadBase64, Op: op, Err: err}
	}
	return r, nil
}

// place reads a URL, and gives it with the host in its canonical form and without a
// fragment.
//
// A text that is no such URL has reason BadCall. A host that different programs read
// differently has HostDenied: nobody can have named it.
func place(text string) (*url.URL, netguard.Target, error) {
	_, err := netguard.ParseURL(text)
	if err != nil {
		return nil, netguard.Target{}, badCall(err)
	}
	u, err := netguard.ParseURL(escaped(text))
	switch {
	case err != nil:
	case !netguard.IsHTTP(u):
		err = fmt.Errorf("the scheme %q is not http or https", u.Scheme)
	case u.User != nil:
		err = errors.New("the URL holds a user name: send a header")
	}
	if err != nil {
		return nil, netguard.Target{}, badCall(err)
	}
	t, err := netguard.TargetOf(u)
	if durward.ReasonOf(err) == durward.BadHost {
		return nil, t, hostDenied(err)
	}
	if err != nil {
		return nil, t, badCall(err)
	}
	u.Host = t.In(u.Scheme)
	u.Fragment, u.RawFragment = "", ""
	return u, t, nil
}

// outgoing gives the headers that are sent as they are.
func outgoing(all []field, r request) ([]field, error) {
	named := connectionOptions(all)
	var list []field
	for _, f := range all {
		f.Value = textproto.TrimString(f.Value)
		if !httpguts.ValidHeaderFieldName(f.Name) || !httpguts.ValidHeaderFieldValue(f.Value) {
			return nil, badCall(fmt.Errorf("the header %.40q is malformed", f.Name))
		}
		name := http.CanonicalHeaderKey(f.Name)
		switch {
		case name == "Host" && !r.isFor(f.Value):
			return nil, refused(hostDenied(fmt.Errorf("the Host header is not for %s", r.target)))
		case name == "Host" || name == "Content-Length" || name == "Expect" || netguard.ForOneHop(name) || named[name]:
		default:
			list = append(list, f)
		}
	}
	return list, nil
}

// connectionOptions gives the names that are declared to be for one hop.
func connectionOptions(all []field) map[string]bool {
	named := map[string]bool{}
	for _, f := range all {
		if http.CanonicalHeaderKey(f.Name) != "Connection" {
			continue
		}
		for name := range strings.SplitSeq(f.Value, ",") {
			named[http.CanonicalHeaderKey(textproto.TrimString(name))] = true
		}
	}
	return named
}
