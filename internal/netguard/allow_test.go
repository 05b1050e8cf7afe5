package netguard

import (
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/google/go-cmp/cmp"
)

func mustAllow(t testing.TB, entries ...string) Allowlist {
	t.Helper()
	list, err := ParseAllow(entries)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestParseAllow(t *testing.T) {
	list := mustAllow(t, "API.example.com.:443", "*.Example.org:8443", "10.1.2.3:5432", "[0::1]:80", "*.com:1", "bücher.example:65535")
	want := []string{"api.example.com:443", "*.example.org:8443", "10.1.2.3:5432", "[::1]:80", "*.com:1", "xn--bcher-kva.example:65535"}
	if diff := cmp.Diff(want, list.Entries()); diff != "" {
		t.Fatal(diff)
	}
}

func TestEntriesThatAreRefused(t *testing.T) {
	for _, entry := range []string{
		"", ":", ":443", "example.com", "example.com:", "example.com:0", "example.com:65536", "example.com:443 ", "example.com:+443",
		"example.com:0443", "example.com:https", "example.com:-1", "example.com:4_3", "https://example.com:443", "example.com:443/x",
		"*:443", "*.:443", "*example.com:443", "*.*.example.com:443", "a.*.example.com:443", "**.example.com:443", "example.*:443",
		"*.10.1.2.3:80", "*.3.4:80", "*.[::1]:80", "*.::1:80", "::1:80", "[::1]", "[::1]80", "[::1:80", "::1]:80", "[example.com]:80", "[10.1.2.3]:80",
		"[fe80::1%eth0]:80", "[::ffff:10.0.0.1]:80", "0.0.0.0:80", "[::]:80", "224.0.0.1:80", "[ff02::1]:80", "10.1.2.3/8:80", "127.1:80",
		"user@example.com:443", "a b:443", "a\x00:443",
	} {
		list, err := ParseAllow([]string{"good.example:1", entry})
		if err == nil {
			t.Errorf("%q gave %v", entry, list.Entries())
		} else if durward.ReasonOf(err) != durward.BadHost {
			t.Errorf("%q: %s", entry, durward.ReasonOf(err))
		}
		if _, ok := list.Match("good.example", 1); ok {
			t.Errorf("%q: a list with a wrong entry allows something", entry)
		}
	}
}

func TestEveryWrongEntryIsNamed(t *testing.T) {
	_, err := ParseAllow([]string{"first", "good.example:1", "second"})
	if err == nil || !strings.Contains(err.Error(), `"first"`) || !strings.Contains(err.Error(), `"second"`) {
		t.Fatal(err)
	}
}

func TestMatch(t *testing.T) {
	list := mustAllow(t, "*.b.example:443", "*.example:443", "a.b.example:443", "a.b.example:80", "10.1.2.3:5432", "[::1]:80")
	tests := []struct {
		host Host
		port uint16
		want string
	}{
		{"a.b.example", 443, "a.b.example:443"},
		{"a.b.example", 80, "a.b.example:80"},
		{"a.b.example", 81, ""},
		{"c.b.example", 443, "*.b.example:443"},
		{"d.c.b.example", 443, "*.b.example:443"},
		{"c.b.example", 80, ""},
		{"b.example", 443, "*.example:443"},
		{"example", 443, ""},
		{"notexample", 443, ""},
		{"a.notexample", 443, ""},
		{"xb.example", 443, "*.example:443"},
		{".example", 443, ""},
		{"example.com", 443, ""},
		{"10.1.2.3", 5432, "10.1.2.3:5432"},
		{"10.1.2.3", 80, ""},
		{"10.1.2.4", 5432, ""},
		{"::ffff:10.1.2.3", 5432, ""},
		{"::1", 80, "[::1]:80"},
		{"::2", 80, ""},
		{"", 443, ""},
	}
	for _, tt := range tests {
		got, ok := list.Match(tt.host, tt.port)
		if ok != (tt.want != "") || ok && got.String() != tt.want {
			t.Errorf("%s:%d matched %v %q, want %q", tt.host, tt.port, ok, got, tt.want)
		}
	}
	if _, ok := (Allowlist{}).Match("a.b.example", 443); ok {
		t.Error("an empty list allows something")
	}
}

func FuzzParseAllow(f *testing.F) {
	for _, s := range []string{"api.example.com:443", "*.example.org:443", "10.1.2.3:5432", "[::1]:80", "*:443", "[a]:1", "::1:80", "bücher.example:1", "*.*.a:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := ParseAllow([]string{s})
		if err != nil {
			return
		}
		text := list.Entries()[0]
		again, err := ParseAllow([]string{text})
		if err != nil || again.Entries()[0] != text {
			t.Fatalf("%q gave %q, and that %v, %v", s, text, again.Entries(), err)
		}
		e := list.entries[0]
		_, exact := list.Match(e.Host, e.Port)
		_, below := list.Match("x."+e.Host, e.Port)
		_, beside := list.Match("x"+e.Host, e.Port)
		_, port := list.Match(e.Host, e.Port+1)
		if exact == e.Below || below != e.Below || beside || port {
			t.Fatalf("%q matches itself %v, below %v, beside %v, another port %v", text, exact, below, beside, port)
		}
	})
}
