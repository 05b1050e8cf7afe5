// Package wsedge is the edge between a peer and a door that exchanges whole messages
// with it, over a WebSocket (RFC 6455) or over standard input and output.
//
// [Serve] takes the connections of a listener. On "/" a request becomes a WebSocket,
// "/readyz" says that the server runs, and nothing else is there. [Stdio] makes a
// connection of two streams, with a message on each line. Whoever answers sees the same
// [Conn] either way:
//
//	err := wsedge.Serve(ctx, l, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
//		for {
//			message, err := c.Read(ctx)
//			if err != nil {
//				return
//			}
//			_ = c.Write(ctx, message) // an echo
//		}
//	})
package wsedge

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/durward/durward"
)

// A Conn carries whole messages, which are UTF-8 text, between two ends. Read is for one
// goroutine at a time; all else is safe for concurrent use.
type Conn interface {
	// Read gives the next message, which is the caller's to keep. The connection is over
	// with any error: io.EOF when the peer is gone in whatever way, or after Close, though
	// one on standard input and output may still read what is written;
	// that of ctx, which ends the connection; and any other says what was wrong with
	// what the peer sent.
	Read(ctx context.Context) ([]byte, error)
	// Write sends messages, one right behind the other, and waits while the peer does not read.
	// It does not keep them. When ctx ends before their turn has come, nothing of them is
	// sent; later, the end of ctx ends the connection.
	Write(ctx context.Context, messages ...[]byte) error
	// Close ends the connection at once and makes Read and Write return. It may be
	// called more than once.
	Close() error
	// Caller is who the peer was found to be.
	Caller() durward.Caller
	// Remote is the peer's address, or "stdio".
	Remote() string
}

// DefaultMaxMessage is the size that ends a connection where nothing else was said.
const DefaultMaxMessage = 16 << 20

// Options bound what peers can hold of a server. The zero value of each member means its
// default; there is no "unlimited".
type Options struct {
	// Authenticate says who asks for a connection, or refuses. Nil serves anonymous
	// callers.
	Authenticate func(*http.Request) (durward.Caller, error)
	// MaxMessage is the size in bytes from which a message ends its connection. Zero
	// means DefaultMaxMessage.
	MaxMessage int64
	// PingEvery is the time between two pings. A peer of which nothing was heard for
	// two of these times has gone, unless it has messages of ours to read first: then
	// it has gone when its system no longer acknowledges anything. Zero means 30 s.
	PingEvery time.Duration
	// HandshakeTimeout is for the request that opens a connection. Zero means 10 s.
	HandshakeTimeout time.Duration
	// MaxConns is how many connections there may be at once; further ones are
	// refused. Zero means 1024.
	MaxConns int
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.PingEvery <= 0 {
		o.PingEvery = 30 * time.Second
	}
	if o.HandshakeTimeout <= 0 {
		o.HandshakeTimeout = 10 * time.Second
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 1024
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
