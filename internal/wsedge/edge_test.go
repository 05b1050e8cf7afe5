package wsedge_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/durward/durward/internal/wsedge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// echo sends back what it gets.
func echo(ctx context.Context, c wsedge.Conn) {
	for {
		message, err := c.Read(ctx)
		if err != nil {
			return
		}
		_ = c.Write(ctx, message)
	}
}

// start serves until the test ends and gives the address.
func start(t testing.TB, o wsedge.Options, handle func(context.Context, wsedge.Conn)) string {
	t.Helper()
	addr, stop := startUntil(t, o, handle)
	t.Cleanup(stop)
	return addr
}

// startUntil gives a function as well that ends the server and waits for it.
func startUntil(t testing.TB, o wsedge.Options, handle func(context.Context, wsedge.Conn)) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	return l.Addr().String(), serve(t, l, o, handle)
}

func serve(t testing.TB, l net.Listener, o wsedge.Options, handle func(context.Context, wsedge.Conn)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wsedge.Serve(ctx, l, o, handle) }()
	return func() {
		t.Helper()
		cancel()
		select {
		case err := <-ended:
			noError(t, err)
		case <-time.After(patience):
			t.Fatal("the server did not end")
		}
	}
}

// dial opens a WebSocket with the library's client.
func dial(t testing.TB, addr string, o *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	c, res, err := websocket.Dial(context.Background(), "ws://"+addr, o)
	noError(t, err)
	if res.Body != nil {
		res.Body.Close()
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Opening asks for a WebSocket; the key and its answer are those of RFC 6455.
const (
	opening = "GET / HTTP/1.1\nHost: ADDR\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n"
	accept  = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
)

// A raw is a connection on which a test says what it likes.
type raw struct {
	testing.TB
	net.Conn
	in *bufio.Reader
}

// connect opens one on which everything must happen within patience.
func connect(t testing.TB, addr string) *raw {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	noError(t, err)
	t.Cleanup(func() { c.Close() })
	noError(t, c.SetDeadline(time.Now().Add(patience)))
	return &raw{t, c, bufio.NewReader(c)}
}

// ask sends a request. "ADDR" stands for the server's address, and a line ends with "\n".
func (c *raw) ask(request string) *http.Response {
	c.Helper()
	request = strings.ReplaceAll(strings.ReplaceAll(request+"\n", "ADDR", c.RemoteAddr().String()), "\n", "\r\n")
	c.say([]byte(request))
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(c.in, &http.Request{Method: method})
	noError(c, err)
	res.Body.Close()
	return res
}

// open makes a WebSocket of a new connection.
func open(t testing.TB, addr string) *raw {
	t.Helper()
	c := connect(t, addr)
	res := c.ask(opening)
	if res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Sec-WebSocket-Accept") != accept {
		t.Fatalf("%s %v", res.Status, res.Header)
	}
	return c
}

func (c *raw) say(b []byte) {
	c.Helper()
	if _, err := c.Write(b); err != nil {
		c.Fatal(err)
	}
}

// The first bytes of frames.
const (
	text, binaryText           = 0x81, 0x82
	firstText, middle, last    = 0x01, 0x00, 0x80
	closing, pinging, ponging  = 0x88, 0x89, 0x8a
	reservedBit, unknownOpcode = 0x40, 0x83
)

// frame makes a frame that is masked, with the mask 1 2 3 4.
func frame(first byte, payload string) []byte {
	b := frameHead(first, 0x80, uint64(len(payload)))
	mask := bytes.Repeat([]byte{1, 2, 3, 4}, 1+len(payload)/4)
	masked := make([]byte, len(payload))
	subtle.XORBytes(masked, []byte(payload), mask)
	return append(append(b, mask[:4]...), masked...)
}

func frameHead(first, mask byte, size uint64) []byte {
	switch {
	case size < 126:
		return []byte{first, mask | byte(size)}
	case size < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{first, mask | 126}, uint16(size))
	}
	return binary.BigEndian.AppendUint64([]byte{first, mask | 127}, size)
}

// hear reads one frame, which has to be unmasked.
func (c *raw) hear() (first byte, payload string, err error) {
	head := make([]byte, 2, 8)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return 0, "", err
	}
	first, size := head[0], uint64(head[1])
	switch size {
	case 126:
		_, err = io.ReadFull(c.in, head)
		size = uint64(binary.BigEndian.Uint16(head))
	case 127:
		_, err = io.ReadFull(c.in, head[:8])
		size = binary.BigEndian.Uint64(head[:8])
	}
	if err != nil {
		return 0, "", err
	}
	if size > 1<<30 {
		return 0, "", fmt.Errorf("a frame of %d bytes", size)
	}
	b := make([]byte, size)
	_, err = io.ReadFull(c.in, b)
	return first, string(b), err
}

// hears wants this frame next, pings of the server apart.
func (c *raw) hears(first byte, payload string) {
	c.Helper()
	got, what, err := c.hear()
	for err == nil && got == pinging {
		got, what, err = c.hear()
	}
	if err != nil || got != first || what != payload {
		c.Fatalf("%#x %.80q (%d bytes), %v, want %#x %.80q", got, what, len(what), err, first, payload)
	}
}

// ends wants the end of the connection, and no message before.
func (c *raw) ends() {
	c.Helper()
	for {
		first, payload, err := c.hear()
		var slow net.Error
		switch {
		case errors.As(err, &slow) && slow.Timeout():
			c.Fatal("the connection lives")
		case err != nil:
			return
		case first == text:
			c.Fatalf("an answer: %.80q", payload)
		}
	}
}
