package netguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward"
)

// ParseURL takes an absolute URL apart; one of http or https has a host. What different
// programs read differently is refused: a space, a backslash, a control character. An error
// has reason BadCall.
func ParseURL(text string) (*url.URL, error) {
	u, err := parseURL(text)
	if err != nil {
		return nil, &durward.Error{Reason: durward.BadCall, Op: "net.url", Err: err}
	}
	return u, nil
}

func parseURL(text string) (*url.URL, error) {
	odd := func(c rune) bool { return c == '\\' || unicode.IsControl(c) || unicode.IsSpace(c) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, odd) {
		return nil, errors.New("the URL holds a space, a backslash or a control character")
	}
	u, err := url.Parse(text)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return nil, failed.Err // without the URL, which may hold secrets
	}
	switch {
	case u.Scheme == "":
		return nil, errors.New("the URL has no scheme: write http:// or https://")
	case IsHTTP(u) && u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	}
	return u, nil
}

// IsHTTP tells whether the URL is one of http or https.
func IsHTTP(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// TargetOf tells where a URL of http or https leads: to its port, or the usual one of its
// scheme. A port that is none has reason BadCall, a host without a canonical form BadHost.
func TargetOf(u *url.URL) (Target, error) {
	text := u.Port()
	switch {
	case text != "":
	case u.Scheme == "https":
		text = "443"
	default:
		text = "80"
	}
	port, err := parsePort(text)
	if err != nil {
		return Target{}, &durward.Error{Reason: durward.BadCall, Op: "net.url", Err: err}
	}
	host, err := CanonicalHost(u.Hostname())
	return Target{host, port}, err
}

// In gives the target as the host of a URL of that scheme: without the port where it is the
// usual one.
func (t Target) In(scheme string) string {
	whole := t.String()
	if t.Port == 80 && scheme == "http" || t.Port == 443 && scheme == "https" {
		return whole[:strings.LastIndexByte(whole, ':')]
	}
	return whole
}

// Secure speaks TLS over a connection that was dialled, for HTTP/1.1: who is there proves to
// be host. Nil roots are the system's. When it fails conn is closed.
func Secure(ctx context.Context, conn net.Conn, host Host, roots *x509.CertPool) (net.Conn, error) {
	secured := tls.Client(conn, &tls.Config{ServerName: string(host), RootCAs: roots, NextProtos: []string{"http/1.1"}})
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// ForOneHop tells whether a field of a message, named as [net/http.CanonicalHeaderKey] does,
// is for the next hop alone and not for who is behind it.
func ForOneHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}
