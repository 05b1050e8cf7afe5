package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// parseURL reads an absolute URL, and gives it with the host in its canonical form and
// without a fragment.
//
// A text that is no such URL has reason BadCall; one that leads where nobody may go, or
// whose host different programs read differently, has HostDenied.
func parseURL(text string) (*url.URL, netguard.Target, error) {
	u, err := readURL(text)
	if err != nil {
		return nil, netguard.Target{}, badCall(err)
	}
	if err := judgeURL(u); err != nil {
		return nil, netguard.Target{}, err
	}
	port, err := portOf(u)
	if err != nil {
		return nil, netguard.Target{}, badCall(err)
	}
	host, err := netguard.CanonicalHost(u.Hostname())
	if err != nil {
		return nil, netguard.Target{}, denied(err)
	}
	t := netguard.Target{Host: host, Port: port}
	u.Host = hostOf(t, u.Scheme)
	u.Fragment, u.RawFragment = "", ""
	return u, t, nil
}

// readURL takes a URL apart. One of a scheme that is denied anyway needs no host.
func readURL(text string) (*url.URL, error) {
	odd := func(c rune) bool { return c == '\\' || unicode.IsControl(c) || unicode.IsSpace(c) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, odd) {
		return nil, errors.New("the URL holds a space, a backslash or a control character")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	switch {
	case u.Scheme == "":
		return nil, errors.New("the URL has no scheme: write http:// or https://")
	case isHTTP(u) && u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	}
	return u, nil
}

func isHTTP(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

func judgeURL(u *url.URL) error {
	switch {
	case !isHTTP(u):
		return denied(fmt.Errorf("the scheme %q is not http or https", u.Scheme))
	case u.User != nil:
		return denied(errors.New("the URL holds a user name"))
	}
	return nil
}

// portOf gives the port of a URL, or the usual one of its scheme.
func portOf(u *url.URL) (uint16, error) {
	switch text := u.Port(); {
	case text != "":
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 || text[0] == '0' {
			return 0, errors.New("the port is not a number from 1 to 65535")
		}
		return uint16(port), nil
	case u.Scheme == "https":
		return 443, nil
	}
	return 80, nil
}

// hostOf gives a target as the host of a URL.
func hostOf(t netguard.Target, scheme string) string {
	usual := t.Port == 80 && scheme == "http" || t.Port == 443 && scheme == "https"
	if whole := t.String(); usual {
		return whole[:strings.LastIndexByte(whole, ':')]
	}
	return t.String()
}

func denied(err error) error {
	return &durward.Error{Reason: durward.HostDenied, Op: "curl", Rule: "url", Hint: "use a plain http or https URL of a public host", Err: err}
}
