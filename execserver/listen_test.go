package execserver

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/durward/durward"
)

func TestListenURLs(t *testing.T) {
	for text, want := range map[string]string{
		DefaultListenURL:               "ws://127.0.0.1:0",
		"ws://127.0.0.1:8765":          "ws://127.0.0.1:8765",
		"ws://0.0.0.0:65535":           "ws://0.0.0.0:65535",
		"ws://[::1]:0":                 "ws://[::1]:0",
		"ws://[0:0:0:0:0:0:0:1]:1":     "ws://[::1]:1",
		"ws://[::ffff:127.0.0.1]:8765": "ws://127.0.0.1:8765",
		"stdio":                        "stdio",
		"stdio://":                     "stdio",
	} {
		u, err := ParseListenURL(text)
		if err != nil || u.String() != want || u.IsStdio() != (want == "stdio") {
			t.Errorf("%s: %s, %v", text, u, err)
		}
		if again, err := ParseListenURL(u.String()); err != nil || again != u {
			t.Errorf("%s: then %s, %v", text, again, err)
		}
	}
}

func TestWhatIsNoListenURL(t *testing.T) {
	for text, why := range map[string]string{
		"":                            "begins with neither",
		"127.0.0.1:0":                 "begins with neither",
		"wss://127.0.0.1:0":           "begins with neither",
		"http://127.0.0.1:0":          "begins with neither",
		"WS://127.0.0.1:0":            "begins with neither",
		" ws://127.0.0.1:0":           "begins with neither",
		"stdio:":                      "begins with neither",
		"stdio:///":                   "begins with neither",
		"STDIO":                       "begins with neither",
		"ws://":                       "no port",
		"ws://127.0.0.1":              "no port",
		"ws://127.0.0.1:":             "no port",
		"ws://[::1]":                  "no port",
		"ws://::1:0":                  "no port",
		"ws://:0":                     "literal address",
		"ws://localhost:0":            "literal address",
		"ws://example.org:80":         "literal address",
		"ws://127.1:80":               "literal address",
		"ws://0x7f000001:80":          "literal address",
		"ws://0177.0.0.1:80":          "literal address",
		"ws://2130706433:80":          "literal address",
		"ws://127.0.0.1.:80":          "literal address",
		"ws://127.0.0.1:65536":        "0 to 65535",
		"ws://127.0.0.1:-1":           "0 to 65535",
		"ws://127.0.0.1:+80":          "0 to 65535",
		"ws://127.0.0.1:http":         "0 to 65535",
		"ws://127.0.0.1:0x50":         "0 to 65535",
		"ws://127.0.0.1:80 ":          "0 to 65535",
		"ws://127.0.0.1:8\n":          "0 to 65535",
		"ws://[127.0.0.1]:80":         "0 to 65535",
		"ws://[fe80::1%eth0]:80":      "0 to 65535",
		"ws://127.0.0.1:0/":           "behind the port",
		"ws://127.0.0.1:0?x":          "behind the port",
		"ws://127.0.0.1:0#x":          "behind the port",
		"ws://127.0.0.1:0/x@[::1]:80": "behind the port",
		"ws://me@127.0.0.1:0":         "names a user",
		"ws://me:x@127.0.0.1:0":       "names a user",
	} {
		u, err := ParseListenURL(text)
		var bad *ListenURLError
		if !errors.As(err, &bad) || bad.URL != text || !strings.Contains(bad.Why, why) || durward.ReasonOf(err) != durward.BadUsage {
			t.Errorf("%q: %s, %v", text, u, err)
		}
	}
}

func TestListening(t *testing.T) {
	token := map[string]string{FlagAuth: modeToken, FlagTokenSHA256: strings.Repeat("0", 64)}
	for _, test := range []struct {
		url    string
		flags  map[string]string
		reason durward.Reason
	}{
		{"ws://127.0.0.1:0", nil, ""},
		{"ws://127.0.0.2:0", nil, ""},
		{"ws://0.0.0.0:0", nil, durward.RemoteDenied},
		{"ws://[::]:0", nil, durward.RemoteDenied},
		{"ws://[::ffff:0.0.0.0]:0", nil, durward.RemoteDenied},
		{"ws://192.0.2.1:0", nil, durward.RemoteDenied},
		{"ws://192.0.2.1:0", token, durward.ListenFailed}, // which this machine does not have
		{"ws://0.0.0.0:0", token, ""},
	} {
		u, err := ParseListenURL(test.url)
		if err != nil {
			t.Fatal(err)
		}
		auth, err := NewAuth(test.flags)
		if err != nil {
			t.Fatal(err)
		}
		l, bound, err := u.listen(t.Context(), auth)
		if durward.ReasonOf(err) != test.reason {
			t.Errorf("%s: %v", test.url, err)
		}
		if err != nil {
			if hint := durward.AsError(err).Hint; test.reason == durward.RemoteDenied && !strings.Contains(hint, "--"+FlagAuth) {
				t.Errorf("%s: %s", test.url, hint)
			}
			continue
		}
		if real := netip.MustParseAddrPort(l.Addr().String()); real.Port() != bound.Addr().Port() || bound.Addr().Addr() != u.Addr().Addr() {
			t.Errorf("%s: %s is said to be %s", test.url, real, bound)
		}
		l.Close()
	}
}

func FuzzParseListenURL(f *testing.F) {
	for _, seed := range []string{DefaultListenURL, "ws://[::1]:80", "stdio", "ws://a@b:0", "ws://[::ffff:1.2.3.4]:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseListenURL(text)
		if err != nil {
			return
		}
		if again, err := ParseListenURL(u.String()); err != nil || again != u {
			t.Errorf("%q is %s, and that %s, %v", text, u, again, err)
		}
	})
}
