package wsedge_test

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/durward/durward/internal/wsedge"
)

// FuzzPeers lets a peer say anything once the connection is open: what is read of it is
// text within the limit, and its end is noticed.
func FuzzPeers(f *testing.F) {
	for _, seed := range [][]byte{
		frame(text, "{}"),
		slices.Concat(frame(firstText, "["), frame(pinging, "x"), frame(last, "]")),
		slices.Concat(frame(ponging, "12345678"), frame(binaryText, "\xff")),
		frame(closing, "\x03\xe8"),
		frameHead(text, 0x80, 1<<40),
		frame(text, string(make([]byte, 5000))),
	} {
		f.Add(seed)
	}
	const limit = 4 << 10
	ended := make(chan struct{})
	addr := start(f, wsedge.Options{MaxMessage: limit}, func(ctx context.Context, c wsedge.Conn) {
		defer func() { ended <- struct{}{} }()
		for {
			message, err := c.Read(ctx)
			if err != nil {
				return
			}
			if len(message) >= limit || !utf8.Valid(message) {
				f.Errorf("%d bytes: %.80q", len(message), message)
			}
		}
	})
	f.Fuzz(func(t *testing.T, words []byte) {
		c := open(t, addr)
		if _, err := c.Write(words); isTimeout(err) { // it may be dropped meanwhile
			t.Fatal("nobody reads")
		}
		_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("its end is not noticed")
		}
		if _, err := io.Copy(io.Discard, c); isTimeout(err) {
			t.Fatal("the connection is left")
		}
		c.Close()
	})
}
