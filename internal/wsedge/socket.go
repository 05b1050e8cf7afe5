package wsedge

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/durward/durward"
)

// The first byte of a frame: the last one of its message, and what it is.
const (
	frameText = 0x81
	framePing = 0x89
	framePong = 0x8a
)

const (
	usualMessage = 1 << 10         // most requests fit
	closeFrame   = 256             // more than any frame that the library writes
	closeTime    = 1 * time.Second // for such a frame
)

// A socket is the server's end of one WebSocket. The library opens it and reads from it.
// Writing is done here: what the library writes has to get through within five seconds,
// the answer to a ping as well, and a peer may leave its messages unread for longer.
type socket struct {
	net.Conn // reads note that something was heard
	ws       *websocket.Conn
	caller   durward.Caller
	remote   string

	// turn is held by whoever writes, from the first byte of a frame to its last.
	turn  chan struct{}
	heads []byte      // guarded by turn; of the frames in parts
	parts [][]byte    // guarded by turn
	rest  net.Buffers // guarded by turn

	failed bool // a read did; for whoever reads
	closed chan struct{}
	close  func() error
	keeper keeper
}

// errEnded is why the context of a connection ends that ended first.
var errEnded = errors.New("the connection ended")

// accept makes a WebSocket of a request. Whatever it says is answered. cancel ends the
// context of the connection.
func accept(w http.ResponseWriter, r *http.Request, caller durward.Caller, o Options, cancel context.CancelCauseFunc) (*socket, error) {
	s := &socket{
		caller: caller, remote: r.RemoteAddr,
		turn: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	ws, err := websocket.Accept(hijacker{w, s, cancel}, r, &websocket.AcceptOptions{
		OnPingReceived: func(_ context.Context, payload []byte) bool {
			s.keeper.owePong(payload)
			return false
		},
		OnPongReceived: func(_ context.Context, payload []byte) { s.keeper.gotPong(payload) },
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(o.MaxMessage - 1)
	s.ws = ws
	s.keeper.start(s, o.PingEvery)
	return s, nil
}

// A hijacker puts a socket between the library and the connection.
type hijacker struct {
	http.ResponseWriter
	s      *socket
	cancel context.CancelCauseFunc
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, b, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.s.close = sync.OnceValue(func() error {
		close(h.s.closed)
		h.cancel(errEnded)
		h.s.keeper.stop()
		return c.Close()
	})
	h.s.Conn = c
	if inner, ok := c.(interface{ NetConn() net.Conn }); ok {
		h.s.Conn = inner.NetConn() // which bounds no write
	}
	return h.s.wire(), bufio.NewReadWriter(b.Reader, bufio.NewWriterSize(h.s.wire(), closeFrame)), nil
}

// Read gives the next message.
func (s *socket) Read(ctx context.Context) ([]byte, error) {
	select {
	case <-s.closed:
		return nil, io.EOF
	default:
	}
	defer context.AfterFunc(ctx, s.cut)()
	s.keeper.reading.Store(true)
	defer s.keeper.reading.Store(false)
	message, err := s.next()
	if err == nil {
		return message, nil
	}
	s.cut()
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errEnded):
		return nil, ctx.Err()
	case isGone(err):
		return nil, io.EOF
	}
	return nil, refused(durward.BadRequest, err.Error())
}

func (s *socket) next() ([]byte, error) {
	// The context would be watched anew for each piece; ours is watched once.
	_, r, err := s.ws.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	message, err := readAll(r)
	switch {
	case err != nil:
		return nil, err
	case s.failed: // to the library the end of the stream is that of a message, too
		return nil, io.ErrUnexpectedEOF
	case !utf8.Valid(message):
		return nil, errors.New("a message that is not UTF-8")
	}
	return message, nil
}

// readAll is io.ReadAll, but that it makes room for more of a message only when there is
// none left, and then twice as much.
func readAll(r io.Reader) ([]byte, error) {
	b := make([]byte, 0, usualMessage)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			b = append(make([]byte, 0, 2*len(b)), b...)
		}
	}
}

// isGone tells the end of a connection from a message that breaks a rule.
func isGone(err error) bool {
	var network *net.OpError
	return websocket.CloseStatus(err) >= 0 || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// Write sends messages.
func (s *socket) Write(ctx context.Context, messages ...[]byte) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.leave()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	defer context.AfterFunc(ctx, s.cut)() // half a message leaves no place for another
	err := s.send(frameText, messages...)
	s.keeper.sent.Add(uint64(len(messages)))
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// take waits for the turn to write.
func (s *socket) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-s.closed:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *socket) leave() { <-s.turn }

// send writes frames, in one system call where that takes all of them. The caller has the
// turn.
func (s *socket) send(first byte, payloads ...[]byte) error {
	s.heads, s.parts = slices.Grow(s.heads[:0], mostHead*len(payloads)), s.parts[:0]
	for _, payload := range payloads {
		at := len(s.heads)
		s.heads = frameHead(s.heads, first, len(payload))
		s.parts = append(s.parts, s.heads[at:], payload)
	}
	s.rest = s.parts
	_, err := s.rest.WriteTo(s.Conn)
	clear(s.parts)
	if err != nil {
		s.cut()
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// mostHead is how many bytes such a head has at most.
const mostHead = 10

// frameHead appends the head of a frame that is not masked.
func frameHead(b []byte, first byte, size int) []byte {
	const in16bits, in64bits = 126, 127
	switch {
	case size < in16bits:
		return append(b, first, byte(size))
	case size < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, first, in16bits), uint16(size))
	}
	return binary.BigEndian.AppendUint64(append(b, first, in64bits), uint64(size))
}

func (s *socket) Close() error { return s.close() }

// cut is Close for those whom its error tells nothing.
func (s *socket) cut() { _ = s.close() }

// end closes the connection and waits for what ran for it.
func (s *socket) end() {
	s.cut()
	s.keeper.running.Wait()
	_ = s.ws.CloseNow() // nothing is left but what it keeps in memory
}

func (s *socket) Caller() durward.Caller { return s.caller }

func (s *socket) Remote() string { return s.remote }

// A wire is the connection as the library has it: nothing comes from there but reads,
// the frame that says why a connection ends, and its end.
type wire struct {
	net.Conn
	s *socket
}

func (s *socket) wire() net.Conn { return wire{s.Conn, s} }

func (w wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.s.keeper.heard.Store(true)
	}
	w.s.failed = w.s.failed || err != nil
	return n, err
}

// Write sends a last frame if nobody else is writing.
func (w wire) Write(p []byte) (int, error) {
	select {
	case w.s.turn <- struct{}{}:
		defer w.s.leave()
		_ = w.Conn.SetWriteDeadline(time.Now().Add(closeTime)) // a closed connection fails at the write
		return w.Conn.Write(p)
	default:
		return len(p), nil
	}
}

func (w wire) Close() error { return w.s.Close() }
