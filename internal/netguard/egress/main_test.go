package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/durward/durward/internal/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names answers every name, with the next of its answers and the last one for ever.
type names struct {
	answers [][]string
	err     error
	asked   atomic.Int32
}

func (n *names) Lookup(ctx context.Context, _ netguard.Host) ([]netip.Addr, error) {
	i := int(n.asked.Add(1))
	if n.err != nil {
		return nil, n.err
	}
	if n.answers == nil { // never
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var addrs []netip.Addr
	for _, s := range n.answers[min(i, len(n.answers))-1] {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, nil
}

func answering(answers ...[]string) *names { return &names{answers: answers} }

// A target is a server outside of the sandbox.
type target struct {
	net.Listener
	port string
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func newTarget(t testing.TB) target {
	l := listen(t)
	return target{l, strconv.Itoa(int(netip.MustParseAddrPort(l.Addr().String()).Port()))}
}

// sawNobody connects itself and asks to be the first in the queue.
func (s target) sawNobody(t *testing.T) {
	t.Helper()
	own, err := net.Dial("tcp", s.Addr().String())
	must(t, err)
	defer own.Close()
	conn, err := s.Accept()
	must(t, err)
	defer conn.Close()
	if conn.RemoteAddr().String() != own.LocalAddr().String() {
		t.Fatalf("%s was connected to from %s", s.Addr(), conn.RemoteAddr())
	}
}

// accept gives the next connection to the target, which is closed with the test.
func (s target) accept(t *testing.T) *net.TCPConn {
	t.Helper()
	conn, err := s.Accept()
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	return conn.(*net.TCPConn)
}

// serve answers HTTP with h until the test ends.
func (s target) serve(t testing.TB, h http.HandlerFunc) {
	server := &http.Server{Handler: h}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(s) })
	t.Cleanup(func() { server.Close(); running.Wait() })
}

// A world is a proxy, what it was told, and a target that it may go to by two names.
type world struct {
	*Proxy
	address string
	target  target
	names   *names
	events  chan Event
	t       testing.TB
}

// newWorld allows a.test, b.test and everything below w.test at the target's port.
func newWorld(t testing.TB, change ...func(*Options)) *world {
	t.Helper()
	w := &world{target: newTarget(t), names: answering([]string{"127.0.0.1"}), events: make(chan Event, 1024), t: t}
	allow, err := netguard.ParseAllow([]string{
		"a.test:" + w.target.port, "b.test:" + w.target.port, "*.w.test:" + w.target.port, "127.0.0.1:" + w.target.port,
	})
	must(t, err)
	o := Options{
		Dialer: &netguard.Dialer{Allow: allow, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: w.names},
		Event:  func(e Event) { w.events <- e },
	}
	for _, f := range change {
		f(&o)
	}
	w.Proxy = New(o)
	t.Cleanup(func() { w.Close() })
	l := listen(t)
	w.address = l.Addr().String()
	w.Serve(l)
	return w
}

func requireSNI(o *Options) { o.RequireSNI = true }

// at names the target's port of a host.
func (w *world) at(host string) string { return host + ":" + w.target.port }

// dial connects as a command does.
func (w *world) dial() *peer {
	w.t.Helper()
	return dial(w.t, w.address)
}

func dial(t testing.TB, address string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	return &peer{conn.(*net.TCPConn), bufio.NewReader(conn), t}
}

// A peer is a client of the proxy.
type peer struct {
	*net.TCPConn
	in *bufio.Reader
	t  testing.TB
}

func (c *peer) say(s string) {
	c.t.Helper()
	_, err := io.WriteString(c.TCPConn, s)
	must(c.t, err)
}

// hears reads that very text.
func (c *peer) hears(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	_, err := io.ReadFull(c.in, got)
	if err != nil || string(got) != want {
		c.t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

// closed tells whether nothing more comes, by an end or by a reset.
func (c *peer) closed() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.in); len(rest) > 0 || isTimeout(err) {
		c.t.Fatalf("heard %q, %v, instead of the end", rest, err)
	}
}

func isTimeout(err error) bool {
	var slow net.Error
	return errors.As(err, &slow) && slow.Timeout()
}

// turnedAway connects and is cut off, perhaps before it has looked.
func turnedAway(t testing.TB, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err == nil {
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("%v, want a reset", err)
	}
}

// answer reads one answer, with its body.
func (c *peer) answer(method string) (*http.Response, string) {
	c.t.Helper()
	a, err := http.ReadResponse(c.in, &http.Request{Method: method})
	must(c.t, err)
	body, err := io.ReadAll(a.Body)
	must(c.t, err)
	a.Body.Close()
	return a, string(body)
}

// connect opens a tunnel.
func (w *world) connect(to string) *peer {
	w.t.Helper()
	c := w.dial()
	c.say("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n")
	c.hears("HTTP/1.1 200 Connection established\r\n\r\n")
	return c
}

// next gives the next event.
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

// tells checks the next event, without its Asked.
func (w *world) tells(want Event) {
	w.t.Helper()
	got := w.next()
	got.Asked = ""
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Fatalf("event (-want +got):\n%s", diff)
	}
}

// toldAll ends the proxy and checks that nothing more was told.
func (w *world) toldAll() Totals {
	w.t.Helper()
	totals := w.Close()
	select {
	case e := <-w.events:
		w.t.Fatalf("told of %+v besides", e)
	default:
	}
	return totals
}

func (w *world) event(host string, via Via, rule Rule) Event {
	port, _ := strconv.ParseUint(w.target.port, 10, 16)
	return Event{Host: netguard.Host(host), Port: uint16(port), Via: via, Rule: rule, Allowed: rule == ""}
}

// socks5 asks for a host and port by its address type, and gives the code of the reply.
func (w *world) socks5(command byte, host []byte, port string) (*peer, byte) {
	w.t.Helper()
	c := w.dial()
	c.say("\x05\x01\x00")
	c.hears("\x05\x00")
	n, err := strconv.Atoi(port)
	must(w.t, err)
	c.say("\x05" + string([]byte{command}) + "\x00" + string(host) + string([]byte{byte(n >> 8), byte(n)}))
	reply := make([]byte, 10)
	_, err = io.ReadFull(c.in, reply)
	must(w.t, err)
	if reply[0] != 5 || string(reply[2:]) != "\x00\x01\x00\x00\x00\x00\x00\x00" {
		w.t.Fatalf("reply %x", reply)
	}
	return c, reply[1]
}

func domain(name string) []byte { return append([]byte{3, byte(len(name))}, name...) }

// A door is one way to ask for a host and port; it says whether that was refused.
type way struct {
	via Via
	ask func(w *world, host, port string) (refused bool)
}

var ways = []way{
	{ViaConnect, func(w *world, host, port string) bool {
		c := w.dial()
		c.say("CONNECT " + host + ":" + port + " HTTP/1.1\r\nHost: x\r\n\r\n")
		a, body := c.answer("CONNECT")
		return a.StatusCode == 403 && strings.HasPrefix(body, "durward: ")
	}},
	{ViaHTTP, func(w *world, host, port string) bool {
		c := w.dial()
		c.say("GET http://" + host + ":" + port + "/ HTTP/1.1\r\nHost: " + host + ":" + port + "\r\n\r\n")
		a, body := c.answer("GET")
		return a.StatusCode == 403 && strings.HasPrefix(body, "durward: ")
	}},
	{ViaSOCKS5, func(w *world, host, port string) bool {
		if inner, ok := strings.CutPrefix(host, "["); ok {
			host = strings.TrimSuffix(inner, "]")
		}
		_, code := w.socks5(1, domain(host), port)
		return code == 2
	}},
}

// reads is hears without a buffer.
func (c *peer) reads(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.TCPConn, got); err != nil || string(got) != want {
		c.t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}
