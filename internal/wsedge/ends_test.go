package wsedge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durward/durward/internal/wsedge"
)

// TestMessagesOfManyWriters arrive whole, and those of one writer in order.
func TestMessagesOfManyWriters(t *testing.T) {
	const writers, each = 8, 200
	c := open(t, start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
		var writing sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				for i := range each {
					body := strings.Repeat(string(rune('a'+w)), i*i)
					if err := c.Write(ctx, fmt.Appendf(nil, "%d %d %s", w, i, body)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writing.Wait()
	}))
	var next [writers]int
	for range writers * each {
		first, payload, err := c.hear()
		noError(t, err)
		var w, i int
		head, body, _ := strings.Cut(payload, " ")
		number, body, _ := strings.Cut(body, " ")
		_, err = fmt.Sscan(head+" "+number, &w, &i)
		noError(t, err)
		if first != text || i != next[w] || body != strings.Repeat(string(rune('a'+w)), i*i) {
			t.Fatalf("%#x: writer %d, message %d, %d bytes; expected message %d", first, w, i, len(body), next[w])
		}
		next[w]++
	}
	c.ends()
}

// big is more than there is room for between two ends.
var big = []byte(strings.Repeat("0123456789abcdef", 4<<20))

// heads reads the head of the frame with big: its writer now waits for room.
func (c *raw) heads() {
	c.Helper()
	head := make([]byte, 10)
	if _, err := io.ReadFull(c.in, head); err != nil || head[0] != text || head[1] != 127 {
		c.Fatalf("%x, %v", head, err)
	}
}

// tails reads the rest of it.
func (c *raw) tails() {
	c.Helper()
	rest := make([]byte, len(big))
	if _, err := io.ReadFull(c.in, rest); err != nil || !bytes.Equal(rest, big) {
		c.Fatal("another message", err)
	}
}

// TestCloseEndsWhatWaits for the connection.
func TestCloseEndsWhatWaits(t *testing.T) {
	conns := make(chan wsedge.Conn, 1)
	c := open(t, start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
		var waiting sync.WaitGroup
		for range 4 { // one holds the turn and the others wait for it
			waiting.Go(func() {
				if err := c.Write(context.Background(), big); err == nil {
					t.Error("a write succeeded")
				}
			})
		}
		conns <- c
		if _, err := c.Read(context.Background()); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		waiting.Wait()
		if ctx.Err() == nil {
			t.Error("the context lives")
		}
		if err := c.Write(context.Background(), []byte("{}")); err == nil {
			t.Error("a write succeeded after the end")
		}
		conns <- c
	}))
	c.heads()
	noError(t, (<-conns).Close())
	noError(t, (<-conns).Close())
}

// TestTheEndOfAContext ends what it was given to, and the connection with it where a
// message could be left in half.
func TestTheEndOfAContext(t *testing.T) {
	t.Run("before the turn", func(t *testing.T) {
		tried := make(chan struct{})
		c := open(t, start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
			waiting, cancel := context.WithCancel(ctx)
			var writing sync.WaitGroup
			writing.Go(func() {
				if err := c.Write(ctx, big); err != nil {
					t.Error(err)
				}
			})
			if _, err := c.Read(ctx); err != nil { // says that big is under way
				t.Error(err)
			}
			writing.Go(cancel)
			if err := c.Write(waiting, []byte("never")); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			close(tried)
			writing.Wait()
			if err := c.Write(waiting, []byte("never")); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if err := c.Write(ctx, []byte("next")); err != nil {
				t.Error(err)
			}
			_, _ = c.Read(ctx)
		}))
		c.heads()
		c.say(frame(text, "go on"))
		<-tried
		c.tails()
		c.hears(text, "next")
	})
	t.Run("within the message", func(t *testing.T) {
		writing, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		c := open(t, start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
			ended <- c.Write(writing, big)
			<-ctx.Done()
		}))
		c.heads()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("while reading", func(t *testing.T) {
		reading, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		c := open(t, start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
			_, err := c.Read(reading)
			<-ctx.Done()
			ended <- err
		}))
		cancel()
		c.ends()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestTheEndOfTheServer waits for handlers and for no peer.
func TestTheEndOfTheServer(t *testing.T) {
	var handlers atomic.Int32
	addr, stop := startUntil(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
		handlers.Add(1)
		defer handlers.Add(-1)
		message, err := c.Read(ctx)
		if err != nil {
			return
		}
		if err = c.Write(ctx, message); err == nil {
			err = c.Write(ctx, big)
		}
		if err == nil || ctx.Err() == nil {
			t.Error("not ended by the server:", err)
		}
	})
	var peers []*raw
	for range 20 {
		unread := open(t, addr)
		unread.say(frame(text, "{}"))
		unread.hears(text, "{}")
		unread.heads()
		half := open(t, addr)
		half.say(frame(text, "abc")[:7])
		asking, plain := connect(t, addr), connect(t, addr)
		asking.say([]byte("GET / HTTP/1.1\r\n"))
		plain.ask("GET /readyz HTTP/1.1\nHost: ADDR\n")
		peers = append(peers, unread, open(t, addr), half, asking, plain, connect(t, addr))
	}
	began := time.Now()
	stop()
	if took := time.Since(began); took > 5*time.Second || handlers.Load() != 0 {
		t.Errorf("%d handlers are left after %s", handlers.Load(), took)
	}
	for _, p := range peers {
		if _, err := io.Copy(io.Discard, p); isTimeout(err) {
			t.Error("a connection is left")
		}
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("connections are still accepted")
	}
}

// TestIdleConnectionsAreSmall opens a thousand.
func TestIdleConnectionsAreSmall(t *testing.T) {
	const many, most = 1000, 48 << 10
	addr := start(t, wsedge.Options{}, echo)
	before := memory()
	for range many {
		c := open(t, addr)
		c.say(frame(text, "{}"))
		c.hears(text, "{}")
	}
	// The peers are in here as well, with a buffer of 4 KiB each.
	each := (memory() - before) / many
	t.Logf("%d bytes for a connection and its peer", each)
	if each > most {
		t.Errorf("more than %d", most)
	}
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
