package httpreq

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/google/go-cmp/cmp"
)

// What is not named is not looked up and not connected to, and says which rule refused.
func TestNotNamed(t *testing.T) {
	at := sentry(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(at)
	for name, allow := range map[string][]string{
		"off":             nil,
		"other port":      {"127.0.0.1:1", "site.test:1", "localhost:1"},
		"other hosts":     {"127.0.0.2:" + port, "other.test:" + port},
		"below and above": {"*.site.test:" + port, "x.site.test:" + port},
	} {
		e := engine(t, Options{Allow: allow, Resolver: unasked{t}})
		for _, url := range []string{
			"http://" + at, "http://" + at + "/x?y", "https://" + at + "/", "http://site.test:" + port, "http://localhost:" + port, "http://[::ffff:127.0.0.1]:" + port,
			"http://127.1:" + port, "http://0x7f.1:" + port, "http://2130706433:" + port, "http://a..b:" + port, "http://example.com/",
		} {
			r, err := do(t.Context(), e, ample, get(url))
			if durward.ReasonOf(err) != durward.HostDenied || durward.KindOf(err) != durward.Denied || r.Output != nil {
				t.Errorf("%s: %s: %v", name, url, err)
			}
			if failed := durward.AsError(err); failed != nil && failed.Rule == "" {
				t.Errorf("%s: %s: no rule is named", name, url)
			}
		}
	}
}

func TestWrongEntries(t *testing.T) {
	for _, entry := range []string{"", "example.com", "http://example.com:80", "*:80", "127.1:80", "*.127.0.0.1:80", "0.0.0.0:80", "a.b:0"} {
		if e, err := New(Options{Allow: []string{entry}}); e != nil || durward.ReasonOf(err) != durward.BadHost {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

// A changing resolver gives one answer after the other, the last one for ever.
type changing struct {
	answers [][]string
	asked   atomic.Int32
}

func (c *changing) Lookup(context.Context, netguard.Host) ([]netip.Addr, error) {
	n := int(c.asked.Add(1))
	var addrs []netip.Addr
	for _, s := range c.answers[min(n, len(c.answers))-1] {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, nil
}

// A name never leads to an address that is not public, though the address itself is named.
func TestNamesPermitNoPrivateAddress(t *testing.T) {
	at := sentry(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(at)
	for _, answer := range [][]string{{"127.0.0.1"}, {"93.184.216.34", "127.0.0.1"}, {"::ffff:127.0.0.1"}, {"::1"}, {"10.0.0.1"}, {"169.254.169.254"}, {"64:ff9b::7f00:1"}} {
		names := &changing{answers: [][]string{answer}}
		e := engine(t, Options{Allow: []string{"site.test:" + port, at}, Resolver: names})
		r, err := do(t.Context(), e, ample, get("http://site.test:"+port+"/"))
		if durward.ReasonOf(err) != durward.AddressRefused || durward.AsError(err).Rule != rule || names.asked.Load() != 1 {
			t.Errorf("%q: %v after %d lookups", answer, err, names.asked.Load())
		}
		if r.Network == nil || len(r.Network.Refused) != 1 || r.Network.Connections != 0 {
			t.Errorf("%q: %+v", answer, r.Network)
		}
	}
}

func TestLookupThatFails(t *testing.T) {
	e := engine(t, Options{Allow: []string{"site.test:80"}, Resolver: &changing{answers: [][]string{nil}}})
	if _, err := do(t.Context(), e, ample, get("http://site.test/")); durward.ReasonOf(err) != durward.LookupFailed {
		t.Error(err)
	}
}

func TestGrants(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	e := engine(t, Options{Allow: []string{s.at()}})
	for _, tt := range []struct {
		name   string
		net    durward.Network
		reason durward.Reason
	}{
		{"none is about commands", durward.Network{Mode: durward.NetNone}, ""},
		{"full", durward.Network{Mode: durward.NetFull}, ""},
		{"listed", durward.Network{Mode: durward.NetAllowlist, Allow: []string{s.at()}}, ""},
		{"not listed", durward.Network{Mode: durward.NetAllowlist, Allow: []string{"127.0.0.1:1"}}, durward.HostDenied},
		{"nothing listed", durward.Network{Mode: durward.NetAllowlist}, durward.HostDenied},
		{"a list that cannot be read", durward.Network{Mode: durward.NetAllowlist, Allow: []string{"x"}}, durward.BadHost},
	} {
		before := len(s.requests())
		_, err := do(t.Context(), e, durward.Grant{Network: tt.net}, get(s.URL))
		if came := len(s.requests()) - before; durward.ReasonOf(err) != tt.reason || (came == 1) != (tt.reason == "") {
			t.Errorf("%s: %v with %d requests", tt.name, err, came)
		}
	}
}

// A call that is malformed is Invalid, whether its host is named or not.
func TestMalformed(t *testing.T) {
	at := sentry(t, "127.0.0.1:0")
	url := "http://" + at + "/"
	header := func(name, value string) string {
		text, _ := json.Marshal([]field{{name, value}})
		return `{"method":"GET","url":"` + url + `","headers":` + string(text) + `}`
	}
	with := func(member string) string { return `{"method":"GET","url":"` + url + `",` + member + `}` }
	for _, tt := range []struct {
		input  string
		reason durward.Reason
	}{
		{`[]`, durward.BadJSON},
		{`{"url":"` + url + `"}`, durward.BadCall},
		{`{"method":"GET"}`, durward.BadCall},
		{`{"method":7,"url":"` + url + `"}`, durward.BadJSON},
		{`{"method":"","url":"` + url + `"}`, durward.BadCall},
		{`{"method":"GE T","url":"` + url + `"}`, durward.BadCall},
		{`{"method":"GET / HTTP/1.1\r\nX: y\r\n\r\nGET","url":"` + url + `"}`, durward.BadCall},
		{`{"method":"G\u0000","url":"` + url + `"}`, durward.BadCall},
		{`{"method":"GÉT","url":"` + url + `"}`, durward.BadCall},
		{`{"method":"CONNECT","url":"` + url + `"}`, durward.BadCall},
		{`{"method":"GET","url":"ftp://x/"}`, durward.BadCall},
		{`{"method":"GET","url":"file:///etc/passwd"}`, durward.BadCall},
		{`{"method":"GET","url":"//` + at + `"}`, durward.BadCall},
		{`{"method":"GET","url":"http://"}`, durward.BadCall},
		{`{"method":"GET","url":"http://user:secret@` + at + `/"}`, durward.BadCall},
		{`{"method":"GET","url":"http://a.b:0/"}`, durward.BadCall},
		{`{"method":"GET","url":"` + url + `\r\nX: y"}`, durward.BadCall},
		{`{"method":"GET","url":"` + url + ` HTTP/1.1"}`, durward.BadCall},
		{`{"method":"GET","url":"http:\\\\` + at + `"}`, durward.BadCall},
		{header("X", "a\r\nY: b"), durward.BadCall},
		{header("X", "a\nY: b"), durward.BadCall},
		{header("X", "a\rb"), durward.BadCall},
		{header("X", "a\x00b"), durward.BadCall},
		{header("X: y\r\nZ", "a"), durward.BadCall},
		{header("X ", "a"), durward.BadCall},
		{header("X:", "a"), durward.BadCall},
		{header("", "a"), durward.BadCall},
		{header("Connection\n", "a"), durward.BadCall},
		{header("Transfer-Encoding", "chunked\n"+"\x00"), durward.BadCall},
		{with(`"headers":{}`), durward.BadJSON},
		{with(`"headers":[null]`), durward.BadCall},
		{with(`"bodyBase64":"AA=\n="`), durward.BadBase64},
		{with(`"bodyBase64":"AA"`), durward.BadBase64},
		{with(`"bodyBase64":"_-=="`), durward.BadBase64},
		{with(`"timeoutMs":0`), durward.BadTimeout},
		{with(`"timeoutMs":-1`), durward.BadTimeout},
		{with(`"timeoutMs":1.5`), durward.BadJSON},
		{with(`"redirectPolicy":"Follow"`), durward.BadCall},
		{with(`"url":"http://a.b"`), durward.BadJSON},
	} {
		for _, allow := range [][]string{nil, {at}} {
			e := engine(t, Options{Allow: allow, Resolver: unasked{t}})
			_, err := do(t.Context(), e, ample, durward.Call{Input: json.RawMessage(tt.input)})
			if durward.ReasonOf(err) != tt.reason || durward.KindOf(err) != durward.Invalid {
				t.Errorf("%s: %v, want %s", tt.input, err, tt.reason)
			}
		}
	}
}

// No answer of a call tells what a header or a body held.
func TestErrorsKeepSecrets(t *testing.T) {
	e := engine(t, Options{Allow: []string{"127.0.0.1:1"}})
	for _, members := range []map[string]any{
		{"headers": []field{{"Authorization", "Bearer hidden\n"}}},
		{"bodyBase64": "hidden!"},
		{"url": "http://me:hidden@127.0.0.1:1/"},
		{"url": "http://me:hidden@127.0.0.1:x/"},
		{"url": "http://me:hidden@127.0.0.1:1/%"},
		{"url": "http://127.0.0.1:1/ hidden"},
		{"headers": []field{{"Host", "hidden"}}},
	} {
		all := map[string]any{"method": "GET", "url": "http://127.0.0.1:1/"}
		for name, value := range members {
			all[name] = value
		}
		if _, err := do(t.Context(), e, ample, says(all)); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v: %v", members, err)
		}
	}
}

func TestHost(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Host)) })
	e := engine(t, Options{Allow: []string{s.at()}})
	for host, reason := range map[string]durward.Reason{s.at(): "", "evil.test": durward.HostDenied, "": durward.HostDenied, "127.0.0.1": durward.HostDenied} {
		_, err := do(t.Context(), e, ample, says(map[string]any{"method": "GET", "url": s.URL, "headers": []field{{"hOST", host}}}))
		if durward.ReasonOf(err) != reason {
			t.Errorf("%q: %v", host, err)
		}
	}
	if diff := cmp.Diff([]string{"GET /"}, s.requests()); diff != "" {
		t.Error(diff)
	}
}
