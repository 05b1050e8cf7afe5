package netguard

import (
	"net/netip"
	"testing"

	"github.com/durward/durward"
)

// Only here do all of 127.0.0.0/8 reach this machine without being set up.

// TestRebinding: a name that turns private after it was judged is asked for once per
// connection, and so each connection goes to what was judged for it.
func TestRebinding(t *testing.T) {
	good, bad := listenPair(t)
	names := answering([]string{"127.0.0.1"}, []string{"127.0.0.2"})
	d := &Dialer{AnyHostPorts: []uint16{good.port}, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: names}
	if err := dial(t, d, good.at("db.test")); err != nil {
		t.Fatal(err)
	}
	good.next(t)
	if n := names.asked.Load(); n != 1 {
		t.Fatalf("the name was asked for %d times", n)
	}
	bad.sawNobody(t)
	wantReason(t, dial(t, d, good.at("db.test")), durward.AddressRefused)
	bad.sawNobody(t)
	good.sawNobody(t)
}

// listenPair listens on one port of 127.0.0.1 and 127.0.0.2.
func listenPair(t *testing.T) (a, b listener) {
	a = listen(t, "127.0.0.1", 0)
	return a, listen(t, "127.0.0.2", a.port)
}

func TestNextAddressIsTried(t *testing.T) {
	ln := listen(t, "127.0.0.1", 0)
	d := &Dialer{AnyHostPorts: []uint16{ln.port}, AllowPrivate: loopback, Resolver: answering([]string{"127.0.0.3", "127.0.0.1"})}
	if err := dial(t, d, ln.at("db.test")); err != nil {
		t.Fatal(err)
	}
	ln.next(t)
}
