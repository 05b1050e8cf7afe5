package netguard

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/durward/durward"
)

func TestJudgeService(t *testing.T) {
	for addr, why := range map[string]string{
		"127.0.0.1": "", "::1": "", "10.0.0.1": "", "172.17.0.2": "", "192.168.1.1": "", "100.64.0.1": "", "fd00::1": "", "fd00:ec2::253": "",
		"8.8.8.8": "", "2606:4700::1111": "", "198.18.0.1": "", "240.0.0.1": "", "::ffff:10.0.0.1": "", "255.255.255.254": "",

		"169.254.0.0": "link-local", "169.254.169.254": "link-local", "169.254.255.255": "link-local", "fe80::1": "link-local", "febf:ffff::1": "link-local",
		"fd00:ec2::254": "metadata", "0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "::": "unspecified",
		"224.0.0.1": "multicast", "ff02::1": "multicast", "255.255.255.255": "broadcast",
		"::ffff:169.254.169.254": "link-local", "::169.254.169.254": "link-local", "64:ff9b::a9fe:a9fe": "link-local", "2002:a9fe:a9fe::1": "link-local",
		"64:ff9b:1::a9fe:a9fe": "link-local", "2606:4700::5efe:169.254.169.254": "link-local", "::ffff:0.0.0.0": "unspecified", "::ffff:255.255.255.255": "broadcast",
	} {
		err := JudgeService(netip.MustParseAddr(addr))
		if why == "" && err != nil || why != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+why)) {
			t.Errorf("%s: %v; want %q", addr, err, why)
		}
	}
	for _, addr := range []netip.Addr{{}, netip.MustParseAddr("fd00::1%eth0")} {
		if JudgeService(addr) == nil {
			t.Errorf("%v passes", addr)
		}
	}
}

// A name whose addresses are not all let pass leads nowhere, and a name leads to what was
// judged and nowhere else.
func TestDialService(t *testing.T) {
	ln := listen(t, "127.0.0.1", 0)
	target := Target{"worker", ln.port}
	for _, answer := range [][]string{{"169.254.169.254"}, {"127.0.0.1", "169.254.169.254"}, {"::ffff:169.254.169.254", "127.0.0.1"}, {"0.0.0.0"}} {
		if conn, err := DialService(t.Context(), target, answering(answer)); conn != nil || durward.ReasonOf(err) != durward.AddressRefused || durward.AsError(err).Retry {
			t.Errorf("%v: %v", answer, err)
		}
	}
	for _, host := range []Host{"169.254.169.254", "fe80::1", "0.0.0.0", "::"} {
		if _, err := DialService(t.Context(), Target{host, ln.port}, answering(nil)); durward.ReasonOf(err) != durward.AddressRefused {
			t.Errorf("%s: %v", host, err)
		}
	}
	ln.sawNobody(t)
	changing := answering([]string{"127.0.0.1"}, []string{"169.254.169.254"})
	conn, err := DialService(t.Context(), target, changing)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if n := changing.asked.Load(); n != 1 {
		t.Errorf("the name was looked up %d times", n)
	}
	conn, err = DialService(t.Context(), Target{"localhost", ln.port}, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := DialService(gone, target, answering([]string{"127.0.0.1"})); durward.KindOf(err) != durward.Cancelled {
		t.Error(err)
	}
}
