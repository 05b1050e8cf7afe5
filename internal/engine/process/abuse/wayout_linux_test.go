//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
)

// What one run has in its network is not there for another, nor for this machine.
func TestV46RunsApart(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V46", `"api.test:443", "127.0.0.1:7778"`).each(t, func(s *scene) {
			name := s.abstract + "-inside"
			first := s.serving("127.0.0.1:7777", name)
			s.records()
			// Another run of the same policy, also by what the proxy may reach here.
			s.travel(
				w,
				trip{"tcp 127.0.0.1:7777", "ECONNREFUSED", "", "", ""},
				trip{"via connect 127.0.0.1:7777", unlisted, "", "", "127.0.0.1:7777 network.allow"},
				trip{"unix " + name, "ECONNREFUSED|EPERM|EACCES", "", "", ""},
				trip{"unix $abstract", "ECONNREFUSED|EPERM|EACCES", "", "", ""},
			)
			// One of another policy has its own hosts and no others.
			s.base = s.base.with("network", `{mode: allowlist, allow: ["db.test:443", "127.0.0.1:7777"]}`)
			s.travel(
				w,
				trip{"via connect api.test:443", unlisted, "", "", "api.test:443 network.allow"},
				trip{"via plain api.test:443", "no such name", "", "", ""},
				trip{"via plain db.test:443", "reached 203.0.114.9:443", "203.0.114.9:443", "db.test", "db.test:443"},
				// Which is this machine's port, and nobody listens there.
				trip{"via connect 127.0.0.1:7777", "HTTP 502 connection_refused", "", "", "127.0.0.1:7777"},
				trip{"via plain 127.0.0.1:7777", "ECONNRESET|EPIPE|EOF", "", "", "127.0.0.1:7777"},
			)
			// From this machine.
			for _, at := range []string{"127.0.0.1:7777", "127.0.0.1:7778", "127.0.0.2:3128"} {
				if conn, err := net.Dial("tcp", at); err == nil {
					conn.Close()
					s.Errorf("%s can be reached from outside", at)
				}
			}
			if conn, err := net.Dial("unix", name); err == nil {
				conn.Close()
				s.Error("its abstract socket can be reached from outside")
			}
			if pids := attempts(s.T, s.attemptPath()+" serve"); len(pids) != 1 {
				s.Errorf("the first run does not serve any more: %v", pids)
			}
			s.check(first.Close())
		})
	})
}

// serving starts a run that listens in its network, and ends where somebody comes.
func (s *scene) serving(address, name string) durward.Session {
	s.Helper()
	p := s.compile(s.base).Keep(durward.KeepStream)
	session, err := s.runtime(p).Open(s.Context(), durward.Call{Tool: "command", Dir: s.workspace, Argv: []string{s.attemptPath(), "serve", address, name}}, nil)
	s.check(err)
	if page, err := session.Read(s.Context(), 0, 1<<10, 30*time.Second); err != nil || len(page.Chunks) == 0 || string(page.Chunks[0].Data) != "ready\n" {
		s.Fatalf("it does not serve: %v, %v", page, err)
	}
	return session
}

// A tunnel ends with its call, whoever holds it inside.
func TestV45TunnelEndsWithTheCall(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V45", `"api.test:443"`).each(t, func(s *scene) {
			for _, how := range []string{"connect", "socks-name", "plain"} {
				a := s.attempt("outlive", how, "api.test:443")
				w.gone(s.T)
				s.arrive(w, trip{a.Try, "", public4 + ":443", "api.test", "api.test:443"}, a)
				if left := attempts(s.T, s.attemptPath()+" connected"); len(left) > 0 {
					s.Errorf("%s: who held it is alive: %v", how, left)
				}
			}
		})
	})
}

// A client that does not read is waited for until the call ends, with little in between.
func TestV45ClientThatDoesNotRead(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V45", `"api.test:443"`).each(t, func(s *scene) {
			const wall = 1500 * time.Millisecond
			before := heap()
			a := s.attemptUnder(s.base.with("limits", "{wallMs: 1500, graceMs: 100}"), "deaf", "api.test:443")
			if durward.KindOf(a.err) != durward.Timeout || a.result.Took > wall+5*time.Second {
				s.Errorf("%v, after %s", a, a.result.Took)
			}
			if sent := w.gone(s.T); sent > 64<<20 { // what the kernel holds for three connections, as large as their buffers may grow
				s.Errorf("the target could send %d bytes", sent)
			}
			s.grown(before)
			s.arrive(w, trip{a.Try, a.Err, public4 + ":443", "api.test", "api.test:443"}, a)
		})
	})
}

// Clients that stop in the middle of a word keep nobody else from being served, nor the
// call from ending.
func TestV45ClientsThatStall(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V45", `"api.test:443"`).each(t, func(s *scene) {
			a := s.attempt("stall", "42", "api.test:443")
			if a.result.Took > 8*time.Second { // a client has ten for what it has begun
				s.Errorf("it took %s", a.result.Took)
			}
			s.arrive(w, trip{a.Try, "reached " + public4 + ":443", public4 + ":443", "api.test", "api.test:443"}, a)
		})
	})
}

func TestV45ManyConnections(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		allowlist("V45", `"api.test:443"`).each(t, func(s *scene) {
			a := s.attempt("crowd", "65", "api.test:443")
			came := strings.TrimSuffix(strings.Repeat(public4+":443, ", 64), ", ")
			asked := strings.TrimSuffix(strings.Repeat("api.test, ", 64), ", ")
			s.arrive(w, trip{a.Try, "1 x HTTP 503 connection_limit_reached, 64 x open", came, asked, "api.test:443 x64, :0 maxConnections"}, a)
			// There is room again for whoever comes later.
			s.travel(w, trip{"repeat 100 connect api.test:443", "100 x reached " + public4 + ":443", strings.Repeat(public4+":443, ", 99) + public4 + ":443", strings.Repeat("api.test, ", 99) + "api.test", "api.test:443 x100"})
		})
	})
}

// A flood of targets that are refused costs neither memory nor a log without end.
func TestV46Flood(t *testing.T) {
	inInternet(t, func(t *testing.T, w *internet) {
		const times, listed = 10_000, 128
		allowlist("V46", `"api.test:443"`).each(t, func(s *scene) {
			s.must(s.attempt("repeat", "10", "connect", "evil.test:443"))
			s.records()
			before, logged := heap(), s.logBytes()
			a := s.attempt("repeat", fmt.Sprint(times), "connect", "h%.test:443")
			if got := s.must(a); got != fmt.Sprint(times, " x ", unlisted) {
				s.Errorf("%v", a)
			}
			if n := a.result.Network; len(n.Refused) != listed || n.MoreRefused != times-listed || len(n.Allowed)+n.Connections > 0 {
				s.Errorf("%d are listed as refused, %d more, %d as allowed", len(n.Refused), n.MoreRefused, len(n.Allowed))
			}
			s.told(a.result)
			if grown := s.logBytes() - logged; grown > 256<<10 {
				s.Errorf("the log has grown by %d bytes", grown)
			}
			s.grown(before)
			// What is asked for again and again is one line.
			s.travel(w, trip{"repeat 1000 socks-name evil.test:443", "1000 x " + notAllowed, "", "", "evil.test:443 network.allow x1000"})
		})
	})
}

func (s *scene) logBytes() int64 {
	s.Helper()
	st, err := os.Stat(s.log.File())
	s.check(err)
	return st.Size()
}

// heap gives what is in use on the heap, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// grown asks that not much more is in use than before.
func (s *scene) grown(before uint64) {
	s.Helper()
	const most = 8 << 20
	if now := heap(); now > before+most {
		s.Errorf("the heap has grown from %d to %d bytes", before, now)
	}
}
