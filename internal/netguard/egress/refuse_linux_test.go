package egress

import (
	"net/netip"
	"testing"
)

// Only here do all of 127.0.0.0/8 reach this machine without being set up.

// TestRebinding: V49. There is one lookup for a connection, and mixed answers are refused.
func TestRebinding(t *testing.T) {
	for _, way := range ways {
		t.Run(string(way.via), func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Dialer.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")} })
			w.names.answers = [][]string{{"127.0.0.9", "127.0.0.1"}, {"127.0.0.1", "127.0.0.9"}, {"127.0.0.9"}, {"127.0.0.1"}}
			for range 2 {
				if !way.ask(w, "a.test", w.target.port) {
					t.Error("a mixed answer was not refused")
				}
				w.tells(w.event("a.test", way.via, RulePrivate))
			}
			if way.ask(w, "a.test", w.target.port) { // allowed, and nobody is there
				t.Error("what is allowed was refused")
			}
			if e := w.next(); !e.Allowed {
				t.Errorf("told of %+v", e)
			}
			if !way.ask(w, "a.test", w.target.port) {
				t.Error("the address was not judged anew")
			}
			w.tells(w.event("a.test", way.via, RulePrivate))
			w.toldAll()
			if n := w.names.asked.Load(); n != 4 {
				t.Errorf("%d lookups for 4 connections", n)
			}
			w.target.sawNobody(t)
		})
	}
}
