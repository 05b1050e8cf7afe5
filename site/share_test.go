//go:build linux && (amd64 || arm64)

package site_test

import (
	"strings"
	"testing"

	"github.com/durward/durward/site"
)

const listed, foreign = "https://app.example", "https://evil.example"

func sharing(t *testing.T) *running {
	t.Helper()
	s := shells(func(c *site.Config) { c.AllowedOrigins = []string{listed} })
	return start(t, s)
}

// A page of a listed origin is told by its browser what it may ask, and may see answers,
// refusals among them.
func TestAListedOriginIsShared(t *testing.T) {
	r := sharing(t)
	first := request{method: "OPTIONS", target: "/"}.with("Origin", listed).with("Access-Control-Request-Method", "POST").with("Access-Control-Request-Headers", "content-type")
	a := r.ask(first)
	if a.StatusCode != 204 || a.body != "" || a.Header.Get("Access-Control-Allow-Origin") != listed || a.Header.Get("Access-Control-Allow-Methods") != "GET, HEAD, POST" ||
		!strings.Contains(a.Header.Get("Access-Control-Allow-Headers"), "Content-Type") || a.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v %q", a.StatusCode, a.Header, a.body)
	}
	for name, ask := range map[string]request{
		"a page": get("/"), "a page for people": get("/").with("Accept", "text/html"), "nothing": get("/none"),
		"a command": sh("echo x"), "a command that is not allowed": run("/", "no"),
	} {
		a := r.ask(ask.with("Origin", listed))
		if a.Header.Get("Access-Control-Allow-Origin") != listed || !strings.Contains(strings.Join(a.Header.Values("Vary"), ","), "Origin") {
			t.Errorf("%s: %d %v", name, a.StatusCode, a.Header)
		}
	}
}

// Nobody else is told anything, and nothing runs for them.
func TestNobodyElseIsShared(t *testing.T) {
	r := sharing(t)
	first := request{method: "OPTIONS", target: "/"}.with("Access-Control-Request-Method", "POST")
	for name, ask := range map[string]request{
		"a foreign origin asks first": first.with("Origin", foreign), "nobody asks first": first,
		"the listed one with a port": first.with("Origin", listed+":444"), "a name that begins like it": first.with("Origin", listed+".evil.example"),
		"two origins":             first.with("Origin", listed).with("Origin", foreign),
		"another host":            first.with("Origin", listed).with("Host", "evil.example"),
		"options without a wish":  request{method: "OPTIONS", target: "/"}.with("Origin", listed),
		"a foreign origin's post": sh("touch ran").with("Origin", foreign),
	} {
		a := r.ask(ask)
		if a.StatusCode != 403 && a.StatusCode != 405 || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", name, a.StatusCode, a.Header)
		}
	}
	if r.has("ran") {
		t.Error("it was run")
	}
	plain := start(t, shells(nil))
	for _, ask := range []request{get("/"), sh("echo x"), first.with("Origin", listed)} {
		if a := plain.ask(ask); a.Header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(a.Header.Get("Vary"), "Origin") {
			t.Errorf("without a list: %v", a.Header)
		}
	}
}
