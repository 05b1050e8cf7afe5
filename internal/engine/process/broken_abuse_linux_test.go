//go:build linux && (amd64 || arm64) && abuse

package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// A target does what whoever connects to it says in a line: "hello" is answered with as much,
// "break" with half a word and a reset, "hold" with nothing. Names lead nowhere: they are looked up for ever.
type target struct {
	at   string
	held chan struct{} // one for each "hold", and for each name

	mu         sync.Mutex
	changed    *sync.Cond
	came, gone int // guarded by mu
}

func newTarget(t *testing.T) *target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &target{at: l.Addr().String(), held: make(chan struct{}, 1)}
	s.changed = sync.NewCond(&s.mu)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.note(&s.came)
			serving.Go(func() { s.serve(conn.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return s
}

func (s *target) serve(conn *net.TCPConn) {
	defer s.note(&s.gone)
	defer conn.Close()
	in := bufio.NewReader(conn)
	switch word, _ := in.ReadString('\n'); word { // who says nothing has gone
	case "hello\n":
		_, _ = io.WriteString(conn, word)
		_, _ = io.Copy(io.Discard, in)
	case "hold\n":
		s.held <- struct{}{}
		_, _ = io.Copy(io.Discard, in) // until it goes, in whatever way
	case "break\n":
		_, _ = io.WriteString(conn, "hel")
		_ = conn.SetLinger(0)
	}
}

func (s *target) note(one *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*one++
	s.changed.Broadcast()
}

// left waits until so many have come, and all who have come are gone, and gives how many
// that were.
func (s *target) left(t *testing.T, came int) int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	late := 0
	timer := time.AfterFunc(20*time.Second, func() { s.note(&late) })
	defer timer.Stop()
	for s.came < came || s.gone < s.came {
		if late > 0 {
			t.Fatalf("%d came and %d went; want %d", s.came, s.gone, came)
		}
		s.changed.Wait()
	}
	defer func() { s.came, s.gone = 0, 0 }()
	return s.came
}

// Lookup is that of [netguard.Resolver].
func (s *target) Lookup(ctx context.Context, _ netguard.Host) ([]netip.Addr, error) {
	s.held <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// broken are the ways in which a call and its connections end too early. A call that is to
// be stopped is stopped when the target, or who looks up names, has heard of it.
var broken = []struct {
	name, script string
	stop         error
	want         durward.Reason
	exit, came   int
}{
	{"a target that is refused", `for at in 192.0.2.1:80 127.0.0.1:1 evil.test:80; do proxy $at; read -r -u 3 _ code _; test "$code" = 403 || exit 9; done; exit 3`, nil, "", 3, 0},
	{"a target that has no way", `! straight evil.test:80 2>/dev/null || exit 9; exit 3`, nil, "", 3, 0},
	{"half a request", `exec 3<>/dev/tcp/127.0.0.2/3128; printf 'CONNECT ' >&3; exit 3`, nil, "", 3, 0},
	{"a target that breaks off", `straight $AT; echo break >&3; cat <&3 >/dev/null 2>&1; tunnel; echo break >&3; cat <&3 >/dev/null 2>&1; exit 3`, nil, "", 3, 2},
	{"a command that breaks off", `tunnel; hello; straight $AT; hello; kill -9 $$`, nil, "", 137, 2},
	{"out of time, straight", `straight $AT; echo hold >&3; cat <&3`, context.DeadlineExceeded, durward.DeadlineExceeded, 0, 1},
	{"out of time in a tunnel", `tunnel; echo hold >&3; cat /dev/zero >&3`, context.DeadlineExceeded, durward.DeadlineExceeded, 0, 1},
	{"out of time, looking up a name", `straight slow.test:80; cat <&3`, context.DeadlineExceeded, durward.DeadlineExceeded, 0, 0},
	{"cancelled in a tunnel", `tunnel; echo hold >&3; (setsid cat <&3 &); cat <&3`, context.Canceled, durward.CallCancelled, 0, 1},
	{"too much output", `tunnel; hello; yes`, nil, durward.LimitOutput, 0, 1},
}

const brokenWords = `
	straight() { exec 3<>/dev/tcp/${1%%:*}/${1##*:}; }
	proxy() { exec 3<>/dev/tcp/127.0.0.2/3128; printf 'CONNECT %%s HTTP/1.1\r\nHost: x\r\n\r\n' "$1" >&3; }
	tunnel() { proxy $AT; read -r -u 3 _ code _; read -r -u 3; test "$code" = 200 || exit 8; }
	hello() { echo hello >&3; read -r -u 3 word && test "$word" = hello || exit 7; }
	AT=%s
	echo new > old; echo x > made
	`

// Calls with an allowlist and a copy that end in each of the ways leave nothing that one of
// each has not left.
func TestBrokenCallsLeaveNothing(t *testing.T) {
	s := newTarget(t)
	dir, g := copying(t)
	g.Network = durward.Network{Mode: durward.NetAllowlist, Allow: []string{s.at, "slow.test:80", "10.9.8.7:80", "[fd00::7]:80", "*.below.test:443"}}
	g.Limits.OutputHard, g.Limits.Grace = 10_000, 0
	e := newEngine(t, Options{Resolver: s})
	words := fmt.Sprintf(brokenWords, s.at)
	round := func() {
		t.Helper()
		for _, one := range broken {
			c := call("bash", "-c", words+one.script)
			c.Dir = dir
			r, err := s.stopping(t, e, c, g, one.stop)
			if durward.ReasonOf(err) != one.want || one.want == "" && r.ExitStatus() != one.exit {
				t.Fatalf("%s: exit %d, %v: %q", one.name, r.ExitStatus(), err, r.Stderr.Bytes())
			}
			if (r.Changes != nil) != (one.want == "") {
				t.Errorf("%s: changes: %v", one.name, r.Changes)
			}
			must(t, r.Discard())
			if got := s.left(t, one.came); got != one.came {
				t.Errorf("%s: %d came, want %d", one.name, got, one.came)
			}
			untouched(t, dir)
		}
	}
	_, pipes, _ := plainHoldings(t, e)
	round()
	round()
	before, _, mounts := plainHoldings(t, e)
	for range 30 {
		round()
	}
	if after, _, now := plainHoldings(t, e); after != before || now != mounts {
		t.Errorf("before: %s, %d mounts; after: %s, %d mounts", before, mounts, after, now)
	}
	waitFor(t, "Go gives up the pipes through which it had the kernel copy", 20*time.Second, func() bool {
		runtime.GC()
		_, now, _ := plainHoldings(t, e)
		return now <= pipes
	})
}

// stopping makes a call, that is stopped for a reason when the target has heard of it.
func (s *target) stopping(t *testing.T, e *Engine, c durward.Call, g durward.Grant, why error) (durward.Result, error) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	if why == nil {
		return e.run(ctx, c, g)
	}
	over := make(chan struct{})
	var stopping sync.WaitGroup
	stopping.Go(func() {
		select {
		case <-s.held:
			stop(why)
		case <-over:
			t.Errorf("nobody came: %q", c.Argv)
		}
	})
	r, err := e.run(ctx, c, g)
	close(over)
	stopping.Wait()
	return r, err
}
