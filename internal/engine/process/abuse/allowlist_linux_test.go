//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
)

// Addresses that are nobody's here and public all the same.
const (
	public4 = "203.0.114.7"
	public6 = "2a0e:b107::7"
)

// What a client of the proxy is told.
const (
	unlisted   = "HTTP 403 http_request_denied"
	prohibited = "HTTP 403 destination_ip_prohibited"
	notAllowed = "SOCKS 2"
)

// allowing has the policy of a row allow some hosts and ports; more may be said in it.
func allowing(allow string, more ...string) func(*scene) {
	return func(s *scene) {
		s.base = s.base.with("network", fmt.Sprintf("{mode: allowlist, allow: [%s]%s}", allow, strings.Join(append([]string{""}, more...), ", ")))
		s.names.mean("api.test", public4)
		s.names.mean("six.test", public6)
		s.names.mean("a.below.test", "203.0.114.8")
		s.names.mean("db.test", "203.0.114.9")
		s.names.mean("evil.test", "203.0.114.66")
	}
}

// A trip is an attempt to reach somebody, and what is to become of it.
type trip struct {
	words string
	// want is one of the things that the attempt gets or ends with; they are divided by "|".
	want string
	// reached are those who are to hear of it, asked the names that are looked up, and
	// told what the result and the log say: "HOST:PORT", and the rule behind it where it
	// was refused. Each is empty for none, and they are divided by ", ".
	reached, asked, told string
}

// travel makes trips in a row that holds an allowlist.
func (s *scene) travel(w *internet, list ...trip) {
	s.Helper()
	for _, one := range list {
		s.arrive(w, one, s.attempt(s.expand(one.words)...))
	}
}

// arrive asks what became of a trip: inside, outside, in the result and in the log.
func (s *scene) arrive(w *internet, one trip, a answer) {
	s.Helper()
	got := a.Got
	if a.Err != "" {
		got = a.Err
	}
	if !slices.Contains(strings.Split(one.want, "|"), got) {
		s.Errorf("%v; want %q", a, one.want)
	}
	if came := strings.Join(w.came(s.T), ", "); came != one.reached {
		s.Errorf("%q: reached %q; want %q", one.words, came, one.reached)
	}
	if asked := strings.Join(s.names.take(), ", "); asked != one.asked {
		s.Errorf("%q: looked up %q; want %q", one.words, asked, one.asked)
	}
	if told := s.told(a.result); told != one.told {
		s.Errorf("%q: told %q; want %q", one.words, told, one.told)
	}
}

// told gives what the result of the last call says of where it went. The log has to say
// the same, with events that count each refusal once.
func (s *scene) told(r durward.Result) string {
	s.Helper()
	if r.Network == nil {
		s.Error("the result does not say where it went")
		return ""
	}
	told := contacts(append(slices.Clone(r.Network.Allowed), r.Network.Refused...))
	events := map[durward.Contact]int{} // by their target
	outcome := ""
	for _, e := range s.records() {
		switch {
		case e.Cause == "network.refused":
			events[durward.Contact{Host: e.Host, Port: uint16(e.Port), Rule: e.Rule}] += int(e.Times)
		case e.Phase == audit.Outcome:
			outcome = contacts(append(slices.Clone(e.Network.Allowed), e.Network.Refused...))
		}
	}
	if outcome != told {
		s.Errorf("the log says %q and the result %q", outcome, told)
	}
	unlisted := 0
	for _, times := range events {
		unlisted += times
	}
	for _, c := range r.Network.Refused {
		times := c.Times
		c.Times = 0
		if unlisted -= times; events[c] != times {
			s.Errorf("the events of the log count %d of %+v; %d were refused", events[c], c, times)
		}
	}
	if unlisted != r.Network.MoreRefused {
		s.Errorf("the events of the log count %d refusals that are not listed; there were %d", unlisted, r.Network.MoreRefused)
	}
	if held := r.Report.Guarantees[durward.Net]; held.Held != durward.HeldKernel || held.Mode != "allowlist" {
		s.Errorf("the report says of the network %+v", held)
	}
	return told
}

// records gives what the log was told since it was last asked.
func (s *scene) records() []audit.Record {
	s.Helper()
	var list []audit.Record
	for e, err := range audit.Records(s.Context(), filepath.Join(s.top, "audit"), audit.Filter{}) {
		s.check(err)
		list = append(list, e.Record)
	}
	fresh := list[s.recorded:]
	s.recorded = len(list)
	return fresh
}

func contacts(list []durward.Contact) string {
	var texts []string
	for _, c := range list {
		host := c.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		text := strings.TrimSpace(fmt.Sprintf("%s:%d %s", host, c.Port, c.Rule))
		if c.Times != 1 {
			text += fmt.Sprint(" x", c.Times)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// allowlist is a row for a policy with one.
func allowlist(id, allow string, more ...string) row {
	return row{id: id, needs: "net", from: 2, serial: true, change: allowing(allow, more...)}
}

func TestV45AllowedHosts(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		const allow = `"api.test:443", "api.test:80", "six.test:443", "*.below.test:443", "203.0.114.20:8080", "[2a0e:b107::20]:8080", "10.9.8.7:80"`
		allowlist("V45", allow).each(t, func(s *scene) {
			at4, at6 := "reached "+public4+":443", "reached ["+public6+"]:443"
			s.travel(
				w,
				trip{"via connect api.test:443", at4, public4 + ":443", "api.test", "api.test:443"},
				trip{"via socks-name api.test:443", at4, public4 + ":443", "api.test", "api.test:443"},
				trip{"via plain api.test:443", at4, public4 + ":443", "api.test", "api.test:443"},
				trip{"via absolute api.test/path?q=1", "reached " + public4 + ":80", public4 + ":80", "api.test", "api.test:80"},
				trip{"via absolute api.test:80/", "reached " + public4 + ":80", public4 + ":80", "api.test", "api.test:80"},
				trip{"via connect API.Test.:443", at4, public4 + ":443", "api.test", "api.test:443"},
				trip{"via connect six.test:443", at6, "[" + public6 + "]:443", "six.test", "six.test:443"},
				trip{"via socks-name six.test:443", at6, "[" + public6 + "]:443", "six.test", "six.test:443"},
				trip{"via plain six.test:443", at6, "[" + public6 + "]:443", "six.test", "six.test:443"},
				trip{"via connect a.below.test:443", "reached 203.0.114.8:443", "203.0.114.8:443", "a.below.test", "a.below.test:443"},
				// Addresses that are listed, though one of them is private.
				trip{"via connect 203.0.114.20:8080", "reached 203.0.114.20:8080", "203.0.114.20:8080", "", "203.0.114.20:8080"},
				trip{"via socks-v4 203.0.114.20:8080", "reached 203.0.114.20:8080", "203.0.114.20:8080", "", "203.0.114.20:8080"},
				trip{"via socks-v6 [2a0e:b107::20]:8080", "reached [2a0e:b107::20]:8080", "[2a0e:b107::20]:8080", "", "[2a0e:b107::20]:8080"},
				trip{"via absolute [2a0e:b107::20]:8080/", "reached [2a0e:b107::20]:8080", "[2a0e:b107::20]:8080", "", "[2a0e:b107::20]:8080"},
				trip{"via absolute 10.9.8.7/", "reached 10.9.8.7:80", "10.9.8.7:80", "", "10.9.8.7:80"},
				trip{"repeat 3 connect api.test:443", "3 x " + at4, strings.Repeat(public4+":443, ", 2) + public4 + ":443", "api.test, api.test, api.test", "api.test:443 x3"},
			)
		})
	})
}

// Where an allowlist cannot be held it is refused, also where the policy does not say that
// it has to be.
func TestV45NotBelowLevel2(t *testing.T) {
	row{id: "V45", change: allowing(`"api.test:443", "127.0.0.1:80"`)}.each(t, func(s *scene) {
		for _, required := range []string{"", "[net]"} {
			if d := s.base.with("require", required); s.level < 2 {
				s.refused(d)
			} else {
				s.must(s.attemptUnder(d, "loopback"))
			}
		}
		if asked := s.names.take(); len(asked) > 0 {
			s.Errorf("looked up: %q", asked)
		}
	})
}

// What has to be held of the rest is no reason to leave the allowlist out.
func TestV45NotBelowLevel2WhereOnlyOthersAreRequired(t *testing.T) {
	row{id: "V45", change: allowing(`"api.test:443", "127.0.0.1:80"`)}.each(t, func(s *scene) {
		for _, required := range []string{"[]", "[kill]"} {
			if d := s.base.with("require", required); s.level < 2 {
				s.refused(d)
			} else {
				s.denied(s.attemptUnder(d, "tcp", s.tcp), unreachable...)
			}
		}
	})
}

func TestV46EverythingElse(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V46", `"api.test:443", "six.test:443", "*.below.test:443"`).each(t, func(s *scene) {
			// Another host.
			for _, host := range []string{"evil.test", "xapi.test", "api.test.evil.test", "below.test", "xbelow.test", "api", "localhost", "metadata.google.internal", "127.0.0.2"} {
				s.travel(
					w,
					trip{"via connect " + host + ":443", unlisted, "", "", host + ":443 network.allow"},
					trip{"via absolute " + host + ":443/", unlisted, "", "", host + ":443 network.allow"},
					trip{"via socks-name " + host + ":443", notAllowed, "", "", host + ":443 network.allow"},
				)
			}
			// Another port.
			for _, port := range []string{"80", "22", "8443", "3128", "1"} {
				s.travel(
					w,
					trip{"via connect api.test:" + port, unlisted, "", "", "api.test:" + port + " network.allow"},
					trip{"via absolute api.test:" + port + "/", unlisted, "", "", "api.test:" + port + " network.allow"},
					trip{"via socks-name api.test:" + port, notAllowed, "", "", "api.test:" + port + " network.allow"},
					trip{"via plain api.test:" + port, "ECONNREFUSED", "", "", ""},
				)
			}
			// The address of a host that is allowed, and others, through the proxy.
			s.travel(
				w,
				trip{"via connect 203.0.114.7:443", unlisted, "", "", "203.0.114.7:443 network.allow"},
				trip{"via socks-v4 203.0.114.7:443", notAllowed, "", "", "203.0.114.7:443 network.allow"},
				trip{"via socks-v6 [2a0e:b107::7]:443", notAllowed, "", "", "[2a0e:b107::7]:443 network.allow"},
				trip{"via connect [2a0e:b107::7]:443", unlisted, "", "", "[2a0e:b107::7]:443 network.allow"},
				trip{"via absolute 169.254.169.254/latest/meta-data/", unlisted, "", "", "169.254.169.254:80 network.allow"},
				trip{"via connect 127.0.0.2:3128", unlisted, "", "", "127.0.0.2:3128 network.allow"},
				trip{"via plain evil.test:443", "no such name", "", "", ""},
				trip{"lookup evil.test", "no such name", "", "", ""},
				trip{"lookup a.below.test", "no such name", "", "", ""},
				trip{"lookup api.test", "127.1.0.1", "", "", ""},
			)
			s.noProxy(w)
			for _, database := range []string{"hosts", "ahosts", "ahostsv6"} {
				r, err := s.shell("getent " + database + " evil.test")
				if err != nil || r.ExitStatus() == 0 || r.Stdout.Total > 0 {
					s.Errorf("getent %s: exit %d, %v: %q", database, r.ExitStatus(), err, r.Stdout.Bytes())
				}
				s.arrive(w, trip{words: "getent"}, answer{result: r})
			}
		})
	})
}

// noProxy tries to get out by itself: to those who may be reached by the proxy, to
// resolvers, and to what listens on this machine.
func (s *scene) noProxy(w *internet) {
	s.Helper()
	const nowhere = "ENETUNREACH|ECONNREFUSED|EADDRNOTAVAIL|EHOSTUNREACH|EACCES"
	for _, to := range []string{
		public4 + ":443", "[" + public6 + "]:443", "[::ffff:" + public4 + "]:443", "169.254.169.254:80", "10.9.8.7:80", "[fd00::7]:80", "8.8.8.8:53",
		"127.0.0.1:53", "127.0.0.53:53", "[::1]:53", "127.0.0.1:8080", "127.1.0.1:80", "255.255.255.255:53", "0.0.0.0:80", "[::]:80",
	} {
		s.travel(w, trip{"tcp " + to, nowhere, "", "", ""})
	}
	for _, to := range []string{public4 + ":443", "[" + public6 + "]:443", "8.8.8.8:53", "[2001:4860:4860::8888]:53", "169.254.169.254:53", "224.0.0.251:5353", "[ff02::fb]:5353"} {
		s.travel(w, trip{"udp " + to, nowhere, "", "", ""})
	}
	for _, server := range nameservers(s.T) {
		to := strings.ReplaceAll(fmt.Sprintf("%s:53", server), "::", "0::")
		s.travel(w, trip{"tcp " + to, nowhere, "", "", ""})
	}
	// What is sent to a loopback of one's own is nobody else's.
	for _, to := range []string{"127.0.0.1:53", "127.0.0.53:53", "127.1.0.1:443", s.udp} {
		s.travel(w, trip{"udp " + to, "", "", "", ""})
	}
	s.travel(w, trip{"tcp " + s.tcp, nowhere, "", "", ""})
}

func TestV57PlainConnections(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		const allow = `"db.test:5432", "inner.test:5432", "10.9.8.7:5432", "203.0.114.20:8080", "[fd00::7]:5432", "[2a0e:b107::20]:8080"`
		row := allowlist("V57", allow)
		row.each(t, func(s *scene) {
			s.names.mean("inner.test", "10.0.0.5")
			s.travel(
				w,
				trip{"via plain db.test:5432", "reached 203.0.114.9:5432", "203.0.114.9:5432", "db.test", "db.test:5432"},
				trip{"repeat 3 plain db.test:5432", "3 x reached 203.0.114.9:5432", "203.0.114.9:5432, 203.0.114.9:5432, 203.0.114.9:5432", "db.test, db.test, db.test", "db.test:5432 x3"},
				trip{"via plain 10.9.8.7:5432", "reached 10.9.8.7:5432", "10.9.8.7:5432", "", "10.9.8.7:5432"},
				trip{"via plain 203.0.114.20:8080", "reached 203.0.114.20:8080", "203.0.114.20:8080", "", "203.0.114.20:8080"},
				trip{"via plain [fd00::7]:5432", "reached [fd00::7]:5432", "[fd00::7]:5432", "", "[fd00::7]:5432"},
				trip{"via plain [2a0e:b107::20]:8080", "reached [2a0e:b107::20]:8080", "[2a0e:b107::20]:8080", "", "[2a0e:b107::20]:8080"},
				// Another port, another host.
				trip{"via plain db.test:80", "ECONNREFUSED", "", "", ""},
				trip{"via plain db.test:8080", "ECONNREFUSED", "", "", ""},
				trip{"via plain 10.9.8.7:80", "ECONNREFUSED", "", "", ""},
				trip{"via plain 203.0.114.20:80", "ECONNREFUSED", "", "", ""},
				trip{"via plain 203.0.114.9:5432", "ENETUNREACH", "", "", ""},
				trip{"via plain evil.test:5432", "no such name", "", "", ""},
				trip{"via plain 10.9.8.8:5432", "ENETUNREACH", "", "", ""},
				// A name never leads to a private address.
				trip{"via plain inner.test:5432", "ECONNRESET|EPIPE|EOF", "", "inner.test", "inner.test:5432 network.allowPrivate"},
			)
		})
		t.Run("allowPrivate", func(t *testing.T) {
			row.change = allowing(`"inner.test:5432"`, `allowPrivate: ["10.0.0.0/24"]`)
			row.each(t, func(s *scene) {
				s.names.mean("inner.test", "10.0.0.5")
				s.travel(w, trip{"via plain inner.test:5432", "reached 10.0.0.5:5432", "10.0.0.5:5432", "inner.test", "inner.test:5432"})
				s.names.mean("inner.test", "10.0.1.5")
				s.travel(w, trip{"via plain inner.test:5432", "ECONNRESET|EPIPE|EOF", "", "inner.test", "inner.test:5432 network.allowPrivate"})
			})
		})
	})
}
