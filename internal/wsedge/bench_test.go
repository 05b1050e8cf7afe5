package wsedge_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/wsedge"
)

// A frame as long as one that carries 8 KiB of output.
var output = []byte(`{"method":"process/output","params":{"chunk":"` + strings.Repeat("QUJD", 11<<10/4) + `"}}`)

// each runs a benchmark against the edge, and against the library with nothing around it.
func each(b *testing.B, handle func(context.Context, wsedge.Conn), run func(b *testing.B, c *websocket.Conn)) {
	b.Run("bare", func(b *testing.B) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				b.Error(err)
				return
			}
			defer func() { _ = c.CloseNow() }()
			handle(r.Context(), bare{c})
		}))
		defer s.Close()
		run(b, dial(b, strings.TrimPrefix(s.URL, "http://"), nil))
	})
	b.Run("edge", func(b *testing.B) { run(b, dial(b, start(b, wsedge.Options{}, handle), nil)) })
}

// bare is the library alone.
type bare struct{ *websocket.Conn }

func (c bare) Read(ctx context.Context) ([]byte, error) {
	_, message, err := c.Conn.Read(ctx)
	return message, err
}

func (c bare) Close() error { return c.CloseNow() }

func (c bare) Caller() (_ durward.Caller) { return }

func (c bare) Remote() (_ string) { return }

func (c bare) Write(ctx context.Context, messages ...[]byte) error {
	for _, message := range messages {
		if err := c.Conn.Write(ctx, websocket.MessageText, message); err != nil {
			return err
		}
	}
	return nil
}

func BenchmarkRoundTrip(b *testing.B) {
	message := []byte(`{"id":1,"method":"initialize","params":{"clientName":"bench"}}`)
	each(b, echo, func(b *testing.B, c *websocket.Conn) {
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Write(context.Background(), websocket.MessageText, message); err != nil {
				b.Fatal(err)
			}
			if _, got, err := c.Read(context.Background()); err != nil || !bytes.Equal(got, message) {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOutput is a peer that reads what is written as fast as that goes.
func BenchmarkOutput(b *testing.B) {
	flood := func(ctx context.Context, c wsedge.Conn) {
		for c.Write(ctx, output) == nil {
		}
	}
	each(b, flood, func(b *testing.B, c *websocket.Conn) {
		b.SetBytes(int64(len(output)))
		b.ReportAllocs()
		buffer := make([]byte, len(output)+1)
		for b.Loop() {
			_, r, err := c.Reader(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for err == nil {
				var m int
				m, err = r.Read(buffer[n:])
				n += m
			}
			if n != len(output) {
				b.Fatal(n, err)
			}
		}
	})
}
