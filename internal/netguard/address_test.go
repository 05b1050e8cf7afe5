package netguard

import (
	"net/netip"
	"strings"
	"testing"

	"code.dny.dev/ssrf"
	"github.com/durward/durward"
	"pgregory.net/rapid"
)

func TestJudge(t *testing.T) {
	for addr, why := range map[string]string{
		"8.8.8.8": "", "1.1.1.1": "", "172.15.255.255": "", "172.32.0.0": "", "100.63.255.255": "", "100.128.0.0": "",
		"223.255.255.255": "", "192.0.1.0": "", "198.17.255.255": "", "198.20.0.0": "", "11.0.0.0": "", "9.255.255.255": "",
		"2606:4700::1111": "", "2a00:1450::1": "", "2001:4860::8888": "", "2001:200::1": "",

		"0.0.0.0": "unspecified", "0.255.255.255": "unspecified",
		"10.0.0.0": "private", "10.255.255.255": "private", "172.16.0.0": "private", "172.31.255.255": "private",
		"192.168.0.0": "private", "192.168.255.255": "private",
		"100.64.0.0": "shared", "100.127.255.255": "shared",
		"127.0.0.1": "loopback", "127.255.255.255": "loopback",
		"169.254.169.254": "link-local", "169.254.0.0": "link-local",
		"192.0.0.1": "reserved", "192.0.0.192": "reserved", "192.88.99.1": "reserved", "240.0.0.1": "reserved", "255.255.255.255": "reserved",
		"192.0.2.1": "documentation", "198.51.100.1": "documentation", "203.0.113.1": "documentation",
		"198.18.0.0": "benchmarking", "198.19.255.255": "benchmarking",
		"224.0.0.1": "multicast", "239.255.255.255": "multicast",

		"::": "unspecified", "::1": "loopback",
		"fc00::1": "unique-local", "fd00:ec2::254": "unique-local",
		"fe80::1": "link-local", "febf::1": "link-local", "fec0::1": "site-local", "ff02::1": "multicast",
		"2001:db8::1": "documentation", "3fff::1": "documentation", "100::1": "reserved", "2001:2::1": "benchmarking",
		"2001:10::1": "reserved", "4000::1": "reserved", "5f00::1": "reserved", "::ffff:0:8.8.8.8": "reserved", "64:ff9a::8.8.8.8": "reserved",

		// IPv4-mapped, IPv4-compatible, NAT64, 6to4
		"::ffff:8.8.8.8": "", "::8.8.8.8": "", "64:ff9b::8.8.8.8": "", "2002:808:808::1": "",
		"::ffff:127.0.0.1": "loopback", "::ffff:169.254.169.254": "link-local", "::ffff:0.0.0.0": "unspecified",
		"::127.0.0.1": "loopback", "::10.0.0.1": "private", "::2": "unspecified",
		"64:ff9b::127.0.0.1": "loopback", "64:ff9b::10.0.0.1": "private", "64:ff9b::a9fe:a9fe": "link-local",
		"2002:7f00:1::": "loopback", "2002:a00:1::1": "private", "2002:a9fe:a9fe::": "link-local", "2002::1": "unspecified",
		// the four layouts of a local NAT64
		"64:ff9b:1::8.8.8.8": "", "64:ff9b:1:808:8:800::": "",
		"64:ff9b:1::10.0.0.1": "private", "64:ff9b:1::127.0.0.1": "loopback", "64:ff9b:1:ffff::192.168.0.1": "reserved",
		"64:ff9b:1:a00:0:100::": "private", "64:ff9b:1:7f00:0:100:dead:beef": "loopback",
		"64:ff9b:1:0a:0:1::": "private", "64:ff9b:1:0:a:0:100:0": "private", "64:ff9b:1::": "unspecified",
		// Teredo: server, then client with its bits inverted
		"2001:0:808:808::f7f7:f7f7": "", "2001:0:808:808::80ff:fffe": "loopback", "2001:0:808:808::f5ff:fffe": "private",
		"2001:0:a00:1::f7f7:f7f7": "private", "2001:0:808:808::5601:5601": "link-local",
		// ISATAP below any prefix
		"2606:4700::5efe:8.8.8.8": "", "2606:4700::200:5efe:8.8.8.8": "",
		"2606:4700::5efe:10.0.0.1": "private", "2606:4700::200:5efe:127.0.0.1": "loopback", "2606:4700::300:5efe:127.0.0.1": "loopback",
		"fe80::5efe:8.8.8.8": "link-local", "2606:4700::5eff:10.0.0.1": "",
		"2002:808:808::5efe:10.0.0.1": "private",
	} {
		err := Judge(netip.MustParseAddr(addr), nil)
		switch {
		case why == "" && err != nil:
			t.Errorf("%s: %v", addr, err)
		case why != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+why)):
			t.Errorf("%s: %v, want %s", addr, err, why)
		case err != nil && durward.ReasonOf(err) != durward.AddressRefused:
			t.Errorf("%s: %s", addr, durward.ReasonOf(err))
		}
	}
}

func TestJudgeRefusesWhatIsNoAddress(t *testing.T) {
	for _, addr := range []netip.Addr{
		{},
		netip.MustParseAddr("2606:4700::1").WithZone("eth0"),
		netip.MustParseAddr("fe80::1%1"),
		netip.MustParseAddr("::ffff:8.8.8.8").WithZone("eth0"),
	} {
		if Judge(addr, []netip.Prefix{netip.MustParsePrefix("::/0"), netip.MustParsePrefix("0.0.0.0/0")}) == nil {
			t.Errorf("%s passed", addr)
		}
	}
}

func TestAllowPrivate(t *testing.T) {
	tests := []struct {
		addr, allow string
		want        bool
	}{
		{"10.1.2.3", "10.1.0.0/16", true},
		{"10.2.2.3", "10.1.0.0/16", false},
		{"::ffff:10.1.2.3", "10.1.0.0/16", true},
		{"64:ff9b::10.1.2.3", "10.1.0.0/16", true},
		{"64:ff9b::10.1.2.3", "64:ff9b::/96", false},
		{"64:ff9b::10.2.2.3", "10.1.0.0/16", false},
		{"fd00::1", "fd00::/8", true},
		{"fd00::5efe:10.0.0.1", "fd00::/8", false},
		{"fe80::5efe:10.0.0.1", "10.0.0.0/8", false},
		{"::1", "::1/128", true},
		{"127.0.0.1", "::ffff:127.0.0.1/128", false},
		{"127.0.0.1", "::/0", false},
		{"8.8.8.8", "10.0.0.0/8", true},
	}
	for _, tt := range tests {
		err := Judge(netip.MustParseAddr(tt.addr), []netip.Prefix{netip.MustParsePrefix(tt.allow)})
		if (err == nil) != tt.want {
			t.Errorf("%s with %s: %v", tt.addr, tt.allow, err)
		}
	}
}

// TestJudgeAgreesWithSSRF asks a list kept by others. It knows no carriers, so it is
// asked about each form an address has.
func TestJudgeAgreesWithSSRF(t *testing.T) {
	guard := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())
	addr4 := rapid.Custom(func(t *rapid.T) netip.Addr {
		return netip.AddrFrom4([4]byte(nearBlock(t, 4)))
	})
	addr6 := rapid.Custom(func(t *rapid.T) netip.Addr {
		return netip.AddrFrom16([16]byte(nearBlock(t, 16)))
	})
	rapid.Check(t, func(t *rapid.T) {
		addr := rapid.OneOf(addr4, addr6).Draw(t, "addr").Unmap()
		got := Judge(addr, nil) == nil
		if addr.Is4() || len(embedded(addr)) == 0 {
			if want := guard.SafeAddr(addr) == nil; got != want {
				t.Fatalf("%s: %v, the list says %v", addr, got, want)
			}
			return
		}
		for _, inner := range embedded(addr) {
			if got && guard.SafeAddr(inner) != nil {
				t.Fatalf("%s passed and carries %s", addr, inner)
			}
		}
	})
}

// nearBlock draws the bytes of an address, most of them in or just beside a block of
// the table.
func nearBlock(t *rapid.T, size int) []byte {
	b := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "bytes")
	block := rapid.SampledFrom(blocks()).Draw(t, "block").prefix
	if prefix := block.Addr().AsSlice(); len(prefix) == size && rapid.Bool().Draw(t, "near") {
		n := rapid.IntRange(0, (block.Bits()+7)/8).Draw(t, "length")
		copy(b, prefix[:n])
	}
	return b
}

// neverReached are blocks that no address may be in that passes, in any form. They are
// written down once more here so that the table is not asked about itself.
var neverReached = []string{
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/128", "::1/128", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "2001:db8::/32", "100::/64",
}

// hidden gives what an IPv6 address may carry, by where the bytes stand.
func hidden(addr netip.Addr) []netip.Addr {
	b := addr.As16()
	at := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	in := func(prefix string) bool { return netip.MustParsePrefix(prefix).Contains(addr) }
	var found []netip.Addr
	if in("::/96") || in("64:ff9b::/96") || b[8] < 4 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		found = append(found, at(12, 13, 14, 15))
	}
	if in("2002::/16") {
		found = append(found, at(2, 3, 4, 5))
	}
	if in("2001::/32") {
		client := netip.AddrFrom4([4]byte{255 - b[12], 255 - b[13], 255 - b[14], 255 - b[15]})
		found = append(found, at(4, 5, 6, 7), client)
	}
	if in("64:ff9b:1::/48") {
		for _, form := range []netip.Addr{at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), at(12, 13, 14, 15)} {
			if !netip.MustParsePrefix("0.0.0.0/8").Contains(form) { // not this layout
				found = append(found, form)
			}
		}
	}
	return found
}

// FuzzJudge asks of every address that passes that no form of it is in a block that is
// never to be reached.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{
		"8.8.8.8", "10.0.0.1", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1:7f00:0:100::", "64:ff9b:1::8.8.8.8",
		"2002:7f00:1::", "2001:0:808:808::80ff:fffe", "2606:4700::5efe:10.0.0.1", "2606:4700::1", "fe80::1", "2001:db8::1",
	} {
		f.Add(netip.MustParseAddr(s).AsSlice())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok || Judge(addr, nil) != nil {
			return
		}
		forms := []netip.Addr{addr.Unmap()}
		if forms[0].Is6() {
			forms = append(forms, hidden(addr)...)
		}
		for _, form := range forms {
			for _, prefix := range neverReached {
				if netip.MustParsePrefix(prefix).Contains(form) {
					t.Fatalf("%s passed; %s is in %s", addr, form, prefix)
				}
			}
		}
	})
}

// TestCarriersChangeNothing writes IPv4 addresses into every carrier.
func TestCarriersChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := nearBlock(t, 4)
		v4 := netip.AddrFrom4([4]byte(b))
		want := Judge(v4, nil) == nil
		for name, carried := range map[string][]byte{
			"mapped":         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, b[0], b[1], b[2], b[3]},
			"compatible":     {12: b[0], 13: b[1], 14: b[2], 15: b[3]},
			"NAT64":          {0, 0x64, 0xff, 0x9b, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
			"6to4":           {0x20, 0x02, b[0], b[1], b[2], b[3], 15: 1},
			"Teredo":         {0x20, 0x01, 0, 0, 8, 8, 8, 8, 0, 0, 0, 0, ^b[0], ^b[1], ^b[2], ^b[3]},
			"ISATAP":         {0x26, 0x06, 8: 0, 9: 0, 10: 0x5e, 11: 0xfe, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
			"ISATAP, unique": {0x26, 0x06, 8: 2, 9: 0, 10: 0x5e, 11: 0xfe, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
		} {
			addr := netip.AddrFrom16([16]byte(carried))
			if got := Judge(addr, nil) == nil; got != want {
				t.Fatalf("%s (%s of %s): %v, want %v", addr, name, v4, got, want)
			}
		}
		for name, carried := range map[string][]byte{
			"local NAT64 48": {0, 0x64, 0xff, 0x9b, 0, 1, b[0], b[1], 0, b[2], b[3], 15: 0},
			"local NAT64 56": {0, 0x64, 0xff, 0x9b, 0, 1, 0, b[0], 0, b[1], b[2], b[3], 15: 0},
			"local NAT64 64": {0, 0x64, 0xff, 0x9b, 0, 1, 0, 0, 0, b[0], b[1], b[2], b[3], 15: 0},
			"local NAT64 96": {0, 0x64, 0xff, 0x9b, 0, 1, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
		} {
			addr := netip.AddrFrom16([16]byte(carried))
			if !want && b[0] != 0 && Judge(addr, nil) == nil {
				t.Fatalf("%s (%s of %s) passed", addr, name, v4)
			}
		}
	})
}
