package egress

import (
	"crypto/tls"
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"github.com/durward/durward/internal/netguard"
)

// helloFor gives a hello as crypto/tls writes it.
func helloFor(t testing.TB, name string) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
		client.Close()
	}()
	b := make([]byte, 1<<16)
	n, err := server.Read(b)
	must(t, err)
	return b[:n]
}

// serverName reads what is there at once.
func serverName(b []byte) (name string, need int, err error) {
	var r helloReader
	return r.read(b)
}

// cut spreads the hello over records of so many bytes.
func cut(hello []byte, size int) []byte {
	var out []byte
	for rest := hello[recordHeader:]; len(rest) > 0; {
		piece := rest[:min(size, len(rest))]
		rest = rest[len(piece):]
		out = append(binary.BigEndian.AppendUint16(append(out, 0x16, 3, 1), uint16(len(piece))), piece...)
	}
	return out
}

func TestServerName(t *testing.T) {
	for _, name := range []string{"a.test", "A.Test", ""} {
		for _, size := range []int{1, 2, 3, 4, 5, 100, 1 << 14} {
			hello := cut(helloFor(t, name), size)
			got, need, err := serverName(append(hello, "rest"...))
			if err != nil || got != name || need != len(hello) {
				t.Errorf("%q in pieces of %d gave %q, %d of %d, %v", name, size, got, need, len(hello), err)
			}
			var r helloReader
			for n := range hello {
				if _, need, err := r.read(hello[:n]); err != nil || need <= n || need > len(hello) {
					t.Fatalf("the first %d of %d bytes gave %d, %v", n, len(hello), need, err)
				}
			}
			if got, need, err = r.read(hello); err != nil || got != name || need != len(hello) {
				t.Errorf("%q, byte by byte, gave %q, %d of %d, %v", name, got, need, len(hello), err)
			}
		}
	}
}

// without takes the record header off, changes the hello, and makes a record of it again.
func changed(hello []byte, f func([]byte) []byte) []byte {
	body := f(append([]byte(nil), hello[recordHeader:]...))
	return cut(append(make([]byte, recordHeader), body...), 1<<14)
}

// helloWith is a hello with those extensions and nothing else of interest.
func helloWith(extensions ...string) []byte {
	all := strings.Join(extensions, "")
	body := "\x03\x03" + strings.Repeat("r", 32) + "\x00" + "\x00\x02\x13\x01" + "\x01\x00" + length(2, all)
	return cut([]byte("12345\x01"+length(3, body)), 1<<14)
}

func length(bytes int, s string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(s)))
	return string(b[4-bytes:]) + s
}

func nameExtension(names ...string) string {
	list := ""
	for _, name := range names {
		list += "\x00" + length(2, name)
	}
	return "\x00\x00" + length(2, length(2, list))
}

func TestHellosThatAreNone(t *testing.T) {
	good := helloWith(nameExtension("a.test"))
	if name, _, err := serverName(good); name != "a.test" || err != nil {
		t.Fatalf("%q, %v", name, err)
	}
	for what, b := range map[string][]byte{
		"two names":                helloWith(nameExtension("a.test", "b.test")),
		"the extension twice":      helloWith(nameExtension("a.test"), nameExtension("b.test")),
		"another extension twice":  helloWith(nameExtension("a.test"), "\x00\x10\x00\x00", "\x00\x10\x00\x00"),
		"an empty name":            helloWith(nameExtension("")),
		"no name in the extension": helloWith(nameExtension()),
		"another type of name":     helloWith("\x00\x00" + length(2, length(2, "\x01"+length(2, "a.test")))),
		"bytes after the name":     helloWith("\x00\x00" + length(2, length(2, "\x00"+length(2, "a.test"))+"x")),
		"a cut extension":          helloWith("\x00\x00\x00\xff"),
		"another message":          changed(good, func(b []byte) []byte { b[0] = 2; return b }),
		"bytes after the hello":    changed(good, func(b []byte) []byte { return append(b, 0) }),
		"a second hello behind":    changed(good, func(b []byte) []byte { return append(b, b...) }),
		"bytes after extensions":   changed(good, func(b []byte) []byte { b[3]++; return append(b, 0) }),
		"an empty record":          append([]byte{0x16, 3, 1, 0, 0}, good...),
		"a record too large":       append([]byte{0x16, 3, 1, 0x40, 1}, make([]byte, 1<<14+1)...),
		"an alert in between":      append(cut(good, 10)[:15], 0x15, 3, 1, 0, 2, 1, 0),
		"another protocol":         append([]byte{0x16, 4}, good[2:]...),
	} {
		if name, need, err := serverName(b); err == nil {
			t.Errorf("%s gave %q, %d of %d", what, name, need, len(b))
		}
	}
}

func TestMatchName(t *testing.T) {
	for _, tt := range []struct {
		name, host string
		want       bool
	}{
		{"a.test", "a.test", true},
		{"A.TEST", "a.test", true},
		{"", "127.0.0.1", true},
		{"", "::1", true},
		{"", "a.test", false},
		{"b.test", "a.test", false},
		{"a.test.", "a.test", false},
		{"\u212a.test", "k.test", false}, // stands for k where all letters are folded
		{"127.0.0.1", "127.0.0.1", false},
		{"a.test", "127.0.0.1", false},
		{"a.test\x00", "a.test", false},
	} {
		if err := matchName(tt.name, netguard.Host(tt.host)); (err == nil) != tt.want {
			t.Errorf("%q for %s: %v", tt.name, tt.host, err)
		}
	}
}

// The hello for the name that was asked for arrives as it was said, however it was cut.
func TestRequiredNameIsThere(t *testing.T) {
	w := newWorld(t, requireSNI)
	for via, open := range opened(t, w) {
		for _, size := range []int{1, 1 << 14} {
			hello := string(cut(helloFor(t, "a.TEST"), size))
			c := open()
			up := w.target.accept(t)
			for i := range len(hello) { // each byte may be a segment of its own
				if i == len(hello)-1 && len(w.events) > 0 {
					t.Error("told before the hello was whole")
				}
				c.say(hello[i : i+1])
			}
			c.say("more")
			said(t, up, hello+"more")
			w.tells(w.event("a.test", via, ""))
			c.Close()
		}
	}
	w.toldAll()
}

// Of another hello not one byte leaves, and there is one event.
func TestRequiredNameIsNotThere(t *testing.T) {
	w := newWorld(t, requireSNI)
	good := helloFor(t, "a.test")
	var bad []string
	for _, b := range [][]byte{
		helloFor(t, "b.test"), helloFor(t, ""), cut(helloFor(t, "b.test"), 7), helloWith(nameExtension("a.test", "b.test")),
		{0x16, 3, 1, 0, 0},
		{0x16, 0, 0, 0, 0},
		append([]byte("\x15\x03\x01\x00\x02\x01\x5a"), helloFor(t, "b.test")...), // a warning, which servers pass over
		append([]byte("\x14\x03\x01\x00\x01\x01"), good...),
		[]byte("\x16GET / HTTP/1.1\r\n\r\n"), cut(good, 1<<14)[:len(good)-1],
		append(cut([]byte("12345\x01\x00\xff\xff"+strings.Repeat("x", 3*intakeBytes)), 1<<14), 0), // too large
	} {
		bad = append(bad, string(b))
	}
	for via, open := range opened(t, w) {
		for _, hello := range bad {
			c := open()
			up := w.target.accept(t)
			_, _ = c.Write([]byte(hello)) // may be cut short
			_ = c.CloseWrite()
			c.closed()
			w.tells(w.event("a.test", via, RuleSNI))
			if n, err := up.Read(make([]byte, 1)); n > 0 || err == nil || isTimeout(err) {
				t.Errorf("%s: the target read %d bytes, %v", via, n, err)
			}
		}
	}
	if totals := w.toldAll(); totals.Up != 0 || len(totals.Refused.Listed) != 1 || len(totals.Allowed.Listed) != 0 {
		t.Errorf("totals %+v", totals)
	}
}

func TestAnAddressHasNoName(t *testing.T) {
	w := newWorld(t, requireSNI)
	hello := string(helloFor(t, ""))
	c := w.connect(w.at("127.0.0.1"))
	c.say(hello)
	said(t, w.target.accept(t), hello)
	w.tells(w.event("127.0.0.1", ViaConnect, ""))
	c = w.connect(w.at("127.0.0.1"))
	c.say(string(helloFor(t, "a.test")))
	c.closed()
	w.tells(w.event("127.0.0.1", ViaConnect, RuleSNI))
}

// What is no TLS is not asked for a name, and is held up by nothing.
func TestRequiredNameHoldsUpNothingElse(t *testing.T) {
	w := newWorld(t, requireSNI)
	for via, open := range opened(t, w) {
		c := open()
		up := w.target.accept(t)
		_, err := up.Write([]byte("220 the server speaks first"))
		must(t, err)
		c.hears("220 the server speaks first")
		if len(w.events) > 0 {
			t.Error("told before it was known what the client would say")
		}
		c.say("\x15E") // the first byte of an alert, and no more of one
		said(t, up, "\x15E")
		w.tells(w.event("a.test", via, ""))
		c.Close()

		c = open() // and one that never says anything
		up = w.target.accept(t)
		_, err = up.Write([]byte("x"))
		must(t, err)
		c.hears("x")
		must(t, c.CloseWrite())
		if n, err := up.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%d, %v", n, err)
		}
		w.tells(w.event("a.test", via, ""))
	}
	w.toldAll()
}

// A real handshake goes through, to the end.
func TestTLSThroughATunnel(t *testing.T) {
	w := newWorld(t, requireSNI)
	c := w.connect(w.at("a.test"))
	up := w.target.accept(t)
	var got string
	server := tls.Server(up, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		got = h.ServerName
		return nil, net.ErrClosed
	}})
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Handshake(); up.Close() }()
	if err := tls.Client(c.TCPConn, &tls.Config{ServerName: "a.test", InsecureSkipVerify: true}).Handshake(); err == nil || isTimeout(err) {
		t.Errorf("the handshake ended with %v", err)
	}
	<-done
	if got != "a.test" {
		t.Errorf("the target was asked for %q", got)
	}
}

// FuzzServerName: whatever a hello says, it says it in the same way however it is cut and
// wherever it ends.
func FuzzServerName(f *testing.F) {
	f.Add(helloFor(f, "a.test"), 7)
	f.Add(helloFor(f, ""), 1)
	f.Add(helloWith(nameExtension("a.test")), 3)
	f.Add(helloWith(nameExtension("a.test", "b.test")), 3)
	f.Add([]byte{0x16, 3, 1, 0, 4, 1, 0, 0, 0}, 2)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		var r helloReader
		name, need, err := r.read(b)
		if err != nil && (name != "" || need > len(b)) {
			t.Fatalf("%q, %d, %v", name, need, err)
		}
		if err != nil || need > len(b) {
			return
		}
		hello := r.hello
		if !strings.Contains(string(hello), name) {
			t.Fatalf("%q is not in the hello", name)
		}
		var slow helloReader
		for n := range need {
			if _, more, err := slow.read(b[:n]); err != nil || more <= n || more > need {
				t.Fatalf("the first %d bytes gave %d, %v", n, more, err)
			}
		}
		if other, _, err := slow.read(b); err != nil || other != name {
			t.Fatalf("%q, byte by byte, gave %q, %v", name, other, err)
		}
		if at = at % len(hello); at < 1 {
			at = len(hello)
		}
		again := cut(append(make([]byte, recordHeader), hello...), min(at, 1<<14))
		if other, _, err := serverName(again); err != nil || other != name {
			t.Fatalf("%q, cut otherwise, gave %q, %v", name, other, err)
		}
	})
}
