package netguard

import (
	"testing"

	"github.com/durward/durward"
)

func TestURLs(t *testing.T) {
	for _, tt := range []struct {
		url    string
		target Target
		host   string // as the URL has it
		reason durward.Reason
	}{
		{"http://a.b/", Target{"a.b", 80}, "a.b", ""},
		{"https://A.B.", Target{"a.b", 443}, "a.b", ""},
		{"http://a.b:443/x", Target{"a.b", 443}, "a.b:443", ""},
		{"https://[::1]:80/", Target{"::1", 80}, "[::1]:80", ""},
		{"http://[::1]/", Target{"::1", 80}, "[::1]", ""},
		{"http://a.b:0/", Target{}, "", durward.BadCall},
		{"http://a.b:080/", Target{}, "", durward.BadCall},
		{"http://a.b:65536/", Target{}, "", durward.BadCall},
		{"http://127.1/", Target{}, "", durward.BadHost},
		{"http://a..b/", Target{}, "", durward.BadHost},
		{"http:///x", Target{}, "", durward.BadCall},
		{"http:x", Target{}, "", durward.BadCall},
		{"/x", Target{}, "", durward.BadCall},
		{"", Target{}, "", durward.BadCall},
		{"http://a.b\\@c/", Target{}, "", durward.BadCall},
		{"http://a.b/\r\nX: y", Target{}, "", durward.BadCall},
		{"http://a.b/x y", Target{}, "", durward.BadCall},
		{"http://a.b/\xff", Target{}, "", durward.BadCall},
	} {
		u, err := ParseURL(tt.url)
		var target Target
		if err == nil {
			target, err = TargetOf(u)
		}
		if durward.ReasonOf(err) != tt.reason {
			t.Errorf("%q: %v, want %q", tt.url, err, tt.reason)
		}
		if err == nil && (target != tt.target || target.In(u.Scheme) != tt.host) {
			t.Errorf("%q leads to %s, in a URL %s", tt.url, target, target.In(u.Scheme))
		}
	}
	if _, err := ParseURL("ftp:x"); err != nil {
		t.Errorf("a scheme that needs no host: %v", err)
	}
}
