package fetch

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/google/go-cmp/cmp"
)

var quiet = log.New(io.Discard, "", 0)

// Every host of these is refused, under the rules an operator gets, before anything is
// asked or connected.
func TestRefusedHosts(t *testing.T) {
	hosts := map[durward.Reason][]string{
		durward.HostDenied: {
			"localhost", "LOCALHOST", "LocalHost.", "a.localhost", "localhost.localdomain", "metadata.google.internal", "metadata", "instance-data",
			"x.internal", "x.y.internal.", "printer.local", "ｌocalhost", "localhost..", "a..b", "exa%ef%bc%8emple", "exa<mple.com",
			"2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1", "127.1", "127.0.1", "127.000.000.001", "0", "1.2.3.4.5", "256.1.1.1",
			"0x5DB8D822", "93.184.55330", "127。1", "１２７.０.０.１", "①②⑦.0.0.1", "[fe80::1%25eth0]", "[::1%25lo]",
		},
		durward.AddressRefused: {
			"127.0.0.1", "127.0.0.1.", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "169.254.169.254", "172.16.0.1",
			"172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
			"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
			"[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[fc00::1]", "[fdff::1]", "[fe80::1]", "[febf::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[100::1]",
			"[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[::10.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::7f00:1]",
			"[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:5db8:d822:0:0:80ff:fffe]", "[2001:0:7f00:1::]",
		},
	}
	e := New(Options{Resolver: unasked{t}})
	for reason, list := range hosts {
		for _, host := range list {
			for _, argv := range [][]string{{"curl", "http://" + host + "/"}, {"curl", "https://" + host}} {
				p, err := e.Prepare(t.Context(), durward.Tool{}, durward.Call{Argv: argv}, durward.Grant{})
				if p != nil || durward.ReasonOf(err) != reason || durward.KindOf(err) != durward.Denied {
					t.Errorf("%s: %v, want %s", argv[1], err, reason)
				}
			}
		}
	}
}

// An unasked resolver must not be asked.
type unasked struct{ testing.TB }

func (u unasked) Lookup(_ context.Context, name netguard.Host) ([]netip.Addr, error) {
	u.Errorf("%s is looked up", name)
	return nil, nil
}

func TestPorts(t *testing.T) {
	for _, tt := range []struct {
		url string
		ok  bool
	}{
		{"http://example.com/", true},
		{"https://example.com/", true},
		{"http://example.com:443/", true},
		{"http://example.com:8080/", true},
		{"http://example.com:8081/", false},
		{"http://example.com:22/", false},
		{"https://example.com:6379/", false},
	} {
		e := New(Options{Ports: []uint16{8080}, Resolver: unasked{t}})
		p, err := e.Prepare(t.Context(), durward.Tool{}, durward.Call{Argv: []string{"curl", tt.url}}, durward.Grant{})
		if want := map[bool]durward.Reason{false: durward.HostDenied}[tt.ok]; durward.ReasonOf(err) != want || (p != nil) != tt.ok {
			t.Errorf("%s: %v", tt.url, err)
		}
	}
}

func TestLookups(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		name    string
		answers [][]string
		reason  durward.Reason
	}{
		{"a good address", [][]string{{"127.0.0.1"}}, ""},
		{"a refused one", [][]string{{"127.0.0.2"}}, durward.AddressRefused},
		{"a good one and a refused one", [][]string{{"127.0.0.1", "10.0.0.1"}}, durward.AddressRefused},
		{"a refused one and a good one", [][]string{{"169.254.169.254", "127.0.0.1"}}, durward.AddressRefused},
		{"two families, one refused", [][]string{{"127.0.0.1", "::1"}}, durward.AddressRefused},
		{"a good one, mapped", [][]string{{"::ffff:127.0.0.1"}}, ""},
		{"a refused one in disguise", [][]string{{"64:ff9b::7f00:2"}}, durward.AddressRefused},
		{"none", [][]string{{}}, durward.LookupFailed},
	} {
		before := len(s.requests())
		names := answering(tt.answers...)
		s.Engine.Resolver = names
		_, err := s.curl(t.Context(), durward.Grant{}, "$/")
		if durward.ReasonOf(err) != tt.reason {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.reason)
		}
		if came := len(s.requests()) - before; (came == 1) != (tt.reason == "") || names.asked.Load() != 1 {
			t.Errorf("%s: %d requests came, and %d lookups", tt.name, came, names.asked.Load())
		}
	}
	s.Engine.Resolver = failing{}
	if _, err := s.curl(t.Context(), durward.Grant{}, "$/"); durward.ReasonOf(err) != durward.LookupFailed || durward.KindOf(err) != durward.Upstream {
		t.Errorf("a lookup that fails: %v", err)
	}
}

type failing struct{}

func (failing) Lookup(context.Context, netguard.Host) ([]netip.Addr, error) {
	return nil, errors.New("no such host")
}

func TestNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	at := netip.MustParseAddrPort(ln.Addr().String())
	must(t, ln.Close())
	e := New(Options{Ports: []uint16{at.Port()}, AllowPrivate: loopback})
	_, err = run(t.Context(), e, durward.Grant{}, "curl", "http://"+at.String()+"/")
	if durward.ReasonOf(err) != durward.ConnectFailed || durward.KindOf(err) != durward.Upstream {
		t.Error(err)
	}
}

// A grant's allowlist narrows what the engine may reach, and widens nothing.
func TestAllowlists(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	here := "127.0.0.1:" + s.port
	for _, tt := range []struct {
		name   string
		mode   durward.NetworkMode
		allow  []string
		ranges []string
		url    string
		reason durward.Reason
	}{
		{"no mode", "", nil, nil, "$/", ""},
		{"none is about commands", durward.NetNone, nil, nil, "$/", ""},
		{"full", durward.NetFull, nil, nil, "$/", ""},
		{"the host is listed, its address public for the engine alone", durward.NetAllowlist, []string{"site.test:" + s.port}, nil, "$/", durward.AddressRefused},
		{"the host is listed, its range too", durward.NetAllowlist, []string{"site.test:" + s.port}, []string{"127.0.0.0/8"}, "$/", ""},
		{"the host is listed, another range", durward.NetAllowlist, []string{"site.test:" + s.port}, []string{"10.0.0.0/8"}, "$/", durward.AddressRefused},
		{"the address is listed", durward.NetAllowlist, []string{here}, nil, "http://" + here, ""},
		{"another host is listed", durward.NetAllowlist, []string{"other.test:" + s.port}, []string{"127.0.0.0/8"}, "$/", durward.HostDenied},
		{"another port is listed", durward.NetAllowlist, []string{"site.test:80"}, []string{"127.0.0.0/8"}, "$/", durward.HostDenied},
		{"nothing is listed", durward.NetAllowlist, nil, nil, "$/", durward.HostDenied},
		{"what the engine may not reach is listed", durward.NetAllowlist, []string{"10.0.0.1:80"}, []string{"10.0.0.0/8"}, "http://10.0.0.1/", durward.AddressRefused},
		{"a port the engine may not reach is listed", durward.NetAllowlist, []string{"site.test:22"}, nil, "http://site.test:22/", durward.HostDenied},
		{"a local name is listed", durward.NetAllowlist, []string{"localhost:80"}, nil, "http://localhost/", durward.HostDenied},
		{"a list that cannot be read", durward.NetAllowlist, []string{"x"}, nil, "$/", durward.BadHost},
		{"a range that cannot be read", durward.NetAllowlist, []string{"site.test:" + s.port}, []string{"x"}, "$/", durward.PolicyInvalid},
	} {
		before := len(s.requests())
		_, err := s.curl(t.Context(), durward.Grant{Network: durward.Network{Mode: tt.mode, Allow: tt.allow, AllowPrivate: tt.ranges}}, tt.url)
		if came := len(s.requests()) - before; durward.ReasonOf(err) != tt.reason || (came == 1) != (tt.reason == "") {
			t.Errorf("%s: %v with %d requests, want %s", tt.name, err, came, tt.reason)
		}
		if e := durward.AsError(err); e != nil && strings.Contains(e.Hint, "site.test") {
			t.Errorf("%s: the hint names the host: %s", tt.name, e.Hint)
		}
	}
}

func TestCommonRanges(t *testing.T) {
	list := func(texts ...string) (list []netip.Prefix) {
		for _, text := range texts {
			list = append(list, netip.MustParsePrefix(text))
		}
		return list
	}
	for _, tt := range []struct{ a, b, want []netip.Prefix }{
		{list("10.0.0.0/8"), list("10.1.0.0/16"), list("10.1.0.0/16")},
		{list("10.1.0.0/16"), list("10.0.0.0/8", "127.0.0.0/8"), list("10.1.0.0/16")},
		{list("10.0.0.0/8"), list("11.0.0.0/8"), nil},
		{list("10.0.0.0/8"), nil, nil},
		{list("fc00::/7"), list("::/0", "10.0.0.0/8"), list("fc00::/7")},
	} {
		if diff := cmp.Diff(tt.want, common(tt.a, tt.b), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Error(diff)
		}
	}
}
