package httpedge_test

import (
	"bufio"
	"net"
	"testing"

	"github.com/durward/durward/internal/httpedge"
)

// What only the kernel can be asked about.
var goneHere = []struct {
	name    string
	hidden  bool
	request string
	leave   func(*testing.T, *net.TCPConn)
}{
	{"close behind another request", false, callHead + second, func(_ *testing.T, c *net.TCPConn) { _ = c.Close() }},
	{"close in the middle of a body that nobody reads", false, "POST /unread HTTP/1.1\nHost: ADDR\nContent-Length: 9\n\n{", func(_ *testing.T, c *net.TCPConn) { _ = c.Close() }},
	{"close behind the head of the answer", false, "GET /stream HTTP/1.1\nHost: ADDR\n\n", func(_ *testing.T, c *net.TCPConn) { _ = c.Close() }},
	{"close by HTTP/1.0", false, "GET / HTTP/1.0\nHost: ADDR\n\n", func(_ *testing.T, c *net.TCPConn) { _ = c.Close() }},
	{"both sides shut down", false, callHead, func(t *testing.T, c *net.TCPConn) {
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := c.CloseRead(); err != nil {
			t.Fatal(err)
		}
	}},
}

// A client on this machine is never sent anything that it did not ask for.
func TestHalfClosedLocalClientSeesTheAnswerOnly(t *testing.T) {
	s, c, running := startCall(t, false, callHead)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	running.stillRuns(t)
	close(running.answer)
	if a := s.only(c, "POST"); a.StatusCode != 200 || a.body != "the answer" {
		t.Errorf("got %d %q", a.StatusCode, a.body)
	}
}

// Bound to every address, the server is known by the one that the client reached.
func TestServerBoundToEveryAddress(t *testing.T) {
	l, err := httpedge.Listen(t.Context(), httpedge.Address{Host: "0.0.0.0", AllowRemote: true})
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := startOn(t, l, &door{}, siteRules, httpedge.Options{})
	tests := []struct {
		to, host string
		status   int
	}{
		{"127.0.0.1", "127.0.0.1:" + port, 200},
		{"127.0.0.2", "127.0.0.2:" + port, 200},
		{"127.0.0.1", "localhost:" + port, 200},
		{"127.0.0.1", "0.0.0.0:" + port, 200},
		{"127.0.0.1", "127.0.0.2:" + port, 403},
		{"127.0.0.2", "127.0.0.1:" + port, 403},
		{"127.0.0.1", "10.0.0.1:" + port, 403},
		{"127.0.0.1", "127.0.0.1:1", 403},
		{"127.0.0.1", "[::]:" + port, 403},
		{"127.0.0.1", "evil.example:" + port, 403},
	}
	for _, tt := range tests {
		s.addr = net.JoinHostPort(tt.to, port)
		a := s.read(bufio.NewReader(s.send("GET / HTTP/1.1\nHost: "+tt.host+"\n\n")), "GET")
		if a.StatusCode != tt.status {
			t.Errorf("host %s at %s: got %d, want %d", tt.host, tt.to, a.StatusCode, tt.status)
		}
	}
}
