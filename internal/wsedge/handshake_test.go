package wsedge_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/wsedge"
)

func TestWhatIsThere(t *testing.T) {
	addr := start(t, wsedge.Options{}, echo)
	other := func(old, replacement string) string { return strings.Replace(opening, old, replacement, 1) }
	for _, test := range []struct {
		name, request string
		status        int
	}{
		{"a connection", opening, 101},
		{"a connection with a query", other("GET /", "GET /?a=b"), 101},
		{"lower case", other("Upgrade: websocket", "upgrade: WebSocket"), 101},
		{"a connection kept alive", other("Connection: Upgrade", "Connection: keep-alive, Upgrade"), 101},
		{"another host", other("ADDR", "devbox:8765"), 101},
		{"another path", other("GET /", "GET /x"), 404},
		{"two slashes", other("GET /", "GET //"), 404},
		{"an escaped path", other("GET /", "GET /%72eadyz"), 404},
		{"a request for a proxy", other("GET /", "GET http://ADDR/"), 404},
		{"healthz", "GET /healthz HTTP/1.1\nHost: ADDR\n", 404},
		{"plain", "GET / HTTP/1.1\nHost: ADDR\n", 400},
		{"no upgrade", other("Upgrade: websocket\n", ""), 400},
		{"another protocol", other("websocket", "h2c"), 400},
		{"no connection upgrade", other("Connection: Upgrade\n", ""), 400},
		{"no version", other("Sec-WebSocket-Version: 13\n", ""), 400},
		{"an old version", other("Version: 13", "Version: 8"), 400},
		{"no key", other("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n", ""), 400},
		{"a bad key", other("dGhl", ""), 400},
		{"old HTTP", other("HTTP/1.1", "HTTP/1.0"), 400},
		{"a body", opening + "Content-Length: 3\n\nabc", 400},
		{"an endless body", opening + "Transfer-Encoding: chunked\n", 400},
		{"another verb", other("GET", "POST"), 405},
		{"ready", "GET /readyz HTTP/1.1\nHost: ADDR\n", 200},
		{"ready by POST", "POST /readyz HTTP/1.1\nHost: ADDR\n", 405},
		{"ready by HEAD", "HEAD /readyz HTTP/1.1\nHost: ADDR\n", 405},
		{"a page", opening + "Origin: http://ADDR\n", 403},
		{"a page without an origin", opening + "Origin: null\n", 403},
		{"an empty origin", opening + "Origin:\n", 403},
		{"a plain request of a page", "GET / HTTP/1.1\nHost: ADDR\nOrigin: http://x\n", 403},
		{"ready for a page", "GET /readyz HTTP/1.1\nHost: ADDR\nOrigin: http://x\n", 403},
		{"compression", opening + "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\n", 101},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, addr)
			res := c.ask(test.request)
			if res.StatusCode != test.status {
				t.Fatal(res.Status)
			}
			switch test.status {
			case 101:
				if extensions, ok := res.Header["Sec-Websocket-Extensions"]; ok {
					t.Errorf("extensions %q", extensions)
				}
				c.say(frame(text, "{}"))
				c.hears(text, "{}")
			case 200:
				if res.ContentLength != 0 {
					t.Errorf("%d bytes", res.ContentLength)
				}
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	tokens := httpedge.Tokens{{Name: "ci", SHA256: sha256.Sum256([]byte("secret"))}}
	callers := make(chan durward.Caller, 1)
	addr := start(t, wsedge.Options{Authenticate: tokens.Authenticate}, func(_ context.Context, c wsedge.Conn) { callers <- c.Caller() })
	for request, status := range map[string]int{
		opening: 401,
		opening + "Authorization: Bearer wrong\n":                                401,
		opening + "Authorization: Basic secret\n":                                401,
		opening + "Authorization: Bearer secret\nAuthorization: Bearer secret\n": 401,
		"GET / HTTP/1.1\nHost: ADDR\n":                                           401,
		"GET / HTTP/1.1\nHost: ADDR\nAuthorization: Bearer secret\n":             400,
		"GET /readyz HTTP/1.1\nHost: ADDR\n":                                     200,
		opening + "Authorization: Bearer secret\n":                               101,
	} {
		if res := connect(t, addr).ask(request); res.StatusCode != status {
			t.Errorf("%q: %s", request, res.Status)
		}
	}
	if caller := <-callers; caller != (durward.Caller{Name: "token:ci", Method: "bearer"}) || len(callers) > 0 {
		t.Errorf("%v and %d more", caller, len(callers))
	}
}

func TestWithoutCredentialsCallersAreAnonymous(t *testing.T) {
	found := make(chan wsedge.Conn, 1)
	c := open(t, start(t, wsedge.Options{}, func(_ context.Context, c wsedge.Conn) { found <- c }))
	s := <-found
	if s.Caller() != (durward.Caller{Name: "anonymous", Method: "none"}) || s.Remote() != c.LocalAddr().String() {
		t.Errorf("%v at %s", s.Caller(), s.Remote())
	}
}

// TestNoMoreConnectionsThanThereMayBe refuses one, and still says that it is ready.
func TestNoMoreConnectionsThanThereMayBe(t *testing.T) {
	left := make(chan struct{}, 3)
	addr := start(t, wsedge.Options{MaxConns: 2}, func(ctx context.Context, c wsedge.Conn) {
		echo(ctx, c)
		left <- struct{}{}
	})
	first, _ := open(t, addr), open(t, addr)
	if res := connect(t, addr).ask(opening); res.StatusCode < 429 {
		t.Fatal(res.Status)
	}
	if res := connect(t, addr).ask("GET /readyz HTTP/1.1\nHost: ADDR\n"); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	first.Close()
	<-left
	for { // the slot is given back right after
		c := connect(t, addr)
		if c.ask(opening).StatusCode == 101 {
			return
		}
	}
}

// TestSlowHandshakes lets nobody hold a place by asking slowly.
func TestSlowHandshakes(t *testing.T) {
	addr := start(t, wsedge.Options{HandshakeTimeout: 200 * time.Millisecond, MaxConns: 1}, echo)
	var slow []*raw
	for range 80 { // more than there is room for
		c := connect(t, addr)
		c.say([]byte("GET / HTTP/1.1\r\nHost:"))
		slow = append(slow, c)
	}
	c := open(t, addr)
	c.say(frame(text, "{}"))
	c.hears(text, "{}")
	for _, s := range slow {
		if _, err := io.Copy(io.Discard, s); isTimeout(err) {
			t.Fatal("a slow one is still there")
		}
	}
}

func isTimeout(err error) bool {
	var slow net.Error
	return errors.As(err, &slow) && slow.Timeout()
}

// TestAHandlerThatPanicsEndsItsConnection and no other.
func TestAHandlerThatPanicsEndsItsConnection(t *testing.T) {
	addr := start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
		message, _ := c.Read(ctx)
		if string(message) == "panic" {
			panic("on demand")
		}
		_ = c.Write(ctx, message)
	})
	good, bad := open(t, addr), open(t, addr)
	bad.say(frame(text, "panic"))
	bad.ends()
	good.say(frame(text, "fine"))
	good.hears(text, "fine")
}

// TestTheEndOfTheHandlerIsTheEndOfTheConnection closes it for the peer.
func TestTheEndOfTheHandlerIsTheEndOfTheConnection(t *testing.T) {
	open(t, start(t, wsedge.Options{}, func(context.Context, wsedge.Conn) {})).ends()
}
