package breakout

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/durward/durward/internal/netguard"
)

// proxyStatus is the field by which durward's proxy says that an answer is its own.
const proxyStatus = "Proxy-Status"

// errVoid says that nothing was tried after all.
var errVoid = errors.New("there was no redirect to follow")

// dial connects and has the connection end with ctx.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	return conn, nil
}

// reach connects to a target as a program does that knows no proxy. An address leads to no
// proxy, and there a connection is enough. A name may lead to one, where a connection means
// nothing: whoever is there has to say something that the proxy does not.
func (o Options) reach(ctx context.Context, to netguard.Target) (string, error) {
	conn, err := dial(ctx, "tcp", to.String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, literal := to.Host.Addr(); literal || o.isElsewhere(ctx, conn) {
		return "connected to " + conn.RemoteAddr().String(), nil
	}
	secured := tls.Client(conn, &tls.Config{ServerName: string(to.Host), InsecureSkipVerify: true}) // who it is does not matter
	return saidToHello(secured.HandshakeContext(ctx))
}

// isElsewhere tells whether a connection leads to somebody who is surely not the proxy.
func (o Options) isElsewhere(ctx context.Context, conn net.Conn) bool {
	host, _, err := net.SplitHostPort(o.Proxy)
	if err != nil {
		return false
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	peer, ok := conn.RemoteAddr().(*net.TCPAddr)
	if err != nil || !ok {
		return false
	}
	return !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == peer.AddrPort().Addr().Unmap() })
}

// saidToHello tells by the end of a handshake whether somebody took part in it. The proxy
// ends one with either of two alerts, or cuts it off.
func saidToHello(err error) (string, error) {
	var plain tls.RecordHeaderError
	var alert *net.OpError
	switch {
	case err == nil:
		return "spoke TLS", nil
	case errors.As(err, &plain):
		return "answered without TLS", nil
	case !errors.As(err, &alert) || alert.Op != "remote error":
		return "", err
	}
	switch alert.Err.Error() {
	case "tls: access denied", "tls: internal error":
		return "", err
	}
	return "answered " + alert.Err.Error(), nil
}

// answeredBy tells an answer of the target from one of the proxy.
func answeredBy(answered *http.Response) (string, error) {
	if said := answered.Header.Get(proxyStatus); strings.HasPrefix(said, "durward") {
		return "", fmt.Errorf("the proxy answered %s (%s)", answered.Status, said)
	}
	return "answered " + answered.Status, nil
}

// tunnel asks the proxy for a target.
func tunnel(ctx context.Context, proxy string, to netguard.Target) (string, error) {
	conn, err := dial(ctx, "tcp", proxy)
	if err != nil {
		return "", fmt.Errorf("the proxy: %w", err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", to); err != nil {
		return "", fmt.Errorf("the proxy: %w", err)
	}
	answered, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return "", fmt.Errorf("the proxy: %w", err)
	}
	answered.Body.Close()
	if answered.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the proxy answered %s (%s)", answered.Status, answered.Header.Get(proxyStatus))
	}
	return "connected", nil
}

// ask sends a few bytes and waits for any.
func ask(network string, to netip.AddrPort, words []byte) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		conn, err := dial(ctx, network, to.String())
		if err != nil {
			return "", err
		}
		defer conn.Close()
		if _, err := conn.Write(words); err != nil {
			return "", err
		}
		n, err := conn.Read(make([]byte, 1<<10))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("answered %d bytes", n), nil
	}
}

// question is one for the address of a name, as DNS has it.
func question(name netguard.Host) []byte {
	full, err := dnsmessage.NewName(string(name) + ".")
	if err != nil {
		return nil // an address: an empty datagram is a question, too
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 1, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: full, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// withLength makes a question one for DNS over TCP.
func withLength(question []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(question))), question...)
}

// timeQuestion is one of NTP, version 4.
func timeQuestion() []byte {
	words := make([]byte, 48)
	words[0] = 0x23
	return words
}

// resolve asks for a name that is nobody's inside.
func resolve(name netguard.Host) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		addrs, err := netguard.Lookup(ctx, nil, name)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("resolved to %v", addrs), nil
	}
}

// followRedirect gets a URL that has to answer with a redirect, and goes where it leads.
func (o Options) followRedirect(ctx context.Context) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if o.Proxy != "" {
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: o.Proxy})
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // who it is does not matter
	}
	first, err := get(ctx, transport, o.Redirect)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errVoid, err)
	}
	to, err := first.Location()
	if err != nil {
		return "", fmt.Errorf("%w: the first answer is %s", errVoid, first.Status)
	}
	second, err := get(ctx, transport, to)
	if err != nil {
		return "", fmt.Errorf("led to %s: %w", to, err)
	}
	said, err := answeredBy(second)
	if err != nil {
		return "", fmt.Errorf("led to %s: %w", to, err)
	}
	return said, nil
}

func get(ctx context.Context, transport *http.Transport, from *url.URL) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, err
	}
	answered, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answered.Body, 1<<16))
	answered.Body.Close()
	return answered, nil
}
