package peers

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A directory answers for names until it is changed.
type directory struct {
	mu    sync.Mutex
	names map[netguard.Host]string // guarded by mu
	asked map[netguard.Host]int    // guarded by mu
	slow  map[netguard.Host]bool   // never answers
}

func (d *directory) Lookup(ctx context.Context, name netguard.Host) ([]netip.Addr, error) {
	d.mu.Lock()
	d.asked[name]++
	addr, known := d.names[name]
	slow := d.slow[name]
	d.mu.Unlock()
	if slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !known {
		return nil, errors.New("no such name")
	}
	return []netip.Addr{netip.MustParseAddr(addr)}, nil
}

func (d *directory) set(name netguard.Host, addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[name] = addr
}

// A world is a gate for the peers a and b, and one target that a may reach and b may not.
type world struct {
	*Gate
	directory *directory
	address   string // of the proxy
	target    string // host:port
	events    chan Event
	t         *testing.T
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") }))
	t.Cleanup(server.Close)
	w := &world{target: strings.TrimPrefix(server.URL, "http://"), events: make(chan Event, 1024), t: t}
	w.directory = &directory{
		names: map[netguard.Host]string{"a": "127.0.0.2", "b": "127.0.0.3"}, asked: make(map[netguard.Host]int), slow: make(map[netguard.Host]bool),
	}
	allow, err := netguard.ParseAllow([]string{w.target})
	must(t, err)
	o := Options{
		Peers:    []Peer{{"a", &netguard.Dialer{Allow: allow}}, {"b", &netguard.Dialer{}}, {"127.0.0.9", &netguard.Dialer{Allow: allow}}},
		Resolver: w.directory, Event: func(e Event) { w.events <- e },
	}
	for _, f := range change {
		f(&o)
	}
	w.Gate = New(o)
	t.Cleanup(w.Close)
	l := w.listen()
	w.address = l.Addr().String()
	w.Serve(l)
	return w
}

func (w *world) listen() net.Listener {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(w.t, err)
	return l
}

// ask asks the proxy for the target from an address. The status is 0 for one who is cut off.
func (w *world) ask(from string) int {
	w.t.Helper()
	line := w.say(from, w.address, "GET http://"+w.target+"/ HTTP/1.1\r\nHost: "+w.target+"\r\nConnection: close\r\n\r\n")
	if line == "" {
		return 0
	}
	status, err := strconv.Atoi(strings.Fields(line)[1])
	must(w.t, err)
	return status
}

// say gives the first line that a request from an address is answered with; none if it is
// cut off, which may be as early as it connects.
func (w *world) say(from, to, request string) string {
	w.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 20 * time.Second}
	conn, err := dialer.DialContext(w.t.Context(), "tcp", to)
	line := ""
	if err == nil {
		defer conn.Close()
		must(w.t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		if _, err = io.WriteString(conn, request); err == nil {
			line, err = bufio.NewReader(conn).ReadString('\n')
		}
	}
	if err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		w.t.Fatalf("from %s: %q, %v, want an answer or a reset", from, line, err)
	}
	return strings.TrimSpace(line)
}

func (w *world) next() Event {
	w.t.Helper()
	select {
	case e := <-w.events:
		return e
	case <-time.After(20 * time.Second):
		w.t.Fatal("nothing was told")
		return Event{}
	}
}

func TestEachPeerHasRulesOfItsOwn(t *testing.T) {
	w := newWorld(t)
	for _, o := range []struct {
		from   string
		status int
		peer   netguard.Host
		rule   egress.Rule
	}{
		{"127.0.0.2", 200, "a", ""},
		{"127.0.0.3", 403, "b", egress.RuleAllow},
		{"127.0.0.9", 200, "127.0.0.9", ""},
		{"127.0.0.4", 0, "", RuleStranger},
		{"127.0.0.1", 0, "", RuleStranger},
	} {
		if got := w.ask(o.from); got != o.status {
			t.Errorf("from %s: %d, want %d", o.from, got, o.status)
		}
		e := w.next()
		if e.Peer != o.peer || e.Rule != o.rule || e.Allowed != (o.rule == "") {
			t.Errorf("from %s: told %+v", o.from, e)
		}
		if e.Peer == "" && e.From.String() != o.from {
			t.Errorf("a stranger came from %s and not from %s", e.From, o.from)
		}
	}
}

// A peer that was started anew is known by its new address at once, and its old one is
// nobody's any more, or that of whoever has it now.
func TestPeerThatMoved(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.stale = time.Nanosecond })
	if got := w.ask("127.0.0.2"); got != 200 {
		t.Fatalf("a: %d", got)
	}
	w.directory.set("a", "127.0.0.5")
	w.directory.set("b", "127.0.0.2")
	for from, want := range map[string]int{"127.0.0.5": 200, "127.0.0.2": 403, "127.0.0.3": 0} {
		if got := w.ask(from); got != want {
			t.Errorf("from %s: %d, want %d", from, got, want)
		}
	}
}

// Where an answer holds for an hour, whoever is not in it is asked for all the same.
func TestNewPeerIsKnownAtOnce(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.stale = time.Hour })
	for range 3 {
		if got := w.ask("127.0.0.2"); got != 200 {
			t.Fatalf("a: %d", got)
		}
	}
	if n := w.directory.asked["a"]; n != 1 {
		t.Errorf("a was asked for %d times in an hour", n)
	}
	w.directory.set("a", "127.0.0.5")
	if got := w.ask("127.0.0.5"); got != 200 {
		t.Errorf("a at its new address: %d", got)
	}
}

func TestAddressOfTwoPeersIsNobodys(t *testing.T) {
	w := newWorld(t)
	w.directory.set("b", "127.0.0.2")
	if got := w.ask("127.0.0.2"); got != 0 {
		t.Errorf("%d, want to be cut off", got)
	}
	if e := w.next(); e.Rule != RuleStranger {
		t.Errorf("told %+v", e)
	}
}

// A name that nobody answers for does not hold up a peer that is known.
func TestSlowNameHoldsUpNobodyElse(t *testing.T) {
	w := newWorld(t)
	if got := w.ask("127.0.0.2"); got != 200 {
		t.Fatalf("a: %d", got)
	}
	w.directory.mu.Lock()
	delete(w.directory.names, "b")
	w.directory.slow["b"] = true
	w.directory.mu.Unlock()
	for _, e := range w.book.names {
		if e.name == "b" {
			e.last.Store(&sighting{})
		}
	}
	stranger, err := net.Dial("tcp", w.address) // whose name is looked for
	must(t, err)
	defer stranger.Close()
	if got := w.ask("127.0.0.2"); got != 200 {
		t.Errorf("a: %d", got)
	}
}

func TestTooManyFromOneAddress(t *testing.T) {
	w := newWorld(t)
	w.directory.mu.Lock()
	w.directory.slow["a"], w.directory.slow["b"] = true, true
	w.directory.mu.Unlock()
	for range unknownEach + 1 {
		if conn, err := net.Dial("tcp", w.address); err == nil { // the last one may see the reset
			defer conn.Close()
		}
	}
	if e := w.next(); e.Rule != RuleDoors || e.From.String() != "127.0.0.1" {
		t.Errorf("told %+v", e)
	}
	w.Close() // waits for nobody to be known
}

func TestNamedClientsOfPeers(t *testing.T) {
	w := newWorld(t)
	target, err := netguard.ParseTarget(w.target)
	must(t, err)
	l := w.listen()
	w.ServeNamed(l, target.Port)
	for from, want := range map[string]string{"127.0.0.2": "HTTP/1.1 200 OK", "127.0.0.3": "HTTP/1.1 403 Forbidden", "127.0.0.4": ""} {
		line := w.say(from, l.Addr().String(), "GET / HTTP/1.1\r\nHost: "+w.target+"\r\n\r\n")
		if line != want {
			t.Errorf("from %s: %q, want %q", from, line, want)
		}
	}
}

func TestListenerOfAGateThatIsClosed(t *testing.T) {
	w := newWorld(t)
	w.Close()
	l := w.listen()
	w.Serve(l)
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want it closed", err)
	}
}
