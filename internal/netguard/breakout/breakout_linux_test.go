package breakout

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func targetOf(t *testing.T, url string) netguard.Target {
	t.Helper()
	_, address, _ := strings.Cut(url, "://")
	to, err := netguard.ParseTarget(address)
	must(t, err)
	return to
}

func addressOf(t *testing.T, l net.Addr) netip.AddrPort {
	t.Helper()
	at, err := netip.ParseAddrPort(l.String())
	must(t, err)
	return at
}

// closed is an address at which nobody is, and nobody comes: whoever asks this machine for any
// port gets one of 127.0.0.1.
func closed(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.86.83.71:0")
	must(t, err)
	l.Close()
	return addressOf(t, l.Addr())
}

// shut are options by which everything is closed.
func shut(t *testing.T) Options {
	at := closed(t)
	return Options{
		Host: netguard.Target{Host: "outside.invalid", Port: at.Port()}, Addresses: []netip.AddrPort{at},
		Inside: at, IPv6: netip.AddrPortFrom(netip.IPv6Loopback(), at.Port()), DNS: at, UDP: at, Time: 10 * time.Second,
	}
}

// newProxy lets nobody reach anything but what is allowed.
func newProxy(t *testing.T, allowed ...string) string {
	t.Helper()
	allow, err := netguard.ParseAllow(allowed)
	must(t, err)
	p := egress.New(egress.Options{Dialer: &netguard.Dialer{Allow: allow}, RequireSNI: true})
	t.Cleanup(func() { p.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p.Serve(l)
	return l.Addr().String()
}

func find(t *testing.T, attempts []Attempt, name string, route Route) Attempt {
	t.Helper()
	for _, a := range attempts {
		if a.Name == name && a.Route == route {
			return a
		}
	}
	t.Fatalf("nobody tried %s, %s", name, route)
	return Attempt{}
}

func TestNetworkWithoutAWayOut(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	to := targetOf(t, server.URL)
	o := shut(t)
	o.Proxy = newProxy(t, to.String())
	o.Allowed = []netguard.Target{to}
	for _, a := range Try(t.Context(), o) {
		if !a.Holds() {
			t.Errorf("%+v", a)
		}
	}
}

// Whatever answers is an open way, each for itself.
func TestOpenWays(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	open := addressOf(t, server.Listener.Addr())
	echo, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	var echoing sync.WaitGroup
	echoing.Go(func() {
		words := make([]byte, 1<<10)
		for {
			n, from, err := echo.ReadFrom(words)
			if err != nil {
				return
			}
			_, _ = echo.WriteTo(words[:n], from)
		}
	})
	t.Cleanup(func() { echo.Close(); echoing.Wait() })
	speaker, err := net.Listen("tcp", "127.0.0.1:0") // says something at once, as SSH does
	must(t, err)
	var speaking sync.WaitGroup
	speaking.Go(func() {
		for {
			conn, err := speaker.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "SSH-2.0-test\r\n")
			conn.Close()
		}
	})
	t.Cleanup(func() { speaker.Close(); speaking.Wait() })
	local := func(l net.Listener) netguard.Target {
		return netguard.Target{Host: "localhost", Port: addressOf(t, l.Addr()).Port()}
	}
	for _, c := range []struct {
		open   string // names and routes
		change func(*Options)
	}{
		{"another host (direct), a name outside (resolver)", func(o *Options) { o.Host = local(server.Listener) }},
		{"another host (direct), a name outside (resolver)", func(o *Options) { o.Host = local(speaker) }},
		{"another host (direct), another host (proxy)", func(o *Options) {
			o.Host, o.Proxy = targetOf(t, server.URL), newProxy(t, server.Listener.Addr().String())
		}},
		{"a bare address (direct)", func(o *Options) { o.Addresses = append(o.Addresses, open) }},
		{"an inside address (direct)", func(o *Options) { o.Inside = open }},
		{"direct DNS by TCP (direct)", func(o *Options) { o.DNS = addressOf(t, speaker.Addr()) }},
		{"direct DNS by UDP (direct)", func(o *Options) { o.DNS = addressOf(t, echo.LocalAddr()) }},
		{"UDP (direct)", func(o *Options) { o.UDP = addressOf(t, echo.LocalAddr()) }},
	} {
		o := shut(t)
		c.change(&o)
		var open []string
		for _, a := range Try(t.Context(), o) {
			if !a.Holds() {
				open = append(open, a.Name+" ("+string(a.Route)+")")
			}
		}
		if got := strings.Join(open, ", "); got != c.open {
			t.Errorf("%q is reported as open, want %q", got, c.open)
		}
	}
}

// An allowed target that is not there is told of as well.
func TestAllowedTargetThatIsNotReached(t *testing.T) {
	o := shut(t)
	o.Proxy = newProxy(t)
	o.Allowed = []netguard.Target{targetAt(closed(t))}
	attempts := Try(t.Context(), o)
	for _, route := range []Route{Direct, ByProxy} {
		if a := find(t, attempts, "allowed", route); a.Holds() || a.Reached {
			t.Errorf("%+v", a)
		}
	}
	if a := find(t, attempts, "another port", ByProxy); !a.Holds() || !strings.Contains(a.Detail, "403") {
		t.Errorf("%+v", a)
	}
}

func TestRedirectInside(t *testing.T) {
	inside := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(inside.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, inside.URL, http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	first, second := server.Listener.Addr().String(), inside.Listener.Addr().String()
	for _, c := range []struct {
		path    string
		allowed []string
		holds   bool
	}{
		{"/away", []string{first}, true},
		{"/away", []string{first, second}, false},
		{"/here", []string{first}, false}, // which leads nowhere, so nothing was tried
		{"/away", nil, false},
	} {
		o := shut(t)
		o.Proxy = newProxy(t, c.allowed...)
		at, err := url.Parse(server.URL + c.path)
		must(t, err)
		o.Redirect = at
		if a := find(t, Try(t.Context(), o), "a redirect inside", ByProxy); a.Holds() != c.holds {
			t.Errorf("%s with %v allowed: %+v", c.path, c.allowed, a)
		}
	}
}
