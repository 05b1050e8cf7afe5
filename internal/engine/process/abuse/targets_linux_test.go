//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// oddHosts are addresses in the forms that some program takes for one. Where there is no
// URL around them, they stand without brackets.
var oddHosts = []string{
	// The loopback.
	"2130706433", "0x7f000001", "0X7F000001", "017700000001", "0177.0.0.1", "0x7f.1", "0x7f.0.0.0x1", "127.1", "127.0.1", "127.0.0.01", "0127.0.0.1",
	"[::ffff:127.0.0.1]", "[::FFFF:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[::1]", "[0:0:0:0:0:0:0:1]",
	"[::]", "0.0.0.0", "0", "0.0", "00000000000", "127.0.0.1.", "127.0.0.1..", "１２７.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "127%2e0%2e0%2e1",
	"LOCALHOST", "localhost.", "ｌｏｃａｌｈｏｓｔ", "[::1%25lo]", "[::1%lo]", "127.0.0.1%00", "127.0.0.1%0a", "127.0.0.1#", "api.test@127.0.0.1", "127.0.0.1\\@api.test",
	// A metadata service.
	"169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "169.16689662", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
	"[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fe80::a9fe:a9fe]", "[fd00:ec2::254]", "169.254.169.254.", "１６９.254.169.254",
	// One that is allowed, but not like this.
	"0xa.9.8.7", "012.9.8.7", "10.9.2055", "168364039", "[::ffff:10.9.8.7]", "[::10.9.8.7]", "10.9.8.07", "１0.9.8.7", "[10.9.8.7]", "10.9.8.7%25",
	// Names that are allowed, but not like this.
	"api.test..", ".api.test", "api..test", "api.test%00", "api.test%00.evil.test", "ａpi.test", "api。test", "api.test\t", "evil.test\\.api.test", "api.test:80", "api.test#.evil.test",
	"evil.test#api.test", "api.test@evil.test", "xn--pi-8ja.test", "api-.test\\", "*.test", "*", "",
}

func TestV47OddAddresses(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V47", `"api.test:80", "10.9.8.7:80"`).each(t, func(s *scene) {
			for _, how := range []string{"connect", "absolute", "socks-name", "socks-v6"} {
				args := []string{"all", how}
				for _, host := range oddHosts {
					if addr, _ := netip.ParseAddr(strings.Trim(host, "[]")); how != "socks-v6" || addr.Is6() {
						args = append(args, host+":80")
					}
				}
				s.allRefused(args[2:], s.attempt(args...))
			}
			if came, asked := w.came(s.T), s.names.take(); len(came)+len(asked) > 0 {
				s.Errorf("reached: %q, looked up: %q", came, asked)
			}
			// The plain forms are what is allowed, however a name is written.
			s.travel(
				w,
				trip{"via connect 10.9.8.7:80", "reached 10.9.8.7:80", "10.9.8.7:80", "", "10.9.8.7:80"},
				trip{"via connect 10.9.8.7.:80", "reached 10.9.8.7:80", "10.9.8.7:80", "", "10.9.8.7:80"},
				trip{"via absolute Api.TEST./", "reached " + public4 + ":80", public4 + ":80", "api.test", "api.test:80"},
			)
		})
	})
}

// allRefused asks that a run asked for each target and got to none.
func (s *scene) allRefused(targets []string, a answer) {
	s.Helper()
	lines := strings.Split(s.must(a), "\n")
	if len(lines) != len(targets) {
		s.Fatalf("%d answers for %d targets", len(lines), len(targets))
	}
	for i, line := range lines {
		if !slices.ContainsFunc([]string{"HTTP 400 ", "HTTP 403 ", "SOCKS 2"}, func(r string) bool { return strings.HasPrefix(line, r) }) {
			s.Errorf("%.12q to %q: %q; want a refusal", a.Try, targets[i], line)
		}
	}
	s.told(a.result)
	times := 0
	for _, c := range a.result.Network.Refused {
		times += c.Times
	}
	if n := a.result.Network; times != len(targets) || len(n.Allowed)+n.Connections+n.MoreRefused > 0 {
		s.Errorf("%d targets; told %+v", len(targets), n)
	}
}

// privateAddrs are what no name may lead to. Those that a connection can be made to come
// first.
var privateAddrs, unconnectable = []string{
	"127.0.0.1", "127.1.2.3", "169.254.169.254", "169.254.170.2", "10.1.2.3", "172.16.0.9", "172.31.255.255", "192.168.1.1", "100.64.0.7", "100.127.255.255",
	"192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.7", "::1", "fd00::8", "fd00:ec2::254", "fc00::1", "fec0::1", "100::1", "2001:db8::1", "3fff::1", "2001:2::1",
	"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.1.2.3", "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b:1::a01:203",
	"2002:a9fe:a9fe::1", "2002:7f00:1::", "2001:0:a9fe:a9fe::1", "2001:0:cb00:7207:0:0:f5ff:fffe", "2a0e:b107::5efe:a9fe:a9fe", "2a0e:b107::200:5efe:a01:203",
}, []string{
	"0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0", "::127.0.0.1", "::169.254.169.254", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "fe80::1", "ff02::1", "ff0e::1",
}

func TestV48PrivateTargets(t *testing.T) {
	const refused = prohibited + "\n" + prohibited + "\n" + notAllowed + "\n"
	const asked, told = "in.test, in.test, in.test, in.test", "in.test:80 network.allowPrivate x4"
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V48", `"in.test:80"`).each(t, func(s *scene) {
			for _, addr := range append(slices.Clone(privateAddrs), unconnectable...) {
				s.names.mean("in.test", addr)
				s.travel(w, trip{"every in.test:80", refused + "ECONNRESET|" + refused + "EPIPE|" + refused + "EOF", "", asked, told})
			}
		})
		// Where the policy says so in words, they are reached: who listens there does hear it.
		t.Run("allowPrivate", func(t *testing.T) {
			allowlist("V48", `"in.test:80"`, `allowPrivate: ["0.0.0.0/0", "::/0"]`).each(t, func(s *scene) {
				for _, text := range privateAddrs {
					at := netip.AddrPortFrom(netip.MustParseAddr(text).Unmap(), 80).String()
					s.names.mean("in.test", text)
					s.travel(w, trip{"via connect in.test:80", "reached " + at, at, "in.test", "in.test:80"})
				}
			})
		})
	})
}

// A name that leads to the public internet first and inside then never leads inside.
func TestV49Rebinding(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V49", `"flip.test:80"`).each(t, func(s *scene) {
			const reached, private = "reached " + public4 + ":80", "flip.test:80 network.allowPrivate"
			for _, inside := range []string{"127.0.0.1", "169.254.169.254", "10.1.2.3", "fd00::8"} {
				for how, refused := range map[string]string{"connect": prohibited, "absolute": prohibited, "socks-name": notAllowed, "plain": "ECONNRESET|EPIPE|EOF"} {
					// Each connection asks once, and goes where that answer says.
					s.names.flip("flip.test", []string{public4}, []string{inside})
					s.travel(
						w,
						trip{"via " + how + " flip.test:80", reached, public4 + ":80", "flip.test", "flip.test:80"},
						trip{"via " + how + " flip.test:80", refused, "", "flip.test", private},
					)
					// One bad address spoils all.
					s.names.flip("flip.test", []string{public4, inside}, []string{inside, public4}, []string{public6, public4, inside})
					for range 3 {
						s.travel(w, trip{"via " + how + " flip.test:80", refused, "", "flip.test", private})
					}
				}
			}
			s.rebindInOneRun(w)
		})
	})
}

// rebindInOneRun has every second answer lead inside.
func (s *scene) rebindInOneRun(w *internet) {
	s.Helper()
	const times = 60
	for _, how := range []string{"connect", "socks-name", "plain"} {
		var answers [][]string
		for range times {
			answers = append(answers, []string{public4}, []string{"169.254.169.254"})
		}
		s.names.flip("flip.test", answers...)
		a := s.attempt("repeat", "120", how, "flip.test:80")
		if got := s.must(a); !strings.Contains(got, "60 x reached "+public4+":80") {
			s.Errorf("%v", a)
		}
		want := strings.Repeat(public4+":80, ", times)
		if came := strings.Join(w.came(s.T), ", ") + ", "; came != want {
			s.Errorf("reached %q", came)
		}
		if asked := s.names.take(); len(asked) != 2*times {
			s.Errorf("%d questions for %d connections", len(asked), 2*times)
		}
		if told, want := s.told(a.result), "flip.test:80 x60, flip.test:80 network.allowPrivate x60"; told != want {
			s.Errorf("told %q; want %q", told, want)
		}
	}
}

// An answer that sends the client inside comes back as it is, and a client that goes there
// is refused.
func TestV48Redirect(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V48", `"api.test:80"`).each(t, func(s *scene) {
			a := s.attempt("follow", "http://api.test/redirect")
			const steps = "302 http://169.254.169.254/latest/meta-data/; "
			if a.Got != steps || a.Err != unlisted {
				s.Errorf("%v, after %q", a, a.Got)
			}
			s.arrive(w, trip{a.Try, unlisted, public4 + ":80", "api.test", "api.test:80, 169.254.169.254:80 network.allow"}, a)
		})
	})
}
