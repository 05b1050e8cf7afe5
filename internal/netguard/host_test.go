package netguard

import (
	"strings"
	"testing"

	"github.com/durward/durward"
)

func TestCanonicalHost(t *testing.T) {
	label := strings.Repeat("a", 63)
	longest := strings.Join([]string{label, label, label, label[:61]}, ".")
	for in, want := range map[string]Host{
		"example.com":                "example.com",
		"EXAMPLE.Com":                "example.com",
		"example.com.":               "example.com",
		"a":                          "a",
		"_dmarc.example.com":         "_dmarc.example.com",
		"r3---sn-abc.example.com":    "r3---sn-abc.example.com",
		"-a-.example":                "-a-.example",
		"1.example.com":              "1.example.com",
		"0x7f.example.com":           "0x7f.example.com",
		"a1":                         "a1",
		"1a":                         "1a",
		"0xg":                        "0xg",
		"bücher.example":             "xn--bcher-kva.example",
		"BÜCHER.example.":            "xn--bcher-kva.example",
		"bu\u0308cher.example":       "xn--bcher-kva.example",
		"XN--BCHER-KVA.example":      "xn--bcher-kva.example",
		"straße.example":             "xn--strae-oqa.example",
		"例え.テスト":                     "xn--r8jz45g.xn--zckzah",
		"1.2.3.4":                    "1.2.3.4",
		"127.0.0.1.":                 "127.0.0.1",
		"255.255.255.255":            "255.255.255.255",
		"::1":                        "::1",
		"0:0:0:0:0:0:0:1":            "::1",
		"2606:4700::ABCD":            "2606:4700::abcd",
		"::ffff:127.0.0.1":           "::ffff:127.0.0.1",
		longest:                      Host(longest),
		longest + ".":                Host(longest),
		strings.ToUpper(label) + ".": Host(label),
	} {
		got, err := CanonicalHost(in)
		if err != nil || got != want {
			t.Errorf("%q gave %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestHostsWithoutCanonicalForm(t *testing.T) {
	label := strings.Repeat("a", 63)
	for _, in := range []string{
		"", ".", "..", ".a", "a..b", "a..", "..a",
		"127.1", "127.0.1", "2130706433", "0x7f.1", "0x7f000001", "0X7F.0.0.1", "017700000001", "0177.0.0.1",
		"127.0.0.01", "127.0.0.256", "1.2.3.4.5", "1.2.3", "0", "00", "0x", "a.0x", "example.0x7f", "example.1",
		"１２７.0.0.1", "127.0.0.１", "１.example", "①.example", "²", "ｅｘａｍｐｌｅ.com", "\u212a.example",
		"exa\u00admple.com", "a\u200bb.com", "example。com", "example．com", "example.com。", "ﬁ.example",
		"a\x00b", "\x00", "a\nb", "a\tb", "a b", " a", "a ", "a\x7fb", "\xff", "a\xffb", "a\u202eb",
		"a%b", "a%2eb", "a@b", "u@a", "a/b", "a\\b", "a?b", "a#b", "a,b", "a;b", "a*b", "*.a", "*", "a'b", "[a]",
		"[::1]", "[::1", "::1]", "::1%eth0", "fe80::1%25eth0", "::1%", ":::", ":", "a:b", "1.2.3.4:80", "::127.1", "::g",
		"1:2:3:4:5:6:7:8:9", "::ffff:127.0.0.01",
		"xn--", "xn--a", "xn--bcher-kv", "xn--0", "xn--\u00fc", "a.xn--ascii-",
		label + "a", strings.Join([]string{label, label, label, label[:62]}, "."), strings.Repeat("a.", 10_000),
		strings.Repeat("ü", 300),
	} {
		if got, err := CanonicalHost(in); err == nil {
			t.Errorf("%q gave %q", in, got)
		} else if durward.ReasonOf(err) != durward.BadHost || len(err.Error()) > 4*maxHostBytes {
			t.Errorf("%q: %s, %d bytes", in, durward.ReasonOf(err), len(err.Error()))
		}
	}
}

func TestIsLocalName(t *testing.T) {
	for name, want := range map[Host]bool{
		"localhost": true, "a.localhost": true, "localhost.localdomain": true, "metadata": true,
		"metadata.google.internal": true, "instance-data": true, "a.internal": true, "printer.local": true, "a.b.local": true,
		"example.com": false, "notlocalhost": false, "localhost.example.com": false, "internal": false, "local": false,
		"mylocal": false, "metadata.example": false, "10.0.0.1": false,
	} {
		if got := name.IsLocalName(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzCanonicalHost(f *testing.F) {
	for _, s := range []string{
		"example.com", "BÜCHER.example.", "xn--bcher-kva", "127.0.0.1", "0x7f.1", "017700000001", "１２７.0.0.1", "::1",
		"::ffff:10.0.0.1", "fe80::1%eth0", "a\x00b", "a..b", "example。com", "\xff", "xn--0", "a.1", "[::1]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := CanonicalHost(s)
		if err != nil {
			return
		}
		if again, err := CanonicalHost(string(h)); err != nil || again != h {
			t.Fatalf("%q gave %q, and that gave %q, %v", s, h, again, err)
		}
		if dotted, err := CanonicalHost(string(h) + "."); err == nil && dotted != h {
			t.Fatalf("%q with a dot gave %q", h, dotted)
		}
		if len(h) == 0 || len(h) > 253 || strings.Trim(string(h), "abcdefghijklmnopqrstuvwxyz0123456789_-.:") != "" {
			t.Fatalf("%q gave %q", s, h)
		}
		if addr, ok := h.Addr(); ok != (strings.Contains(string(h), ":") || endsInNumber(string(h))) || ok && addr.String() != string(h) {
			t.Fatalf("%q gave %q, an address: %v", s, h, ok)
		}
	})
}
