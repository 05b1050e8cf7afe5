package netguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A resolver gives one answer after the other, the last one for ever.
type resolver struct {
	answers [][]string
	asked   atomic.Int32
}

func answering(answers ...[]string) *resolver { return &resolver{answers: answers} }

func (r *resolver) Lookup(context.Context, Host) ([]netip.Addr, error) {
	n := int(r.asked.Add(1))
	var addrs []netip.Addr
	for _, s := range r.answers[min(n, len(r.answers))-1] {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, nil
}

// A listener can tell whether anybody connected to it.
type listener struct {
	net.Listener
	port uint16
}

func listen(t *testing.T, host string, port uint16) listener {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return listener{ln, netip.MustParseAddrPort(ln.Addr().String()).Port()}
}

// sawNobody connects itself and asks to be the first in the queue.
func (ln listener) sawNobody(t *testing.T) {
	t.Helper()
	own, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if first := ln.next(t); first != own.LocalAddr().String() {
		t.Fatalf("%s was connected to from %s", ln.Addr(), first)
	}
}

// next gives the address of the next one who connected.
func (ln listener) next(t *testing.T) string {
	t.Helper()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.RemoteAddr().String()
}

func (ln listener) at(host string) string {
	return net.JoinHostPort(host, strconv.Itoa(int(ln.port)))
}

func dial(t *testing.T, d *Dialer, address string) error {
	t.Helper()
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err == nil {
		conn.Close()
	}
	return err
}

func wantReason(t *testing.T, err error, want durward.Reason) {
	t.Helper()
	if err == nil || durward.ReasonOf(err) != want {
		t.Fatalf("%v (%s), want %s", err, durward.ReasonOf(err), want)
	}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func TestDial(t *testing.T) {
	ln := listen(t, "127.0.0.1", 0)
	port := strconv.Itoa(int(ln.port))
	tests := []struct {
		name, host string
		d          Dialer
		reason     durward.Reason
	}{
		{"a name in an allowed range", "db.test", Dialer{Allow: mustAllow(t, "db.test:"+port), AllowPrivate: loopback}, ""},
		{"the same, spelt otherwise", "DB.Test.", Dialer{Allow: mustAllow(t, "db.test:"+port), AllowPrivate: loopback}, ""},
		{"a name below a wildcard", "a.db.test", Dialer{Allow: mustAllow(t, "*.db.test:"+port), AllowPrivate: loopback}, ""},
		{"an address in the list", "127.0.0.1", Dialer{Allow: mustAllow(t, "127.0.0.1:"+port)}, ""},
		{"any host", "db.test", Dialer{AnyHostPorts: []uint16{ln.port}, AllowPrivate: loopback}, ""},
		{"an allowed name does not allow its addresses", "db.test", Dialer{Allow: mustAllow(t, "db.test:"+port)}, durward.AddressRefused},
		{"nor does an address in the list", "db.test", Dialer{Allow: mustAllow(t, "db.test:"+port, "127.0.0.1:"+port)}, durward.AddressRefused},
		{"any host does not allow private addresses", "127.0.0.1", Dialer{AnyHostPorts: []uint16{ln.port}}, durward.AddressRefused},
		{"nor local names", "localhost", Dialer{AnyHostPorts: []uint16{ln.port}, AllowPrivate: loopback}, durward.HostDenied},
		{"another host", "other.test", Dialer{Allow: mustAllow(t, "db.test:"+port), AllowPrivate: loopback}, durward.HostDenied},
		{"another port", "db.test", Dialer{Allow: mustAllow(t, "db.test:1"), AllowPrivate: loopback}, durward.HostDenied},
		{"another port of any host", "db.test", Dialer{AnyHostPorts: []uint16{1}, AllowPrivate: loopback}, durward.HostDenied},
		{"an address where a name is listed", "127.0.0.1", Dialer{Allow: mustAllow(t, "db.test:"+port), AllowPrivate: loopback}, durward.HostDenied},
		{"the listed address as another form", "::ffff:127.0.0.1", Dialer{Allow: mustAllow(t, "127.0.0.1:"+port)}, durward.HostDenied},
		{"nothing is allowed", "127.0.0.1", Dialer{}, durward.HostDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.d.Resolver = answering([]string{"127.0.0.1"})
			err := dial(t, &tt.d, ln.at(tt.host))
			if tt.reason != "" {
				wantReason(t, err, tt.reason)
				ln.sawNobody(t)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ln.next(t)
		})
	}
}

// What is refused before a lookup is refused by the dial, and for the same reason.
func TestCheckAsksNobody(t *testing.T) {
	names := answering([]string{"127.0.0.1"})
	d := &Dialer{Allow: mustAllow(t, "db.test:5432", "10.1.2.3:5432"), AnyHostPorts: []uint16{80}, Resolver: names}
	for _, tt := range []struct {
		host   Host
		port   uint16
		reason durward.Reason
	}{
		{"db.test", 5432, ""},
		{"any.test", 80, ""},
		{"93.184.216.34", 80, ""},
		{"10.1.2.3", 5432, ""},
		{"10.1.2.3", 80, durward.AddressRefused},
		{"::ffff:10.1.2.3", 80, durward.AddressRefused},
		{"64:ff9b::a01:203", 80, durward.AddressRefused},
		{"db.test", 81, durward.HostDenied},
		{"localhost", 80, durward.HostDenied},
		{"x.internal", 80, durward.HostDenied},
	} {
		target := Target{tt.host, tt.port}
		if err := d.Check(target); durward.ReasonOf(err) != tt.reason {
			t.Errorf("%s: %v, want %s", target, err, tt.reason)
		}
		if tt.reason != "" {
			wantReason(t, dial(t, d, target.String()), tt.reason)
		}
	}
	if n := names.asked.Load(); n != 0 {
		t.Errorf("a resolver was asked %d times", n)
	}
}

// Address encodings: whatever the spelling, the listener on 127.0.0.1 hears nothing.
func TestAddressEncodings(t *testing.T) {
	ln := listen(t, "127.0.0.1", 0)
	d := &Dialer{AnyHostPorts: []uint16{ln.port}, Resolver: answering([]string{"127.0.0.1"})}
	for _, host := range []string{
		"127.0.0.1", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1", "127.1", "127.0.1",
		"127.0.0.1.", "127.000.000.001", "１２７.０.０.１", "127。0。0。1", "①②⑦.0.0.1", "0.0.0.0", "0", "LOCALHOST", "localhost.", "LocalHost.LocalDomain",
		"::", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::FFFF:7F00:1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::1%lo", "db.test",
	} {
		if err := dial(t, d, ln.at(host)); err == nil {
			t.Errorf("%s was connected to", host)
		}
		ln.sawNobody(t)
	}
}

func TestPrivateTargetsByName(t *testing.T) {
	ln := listen(t, "127.0.0.1", 0)
	for _, answer := range []string{
		"127.0.0.1", "169.254.169.254", "10.0.0.1", "fd00::1", "100.64.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1",
		"64:ff9b::7f00:1", "fe80::1", "fe80::1%1", "2002:7f00:1::", "224.0.0.1", "255.255.255.255",
	} {
		d := &Dialer{AnyHostPorts: []uint16{ln.port}, Resolver: answering([]string{answer})}
		wantReason(t, dial(t, d, ln.at("db.test")), durward.AddressRefused)
		d.Allow = mustAllow(t, ln.at("db.test"))
		wantReason(t, dial(t, d, ln.at("db.test")), durward.AddressRefused)
		ln.sawNobody(t)
	}
}

func TestMixedAnswersAreRefused(t *testing.T) {
	ln := listen(t, "127.0.0.1", 0)
	for _, answer := range [][]string{
		{"8.8.8.8", "127.0.0.1"}, {"127.0.0.1", "8.8.8.8"}, {"8.8.8.8", "2606:4700::1", "::ffff:127.0.0.1", "1.1.1.1"},
	} {
		d := &Dialer{AnyHostPorts: []uint16{ln.port}, Resolver: answering(answer)}
		wantReason(t, dial(t, d, ln.at("db.test")), durward.AddressRefused)
		ln.sawNobody(t)
	}
}

func TestNobodyListens(t *testing.T) {
	ln := listen(t, "127.0.0.1", 0)
	ln.Close()
	d := &Dialer{AnyHostPorts: []uint16{ln.port}, AllowPrivate: loopback, Resolver: answering([]string{"127.0.0.1"})}
	wantReason(t, dial(t, d, ln.at("db.test")), durward.ConnectFailed)
}

func TestNetworksOtherThanTCP(t *testing.T) {
	ln := listen(t, "127.0.0.1", 0)
	d := &Dialer{Allow: mustAllow(t, ln.Addr().String())}
	for _, network := range []string{"udp", "unix", "ip", "", "tcp5"} {
		_, err := d.DialContext(t.Context(), network, ln.Addr().String())
		wantReason(t, err, durward.HostDenied)
	}
	ln.sawNobody(t)
}

// TestCheckPeer: the last look is at the address the system is about to connect to.
func TestCheckPeer(t *testing.T) {
	d := &Dialer{}
	want := netip.MustParseAddrPort("8.8.8.8:443")
	p := permit{Dialer: d, target: Target{"a.test", 443}}
	for _, address := range []string{"8.8.8.8:443", "[::ffff:8.8.8.8]:443"} {
		if err := p.checkPeer(want, address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"8.8.4.4:443", "8.8.8.8:80", "127.0.0.1:443", "", "a.test:443", "[8.8.8.8]:443"} {
		wantReason(t, p.checkPeer(want, address), durward.AddressRefused)
	}
	private := netip.MustParseAddrPort("10.0.0.1:443")
	wantReason(t, p.checkPeer(private, private.String()), durward.AddressRefused)
	p.literal = private.Addr()
	if err := p.checkPeer(private, private.String()); err != nil {
		t.Error(err)
	}
}

type resolverFunc func(ctx context.Context, name Host) ([]netip.Addr, error)

func (f resolverFunc) Lookup(ctx context.Context, name Host) ([]netip.Addr, error) {
	return f(ctx, name)
}

func hanging(ctx context.Context, _ Host) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestLookupHasFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Dialer{AnyHostPorts: []uint16{443}, Resolver: resolverFunc(hanging)}
		start := time.Now()
		wantReason(t, dial(t, d, "a.test:443"), durward.LookupFailed)
		if took := time.Since(start); took != 5*time.Second {
			t.Fatalf("took %v", took)
		}
	})
}

func TestLateAnswerIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := func(context.Context, Host) ([]netip.Addr, error) {
			time.Sleep(6 * time.Second)
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		}
		d := &Dialer{AnyHostPorts: []uint16{443}, Resolver: resolverFunc(late)}
		wantReason(t, dial(t, d, "a.test:443"), durward.LookupFailed)
	})
}

func TestCallerEndsTheLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Dialer{AnyHostPorts: []uint16{443}, Resolver: resolverFunc(hanging)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := d.DialContext(ctx, "tcp", "a.test:443")
		wantReason(t, err, durward.DeadlineExceeded)
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		_, err = d.DialContext(ctx, "tcp", "a.test:443")
		wantReason(t, err, durward.CallCancelled)
	})
}

func TestLookupThatFails(t *testing.T) {
	for name, f := range map[string]resolverFunc{
		"an error":   func(context.Context, Host) ([]netip.Addr, error) { return nil, errors.New("no such host") },
		"no address": func(context.Context, Host) ([]netip.Addr, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := &Dialer{AnyHostPorts: []uint16{443}, Resolver: f}
			wantReason(t, dial(t, d, "a.test:443"), durward.LookupFailed)
		})
	}
}

// TestWhatWasMatchedIsResolved: the resolver gets the canonical form, and none is asked
// about a host that was refused.
func TestWhatWasMatchedIsResolved(t *testing.T) {
	var asked []Host
	note := func(_ context.Context, name Host) ([]netip.Addr, error) {
		asked = append(asked, name)
		return nil, errors.New("enough")
	}
	d := &Dialer{Allow: mustAllow(t, "*.Example.com:443"), Resolver: resolverFunc(note)}
	wantReason(t, dial(t, d, "API.EXAMPLE.com.:443"), durward.LookupFailed)
	wantReason(t, dial(t, d, "example.com:443"), durward.HostDenied)
	wantReason(t, dial(t, d, "a b.example.com:443"), durward.BadHost)
	if len(asked) != 1 || asked[0] != "api.example.com" {
		t.Fatalf("asked for %q", asked)
	}
}

func TestSystemResolver(t *testing.T) {
	addrs, err := systemResolver{}.Lookup(t.Context(), "localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		if !addr.Unmap().IsLoopback() {
			t.Errorf("localhost is %s", addr)
		}
	}
}

func TestParseTarget(t *testing.T) {
	got, err := ParseTarget("[2606:4700:0::1]:443")
	if err != nil || got.String() != "[2606:4700::1]:443" {
		t.Fatal(got, err)
	}
	_, err = ParseTarget(strings.Repeat("a", 1<<20) + ":443")
	wantReason(t, err, durward.BadHost)
}
