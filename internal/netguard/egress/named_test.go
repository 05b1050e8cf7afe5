package egress

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/durward/durward/internal/netguard"
)

// named gives the address at which clients believe to have reached the target's port of
// any host.
func (w *world) named() string {
	w.t.Helper()
	l := listen(w.t)
	port := w.event("", "", "").Port
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.TakeNamed(conn, port)
		}
	}()
	w.t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// asking is a handshake for a name with whoever is at the address.
func asking(t *testing.T, address, name string) error {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	defer conn.Close()
	return tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true}).HandshakeContext(t.Context())
}

// isAccessDenied tells whether the other side sent that alert, which has no type of its own.
func isAccessDenied(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "remote error: tls: access denied")
}

func TestClientWithoutAProxyIsTakenWhereItsHelloSays(t *testing.T) {
	w := newWorld(t, requireSNI)
	address := w.named()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(o http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(o, r.TLS.ServerName)
	}))
	server.Listener.Close()
	server.Listener = w.target
	server.StartTLS()
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		},
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}}
	for _, host := range []string{"a.test", "x.w.test"} {
		answered, err := client.Get("https://" + w.at(host))
		must(t, err)
		body, err := io.ReadAll(answered.Body)
		must(t, err)
		answered.Body.Close()
		if string(body) != host {
			t.Errorf("the target saw a hello for %q, want %q", body, host)
		}
		w.tells(w.event(host, ViaSNI, ""))
	}
	w.toldAll()
}

func TestHelloThatMayNotPassIsAlerted(t *testing.T) {
	w := newWorld(t)
	address := w.named()
	for _, name := range []string{"c.test", "w.test", "localhost"} {
		if err := asking(t, address, name); !isAccessDenied(err) {
			t.Errorf("a hello for %s: %v, want an alert", name, err)
		}
		w.tells(w.event(name, ViaSNI, RuleAllow))
	}
	if err := asking(t, address, ""); !isAccessDenied(err) {
		t.Errorf("a hello for nobody: %v, want an alert", err)
	}
	w.tells(Event{Via: ViaSNI, Rule: RuleSNI})
	w.target.sawNobody(t)
	w.toldAll()
}

// A name of the list that leads to an address inside is refused as at the proxy.
func TestNamedHostAtAPrivateAddress(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Dialer.AllowPrivate = nil })
	if err := asking(t, w.named(), "a.test"); !isAccessDenied(err) {
		t.Errorf("%v, want an alert", err)
	}
	w.tells(w.event("a.test", ViaSNI, RulePrivate))
	w.target.sawNobody(t)
}

func TestRequestWithoutAProxyGoesWhereItsHostFieldSays(t *testing.T) {
	w := newWorld(t)
	w.target.serve(t, func(o http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(o, r.Host+r.RequestURI)
	})
	c := dial(t, w.named())
	for _, host := range []string{w.at("a.test"), "b.test", w.at("x.w.test")} {
		c.say("GET /path?q=1 HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		name := strings.TrimSuffix(host, ":"+w.target.port)
		if a, body := c.answer("GET"); a.StatusCode != 200 || body != w.at(name)+"/path?q=1" {
			t.Errorf("%s: %d %q", host, a.StatusCode, body)
		}
		w.tells(w.event(name, ViaHost, ""))
	}
	w.toldAll()
}

func TestNamedRequestsThatMayNotPass(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Remedies.Host = "is not in the manifest" })
	address := w.named()
	for _, o := range []struct {
		request string
		status  int
		event   Event
	}{
		{"GET / HTTP/1.1\r\nHost: c.test\r\n\r\n", 403, w.event("c.test", ViaHost, RuleAllow)},
		{"GET / HTTP/1.1\r\nHost: u@a.test\r\n\r\n", 403, Event{Via: ViaHost, Rule: RuleHost}},
		{"GET / HTTP/1.1\r\nHost: a.test:1\r\n\r\n", 400, Event{Via: ViaHost, Rule: RuleRequest}},
		{"GET / HTTP/1.1\r\nHost: \r\n\r\n", 400, Event{Via: ViaHost, Rule: RuleRequest}},
		{"GET / HTTP/1.0\r\n\r\n", 400, Event{Via: ViaHost, Rule: RuleRequest}},
		{"GET http://" + w.at("a.test") + "/ HTTP/1.1\r\nHost: " + w.at("a.test") + "\r\n\r\n", 400, Event{Via: ViaHost, Rule: RuleRequest}},
		{"CONNECT " + w.at("a.test") + " HTTP/1.1\r\nHost: x\r\n\r\n", 400, Event{Via: ViaHost, Rule: RuleRequest}},
		{"\x05\x01\x00", 400, Event{Via: ViaHost, Rule: RuleRequest}},
	} {
		c := dial(t, address)
		c.say(o.request)
		a, body := c.answer("GET")
		if a.StatusCode != o.status {
			t.Errorf("%q: %d, want %d", o.request, a.StatusCode, o.status)
		}
		if want := " is not in the manifest\n"; o.event.Rule == RuleAllow && !strings.HasSuffix(body, want) {
			t.Errorf("%q: %q does not end with %q", o.request, body, want)
		}
		w.tells(o.event)
		c.Close()
	}
	w.target.sawNobody(t)
	w.toldAll()
}

// One more than there is room for is closed, and another one is served once there is.
func TestNamedClientsHaveThePlacesOfAll(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Connections = 1 })
	address := w.named()
	first := dial(t, address)
	first.say("GET / HTTP/1.1\r\nHost: c.test\r\n\r\n")
	first.answer("GET")
	w.next()
	turnedAway(t, address)
	w.tells(Event{Rule: RuleConnections})
	first.Close()
	<-w.places()
}

// places is told when no connection is served any more.
func (w *world) places() chan struct{} {
	free := make(chan struct{})
	go func() {
		defer close(free)
		w.slots <- struct{}{}
		<-w.slots
	}()
	return free
}

func TestAnyPublicHost(t *testing.T) {
	d := &netguard.Dialer{AnyHost: true}
	for target, want := range map[string]bool{
		"example.com:443": true, "example.com:25": true, "8.8.8.8:53": true,
		"localhost:80": false, "metadata.google.internal:80": false, "10.0.0.1:80": false, "169.254.169.254:80": false,
	} {
		to, err := netguard.ParseTarget(target)
		must(t, err)
		if err := d.Check(to); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", target, err, want)
		}
	}
}
