package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// opened opens a tunnel to the target in every way there is.
func opened(t *testing.T, w *world) map[Via]func() *peer {
	return map[Via]func() *peer{
		ViaConnect: func() *peer { return w.connect(w.at("A.test.")) },
		ViaSOCKS5: func() *peer {
			c, code := w.socks5(1, domain("a.TEST"), w.target.port)
			if code != 0 {
				t.Fatalf("code %d", code)
			}
			return c
		},
		ViaTCP: func() *peer {
			l := listen(t)
			to, err := netguard.ParseTarget(w.at("a.test"))
			must(t, err)
			w.ServePair(l, to)
			return dial(t, l.Addr().String())
		},
	}
}

// TestTunnels: V45. What is allowed works, in both directions, and each side hears that
// the other has ended.
func TestTunnels(t *testing.T) {
	w := newWorld(t)
	for via, open := range opened(t, w) {
		c := open()
		up := w.target.accept(t)
		w.tells(w.event("a.test", via, ""))
		c.say("ping")
		said(t, up, "ping")
		_, err := io.WriteString(up, "pong")
		must(t, err)
		c.hears("pong")
		must(t, c.CloseWrite())
		rest, err := io.ReadAll(up) // the end came through, and the other way is open
		if err != nil || len(rest) > 0 {
			t.Errorf("%s: the target heard %q, %v", via, rest, err)
		}
		_, err = io.WriteString(up, "late")
		must(t, err)
		c.hears("late")
		must(t, up.Close())
		c.closed()
	}
	totals := w.toldAll()
	if totals.Connections != 3 || totals.Up != 3*4 || totals.Down != 3*8 || totals.Open <= 0 {
		t.Errorf("totals %+v", totals)
	}
	if listed := totals.Allowed.Listed; len(listed) != 1 || listed[0].Times != 3 || listed[0].Host != "a.test" || len(totals.Refused.Listed) != 0 {
		t.Errorf("totals %+v", totals)
	}
	if n := w.names.asked.Load(); n != 3 {
		t.Errorf("%d lookups for 3 connections", n)
	}
}

// The target ends first.
func TestTargetEndsItsSideFirst(t *testing.T) {
	w := newWorld(t)
	for _, open := range opened(t, w) {
		c := open()
		up := w.target.accept(t)
		must(t, up.CloseWrite())
		c.closed()
		c.say("still here")
		said(t, up, "still here")
		c.Close()
	}
}

// What a client sends along with its request arrives, in its place.
func TestEarlyBytes(t *testing.T) {
	w := newWorld(t)
	early := strings.Repeat("early", 3000)
	for _, request := range []string{
		"CONNECT " + w.at("a.test") + " HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"\x05\x02\x00\x02" + "\x05\x01\x00" + string(domain("a.test")) + portBytes(w.target.port),
	} {
		c := w.dial()
		c.say(request + early)
		up := w.target.accept(t)
		c.say("late")
		said(t, up, early+"late")
	}
}

func portBytes(port string) string {
	n, _ := strconv.Atoi(port)
	return string([]byte{byte(n >> 8), byte(n)})
}

func TestMuchGoesThroughBothWaysAtOnce(t *testing.T) {
	w := newWorld(t)
	c := w.connect(w.at("a.test"))
	up := w.target.accept(t)
	payload := make([]byte, 8<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(payload)
	var all sync.WaitGroup
	for _, conn := range []*net.TCPConn{c.TCPConn, up} {
		all.Go(func() {
			_, err := conn.Write(payload)
			if err := errors.Join(err, conn.CloseWrite()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, payload) {
				t.Errorf("%d bytes of %d came through: %v", len(got), len(payload), err)
			}
		})
	}
	all.Wait()
	w.next()
	if totals := w.toldAll(); totals.Up != int64(len(payload)) || totals.Down != int64(len(payload)) {
		t.Errorf("totals %+v", totals)
	}
}

func TestAResetIsPassedOn(t *testing.T) {
	w := newWorld(t)
	c := w.connect(w.at("a.test"))
	up := w.target.accept(t)
	must(t, up.SetLinger(0))
	must(t, up.Close())
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v", err)
	}
	c = w.connect(w.at("a.test"))
	up = w.target.accept(t)
	must(t, c.SetLinger(0))
	must(t, c.Close())
	if _, err := up.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the target saw %v", err)
	}
}

func TestSOCKSCodes(t *testing.T) {
	w := newWorld(t)
	v4 := []byte{1, 127, 0, 0, 1}
	mapped := append([]byte{4}, net.ParseIP("::ffff:127.0.0.1").To16()...)
	v6 := append([]byte{4}, net.ParseIP("::1").To16()...)
	tests := []struct {
		name    string
		command byte
		host    []byte
		want    byte
		event   Event
	}{
		{"an address in the list", 1, v4, socksOK, w.event("127.0.0.1", ViaSOCKS5, "")},
		{"the same as text", 1, domain("127.0.0.1"), socksOK, w.event("127.0.0.1", ViaSOCKS5, "")},
		{"the same within IPv6", 1, mapped, socksNotAllowed, w.event("::ffff:127.0.0.1", ViaSOCKS5, RuleAllow)},
		{"another address", 1, v6, socksNotAllowed, w.event("::1", ViaSOCKS5, RuleAllow)},
		{"BIND", 2, domain("a.test"), socksCommand, w.event("a.test", ViaSOCKS5, RuleRequest)},
		{"UDP ASSOCIATE", 3, v4, socksCommand, w.event("127.0.0.1", ViaSOCKS5, RuleRequest)},
		{"no command", 0, v4, socksCommand, w.event("127.0.0.1", ViaSOCKS5, RuleRequest)},
	}
	for _, tt := range tests {
		c, code := w.socks5(tt.command, tt.host, w.target.port)
		if code != tt.want {
			t.Errorf("%s: code %d, want %d", tt.name, code, tt.want)
		}
		w.tells(tt.event)
		if code != socksOK {
			c.closed()
			continue
		}
		w.target.accept(t).Close()
	}
	w.target.sawNobody(t)
}

func TestSOCKSThatIsNone(t *testing.T) {
	w := newWorld(t)
	for said, heard := range map[string]string{
		"\x05\x01\x02":                         "\x05\xff", // a password
		"\x05\x00":                             "\x05\xff",
		"\x05\x01\x00\x04\x01\x00\x01":         "\x05\x00\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00", // another version
		"\x05\x01\x00\x05\x01\x01\x01":         "\x05\x00\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00",
		"\x05\x01\x00\x05\x01\x00\x02abcdefgh": "\x05\x00\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00", // no such type
	} {
		c := w.dial()
		c.say(said)
		c.hears(heard)
		c.closed()
		w.tells(Event{Via: ViaSOCKS5, Rule: RuleRequest})
	}
	c := w.dial()
	c.say("\x05\x01\x00\x05\x01") // and is gone
	c.Close()
	w.toldAll()
	w.target.sawNobody(t)
}

func TestFailuresAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fail   func(w *world)
		status int
		code   byte
		word   string
		reason durward.Reason
	}{
		{"nobody listens", func(w *world) { w.target.Close() }, 502, socksRefused, "connection_refused", durward.ConnectFailed},
		{"no such name", func(w *world) { w.names.err = errors.New("no such host") }, 502, socksHost, "dns_error", durward.LookupFailed},
		{"slow names", func(w *world) { w.names.err = &net.DNSError{IsTimeout: true} }, 504, socksHost, "dns_timeout", durward.LookupFailed},
	} {
		w := newWorld(t)
		tt.fail(w)
		if _, code := w.socks5(1, domain("a.test"), w.target.port); code != tt.code {
			t.Errorf("%s: code %d, want %d", tt.name, code, tt.code)
		}
		want := w.event("a.test", ViaSOCKS5, "")
		want.Reason = tt.reason
		w.tells(want)
		c := w.dial()
		c.say("CONNECT " + w.at("a.test") + " HTTP/1.0\r\n\r\n")
		a, _ := c.answer("CONNECT")
		if status := a.Header.Get("Proxy-Status"); a.StatusCode != tt.status || status != "durward; error="+tt.word {
			t.Errorf("%s: %d %q, want %d %q", tt.name, a.StatusCode, status, tt.status, tt.word)
		}
		want.Via = ViaConnect
		w.tells(want)
		w.toldAll()
	}
}

// The cap is for the run and not for a listener, and who is beyond it is told so at once.
func TestConnectionsAreCapped(t *testing.T) {
	w := newWorld(t)
	for range 64 {
		w.connect(w.at("a.test"))
		w.target.accept(t)
		w.tells(w.event("a.test", ViaConnect, ""))
	}
	c := w.dial()
	c.say("CONNECT " + w.at("a.test") + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if a, body := c.answer("CONNECT"); a.StatusCode != 503 || !strings.Contains(body, "too many connections") {
		t.Errorf("%d %q", a.StatusCode, body)
	}
	w.tells(Event{Rule: RuleConnections})
	if _, code := w.socks5(1, domain("a.test"), w.target.port); code != socksFailed {
		t.Errorf("code %d", code)
	}
	w.tells(Event{Rule: RuleConnections})
	pairs := listen(t)
	to, err := netguard.ParseTarget(w.at("a.test"))
	must(t, err)
	w.ServePair(pairs, to)
	turnedAway(t, pairs.Addr().String())
	w.tells(w.event("a.test", ViaTCP, RuleConnections))
	w.target.sawNobody(t)
	if totals := w.toldAll(); totals.Connections != 64 || len(totals.Refused.Listed) != 2 {
		t.Errorf("totals %+v", totals)
	}
}

// What proxies share is full for each of them, and has room again when one has ended a
// connection.
func TestProxiesShareARoom(t *testing.T) {
	room := new(Room)
	room.taken = maxFiles()/roomShare/placeFiles - 1
	before := room.taken
	sharing := func(o *Options) { o.Room = room }
	w, other := newWorld(t, sharing), newWorld(t, sharing)
	only := other.connect(other.at("a.test"))
	c := w.dial()
	c.say("CONNECT " + w.at("a.test") + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if a, body := c.answer("CONNECT"); a.StatusCode != 503 || !strings.Contains(body, "of all calls") {
		t.Errorf("%d %q", a.StatusCode, body)
	}
	w.tells(Event{Rule: RuleRoom})
	if _, code := w.socks5(1, domain("a.test"), w.target.port); code != socksFailed {
		t.Errorf("code %d", code)
	}
	w.tells(Event{Rule: RuleRoom})
	pairs := listen(t)
	to, err := netguard.ParseTarget(w.at("a.test"))
	must(t, err)
	w.ServePair(pairs, to)
	turnedAway(t, pairs.Addr().String())
	w.tells(w.event("a.test", ViaTCP, RuleRoom))
	w.target.sawNobody(t)
	only.Close()
	other.Close()
	w.connect(w.at("a.test"))
	w.tells(w.event("a.test", ViaConnect, ""))
	w.toldAll()
	if room.taken != before {
		t.Errorf("%d places are taken for good", room.taken-before)
	}
}

// A slot is free again when its connection is over.
func TestASlotIsUsedAgain(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Connections = 1 })
	w.connect(w.at("a.test")).Close()
	w.target.accept(t).Close()
	for deadline := time.Now().Add(20 * time.Second); ; { // the proxy sees the end in its own time
		c := w.dial()
		c.say("CONNECT " + w.at("a.test") + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
		if line, err := c.in.ReadString('\n'); err == nil && strings.Contains(line, " 200 ") {
			return
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the slot was not freed")
		}
	}
}

// Clients beyond the cap that say nothing do not add up.
func TestTheTurnedAwayAreFewToo(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Connections = 1 })
	w.connect(w.at("a.test"))
	w.next()
	for range spareConnections {
		w.dial()
		w.tells(Event{Rule: RuleConnections})
	}
	turnedAway(t, w.address)
	w.tells(Event{Rule: RuleConnections})
}

func TestCloseEndsEverything(t *testing.T) {
	w := newWorld(t)
	tunnel := w.connect(w.at("a.test"))
	up := w.target.accept(t)
	request := w.dial()
	request.say("GET http://" + w.at("b.test") + "/ HTTP/1.1\r\nHost: " + w.at("b.test") + "\r\n\r\n")
	unanswered := w.target.accept(t)
	_, err := http.ReadRequest(bufio.NewReader(unanswered))
	must(t, err)
	silent := w.dial()
	first, second := w.Close(), w.Close()
	for _, c := range []*peer{tunnel, request, silent} {
		c.closed()
	}
	for _, conn := range []net.Conn{up, unanswered} {
		_, _ = io.Copy(io.Discard, conn)
	}
	if first.Connections != 2 || second.Connections != 2 {
		t.Errorf("totals %+v, %+v", first, second)
	}
	if conn, err := net.Dial("tcp", w.address); err == nil {
		conn.Close()
		t.Error("the listener is there yet")
	}
	l := listen(t)
	w.Serve(l)
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that came late: %v", err)
	}
}

func TestCloseWhileDialling(t *testing.T) {
	w := newWorld(t)
	w.names.answers = nil // no answer
	c := w.dial()
	c.say("CONNECT " + w.at("a.test") + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
	for w.names.asked.Load() == 0 {
		runtime.Gosched()
	}
	began := time.Now()
	w.Close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("closing took %v", took)
	}
	want := w.event("a.test", ViaConnect, "")
	want.Reason = durward.CallCancelled
	w.tells(want)
	w.toldAll()
}

// An attacker may name any number of hosts.
func TestTotalsAreBounded(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	const asked = listedTargets + 50
	for i := range asked {
		host := "x" + strconv.Itoa(i) + ".test"
		c.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		if a, _ := c.answer("GET"); a.StatusCode != 403 {
			t.Fatal(a.StatusCode)
		}
		w.next()
	}
	if refused := w.toldAll().Refused; len(refused.Listed) != listedTargets || refused.More != 50 {
		t.Errorf("%d listed and %d more", len(refused.Listed), refused.More)
	}
}
