package egress

import (
	"net"
	"strings"
	"testing"

	"github.com/durward/durward/internal/netguard"
)

// Other hosts, other ports and addresses are refused by what is asked for, through every
// door, before anything is looked up.
func TestWhatIsNotInTheListIsRefused(t *testing.T) {
	other := newTarget(t)
	for _, way := range ways {
		t.Run(string(way.via), func(t *testing.T) {
			w := newWorld(t)
			for _, host := range []string{"c.test", "w.test", "xa.test", "127.0.0.2", "10.0.0.1", "localhost"} {
				if !way.ask(w, host, w.target.port) {
					t.Errorf("%s was not refused", host)
				}
				w.tells(w.event(host, way.via, RuleAllow))
			}
			if !way.ask(w, "a.test", other.port) {
				t.Error("another port was not refused")
			}
			if e := w.next(); e.Rule != RuleAllow || e.Host != "a.test" {
				t.Errorf("told of %+v", e)
			}
			w.toldAll()
			if n := w.names.asked.Load(); n != 0 {
				t.Errorf("%d names were looked up", n)
			}
			w.target.sawNobody(t)
			other.sawNobody(t)
		})
	}
}

// TestSpellings: V47. Nothing but the one form of an address or name passes.
func TestSpellings(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way.via), func(t *testing.T) {
			w := newWorld(t)
			for _, host := range []string{
				"2130706433", "017700000001", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01", "0",
				"127.0.0.1..", "１２７.0.0.1", "127.0.0.１", "a%2etest", "a.test%00", "a.test%", "a..test", ".a.test", "\x80a.test",
				"*.w.test", "a,test", "a.test\\x", "ａ.test", "a。test",
			} {
				if !way.ask(w, host, w.target.port) {
					t.Errorf("%q was not refused", host)
				}
				if e := w.next(); e.Allowed || e.Rule != RuleHost || e.Host != "" || e.Port != 0 || e.Asked == "" || e.Via != way.via || !printable(e.Asked) {
					t.Errorf("%q: told of %+v", host, e)
				}
			}
			for host, canonical := range map[string]string{
				"[::ffff:127.0.0.1]": "::ffff:127.0.0.1", "[::]": "::", "0.0.0.0": "0.0.0.0", "[::1]": "::1", "[::ffff:7f00:1]": "::ffff:127.0.0.1",
				"0.0.0.0.": "0.0.0.0", "LOCALHOST": "localhost", "C.test.": "c.test",
			} {
				if !way.ask(w, host, w.target.port) {
					t.Errorf("%q was not refused", host)
				}
				w.tells(w.event(canonical, way.via, RuleAllow))
			}
			w.toldAll()
			if n := w.names.asked.Load(); n != 0 {
				t.Errorf("%d names were looked up", n)
			}
			w.target.sawNobody(t)
		})
	}
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0 && len(s) <= 4*64+2
}

// Bytes that no HTTP request can hold come through SOCKS.
func TestNamesThatOnlySOCKSCanSay(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"", "a.test\x00", "a.test\n", "a.test ", "a@a.test", "a.test:" + w.target.port, "a.test/", "[::1]", "::1%lo", "[127.0.0.1]", "a]", "]", strings.Repeat("a", 64), strings.Repeat("a", 255)} {
		if _, code := w.socks5(1, domain(name), w.target.port); code != 2 {
			t.Errorf("%q: code %d", name, code)
		}
		if e := w.next(); e.Rule != RuleHost || !printable(e.Asked) {
			t.Errorf("%q: told of %+v", name, e)
		}
	}
	if _, code := w.socks5(1, domain("a.test"), "0"); code != 2 {
		t.Errorf("port 0: code %d", code)
	}
	if e := w.next(); e.Rule != RuleHost {
		t.Errorf("port 0: told of %+v", e)
	}
	w.toldAll()
	w.target.sawNobody(t)
}

// TestPrivateAddresses: V48. A name in the list does not make its addresses reachable, and
// the answer does not give them away.
func TestPrivateAddresses(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way.via), func(t *testing.T) {
			for _, addr := range []string{"127.0.0.1", "169.254.169.254", "10.1.2.3", "fd00::1", "100.64.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"} {
				w := newWorld(t, func(o *Options) { o.Dialer.AllowPrivate = nil })
				w.names.answers = [][]string{{addr}}
				if !way.ask(w, "a.test", w.target.port) {
					t.Errorf("%s was not refused", addr)
				}
				w.tells(w.event("a.test", way.via, RulePrivate))
				w.toldAll()
				w.target.sawNobody(t)
			}
		})
	}
}

func TestAnAnswerNeverHoldsTheAddress(t *testing.T) {
	for _, addr := range []string{"10.1.2.3", "127.0.0.1"} { // one refused, and one that nobody answers at
		w := newWorld(t)
		must(t, w.target.Close())
		w.names.answers = [][]string{{addr}}
		for _, request := range []string{"CONNECT " + w.at("a.test"), "GET http://" + w.at("a.test") + "/"} {
			c := w.dial()
			c.say(request + " HTTP/1.1\r\nHost: " + w.at("a.test") + "\r\nConnection: close\r\n\r\n")
			a, body := c.answer("GET")
			if a.StatusCode < 400 || strings.Contains(body, addr) || !strings.Contains(body, "a.test") {
				t.Errorf("%s: %d %q", request, a.StatusCode, body)
			}
			for name, values := range a.Header {
				if strings.Contains(strings.Join(values, ""), addr) {
					t.Errorf("%s: %s: %s", request, name, values)
				}
			}
		}
	}
}

// A pair is judged like everything else.
func TestPairs(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Dialer.AllowPrivate = nil })
	pair := func(host string) (string, netguard.Target) {
		l := listen(t)
		to, err := netguard.ParseTarget(w.at(host))
		must(t, err)
		w.ServePair(l, to)
		return l.Addr().String(), to
	}
	for host, rule := range map[string]Rule{"a.test": RulePrivate, "c.test": RuleAllow} {
		address, _ := pair(host)
		turnedAway(t, address)
		w.tells(w.event(host, ViaTCP, rule))
	}
	w.target.sawNobody(t)

	address, to := pair("127.0.0.1")
	c := dial(t, address)
	up := w.target.accept(t)
	w.tells(w.event(string(to.Host), ViaTCP, ""))
	c.say("ping")
	said(t, up, "ping")
	w.toldAll()
}

// said reads that very text from a connection.
func said(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	(&peer{conn.(*net.TCPConn), nil, t}).reads(want)
}
