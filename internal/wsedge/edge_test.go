package wsedge_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/durward/durward/internal/wsedge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

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
func start(t *testing.T, o wsedge.Options, handle func(context.Context, wsedge.Conn)) string {
	t.Helper()
	addr, stop := startUntil(t, o, handle)
	t.Cleanup(stop)
	return addr
}

// startUntil gives a function as well that ends the server and waits for it.
func startUntil(t *testing.T, o wsedge.Options, handle func(context.Context, wsedge.Conn)) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wsedge.Serve(ctx, l, o, handle) }()
	return l.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// dial opens a WebSocket with the library's client.
func dial(t *testing.T, addr string, o *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	c, res, err := websocket.Dial(t.Context(), "ws://"+addr, o)
	if err != nil {
		t.Fatal(err)
	}
	if res.Body != nil {
		res.Body.Close()
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func TestMessagesGoThereAndBack(t *testing.T) {
	c := dial(t, start(t, wsedge.Options{}, echo), nil)
	for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
		if err := c.Write(t.Context(), kind, []byte(`{"id":1}`)); err != nil {
			t.Fatal(err)
		}
		got, message, err := c.Read(t.Context())
		if err != nil || got != websocket.MessageText || string(message) != `{"id":1}` {
			t.Fatalf("%v %q, %v", got, message, err)
		}
	}
}
