package execclient

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/durward/durward/execserver/protocol"
)

// RemoteConnectArgs say where a server is, and how to be let in.
type RemoteConnectArgs struct {
	// URL is ws://HOST:PORT or wss://HOST:PORT.
	URL string
	// Options of the session.
	Options ConnectOptions
	// BearerToken is sent when a connection is opened; empty for none. It travels only
	// by wss, or to an address of the loopback.
	BearerToken Token
	// HTTPClient opens connections. Nil means one of the client's own. Redirects are
	// not followed either way.
	HTTPClient *http.Client
}

// A Token is a secret that prints as [redacted].
type Token string

// String hides the token.
func (Token) String() string { return "[redacted]" }

// GoString hides the token.
func (Token) GoString() string { return "[redacted]" }

// LogValue hides the token.
func (Token) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// ConnectOptions are those of a session. The zero value is one for a new session.
type ConnectOptions struct {
	// ClientName is told to the server. Empty means "durward-execclient".
	ClientName string
	// Resume is the id of the session to go on with. Empty means a new one.
	Resume string
	// Limits asks for limits of the session's processes. A server without the
	// capability durwardLimits is not one to have them: Dial fails.
	Limits *protocol.Limits
	// ConnectTimeout bounds one attempt to connect, up to the server's answer to
	// initialize. Within it Dial waits for a session to resume that the server still
	// takes for another connection's. Zero means 10 s.
	ConnectTimeout time.Duration
	// ResumeTimeout is for how long a lost connection is tried again. Zero means 60 s;
	// less than zero means not at all. A server may give a session up earlier.
	ResumeTimeout time.Duration
	// KeepAlive is how long a connection may be silent before the server is asked for
	// a sign of life, and how long that may take. Zero means 20 s.
	KeepAlive time.Duration
}

func (o ConnectOptions) withDefaults() ConnectOptions {
	if o.ClientName == "" {
		o.ClientName = "durward-execclient"
	}
	o.ConnectTimeout = orElse(o.ConnectTimeout, 10*time.Second)
	o.ResumeTimeout = orElse(o.ResumeTimeout, time.Minute)
	o.KeepAlive = orElse(o.KeepAlive, 20*time.Second)
	return o
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// check refuses what must not be tried.
func (a RemoteConnectArgs) check() error {
	u, err := url.Parse(a.URL)
	if err != nil {
		return fmt.Errorf("execclient: %w", err)
	}
	if u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return fmt.Errorf("execclient: %q is not ws://HOST:PORT or wss://HOST:PORT", a.URL)
	}
	if a.BearerToken != "" && u.Scheme == "ws" && !isLoopback(u.Hostname()) {
		return errors.New("execclient: a bearer token travels only by wss:// or to an address of the loopback")
	}
	return nil
}

// isLoopback judges addresses, as what a name leads to can change.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// httpClient gives the client that opens connections, and what gives it up.
func (a RemoteConnectArgs) httpClient() (client *http.Client, done func()) {
	client, done = &http.Client{}, func() {}
	if a.HTTPClient != nil {
		*client = *a.HTTPClient
	} else {
		t := &http.Transport{Proxy: http.ProxyFromEnvironment}
		client.Transport, done = t, t.CloseIdleConnections
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, done
}
