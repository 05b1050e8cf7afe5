package httpedge

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/durward/durward"
)

// Options bound what clients can hold of a server. The zero value of each member means
// its default; there is no "unlimited".
type Options struct {
	// HeaderTimeout is for the head of a request. Zero means 10 s.
	HeaderTimeout time.Duration
	// RequestTimeout is for a whole request, head and body. Zero means 30 s.
	RequestTimeout time.Duration
	// WriteTimeout is for each 64 KiB of an answer, so that a client that stops
	// reading is let go and a slow one is not. Zero means 30 s.
	WriteTimeout time.Duration
	// IdleTimeout is between two requests on one connection. Zero means 2 min.
	IdleTimeout time.Duration
	// HeaderBytes bounds the head of a request. Zero means 64 KiB.
	HeaderBytes int
	// BodyBytes bounds the body of every request, however a door reads it. Zero means
	// 1 MiB.
	BodyBytes int64
	// Connections is how many may be open at once. One more has the one end that was
	// longest without a request, or waits until there is one. Zero means 1024.
	Connections int
	// Grace is how long running requests may go on once the server is to end. Zero
	// means 10 s.
	Grace time.Duration
	// AnswerGrace is how long a request may take to answer once its context has been
	// cancelled at the end of Grace. Zero means 2 s.
	AnswerGrace time.Duration
	// WriteError answers requests that come while the server ends (ShuttingDown), and
	// those whose handler panicked (Defect). Nil means [WriteError].
	WriteError ErrorWriter
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

const (
	defaultBodyBytes = 1 << 20
	usualBodyBytes   = 4 << 10
	// closeWait is how long connections may take to end by themselves, with nothing
	// left to run on them.
	closeWait = time.Second
)

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		into *time.Duration
		def  time.Duration
	}{
		{&o.HeaderTimeout, 10 * time.Second},
		{&o.RequestTimeout, 30 * time.Second},
		{&o.WriteTimeout, 30 * time.Second},
		{&o.IdleTimeout, 2 * time.Minute},
		{&o.Grace, 10 * time.Second},
		{&o.AnswerGrace, 2 * time.Second},
	} {
		if *d.into <= 0 {
			*d.into = d.def
		}
	}
	if o.HeaderBytes <= 0 {
		o.HeaderBytes = 64 << 10
	}
	if o.BodyBytes <= 0 {
		o.BodyBytes = defaultBodyBytes
	}
	if o.Connections <= 0 {
		o.Connections = 1024
	}
	if o.WriteError == nil {
		o.WriteError = WriteError
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Server runs one handler on the connections of one listener. It speaks HTTP/1.1 and
// HTTP/1.0 without TLS.
//
// The context of a request it serves ends when its client is gone, when the server
// ends, or when the handler returns; context.Cause tells which, as a *durward.Error
// with reason CallCancelled or ShuttingDown. A client that only ended its side of the
// connection is still there and gets its answer. How the two are told apart depends on
// the system: see [Server.Serve].
type Server struct {
	options Options
	handler http.Handler
	http    *http.Server
	running gate

	draining chan struct{}   // closed when no further request is taken
	ended    context.Context // ends when running requests are cancelled: they hook to its end
	drain    func()
	end      context.CancelFunc
	close    func() // closes killed
	killed   chan struct{}
}

// New makes a server; [Server.Serve] starts it.
func New(h http.Handler, o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		options: o, handler: h, running: newGate(),
		draining: make(chan struct{}), killed: make(chan struct{}),
	}
	s.drain = sync.OnceFunc(func() { close(s.draining) })
	s.ended, s.end = context.WithCancel(context.Background())
	s.close = sync.OnceFunc(func() { close(s.killed) })
	s.http = &http.Server{
		Handler:                      http.HandlerFunc(s.serve),
		ReadHeaderTimeout:            o.HeaderTimeout,
		ReadTimeout:                  o.RequestTimeout,
		IdleTimeout:                  o.IdleTimeout,
		MaxHeaderBytes:               o.HeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(o.Logger.Handler(), slog.LevelInfo),
		BaseContext: func(l net.Listener) context.Context {
			return context.WithValue(context.Background(), boundKey{}, l.Addr())
		},
		ConnState: func(nc net.Conn, state http.ConnState) {
			if c, ok := nc.(*conn); ok && state == http.StateIdle { // its answer is on its way
				c.lieDown()
			}
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	return s
}

type (
	boundKey struct{} // the net.Addr a listener was bound to
	connKey  struct{} // the *conn of a request
)

// Serve takes connections from l until ctx ends or [Server.Close] is called, and closes
// l. It may be called once. When it returns, every handler has returned and every
// connection is closed; a handler that ignores its context for too long is an error.
//
// The end of ctx lets running requests go on for Grace, while further ones are answered
// with ShuttingDown; then their contexts are cancelled; and AnswerGrace later the
// connections are closed.
//
// A client that ended its side of the connection may have gone away or may be waiting
// for its answer; TCP shows no difference. On Linux the kernel is asked about a client
// on the same machine. Where that gives no answer the client of an HTTP/1.1 request is
// sent an interim "100 Continue" now and then, as every client must expect, and is
// gone when that cannot be delivered. A client of HTTP/1.0, and one to whom the answer
// has begun, is taken to be waiting until a write fails. A reset connection is
// noticed within a second on Linux, and elsewhere as soon as net/http reads from it,
// which it does once it has the whole body and while nothing more was sent behind it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	edge := newListener(l, s.options)
	accepting := make(chan error, 1)
	go func() { accepting <- s.http.Serve(edge) }()
	select {
	case err := <-accepting:
		s.close()
		return errors.Join(&durward.Error{Reason: durward.ListenFailed, Op: "accept", Err: err}, s.stop(edge))
	case <-ctx.Done():
	case <-s.killed:
	}
	err := s.stop(edge)
	<-accepting
	return err
}

// Close makes [Server.Serve] end at once: contexts are cancelled and connections closed
// without a grace. It does not wait.
func (s *Server) Close() { s.close() }

// Draining is closed when the server begins to end. A handler that holds a stream open
// without work in progress should then end it.
func (s *Server) Draining() <-chan struct{} { return s.draining }

// stop goes through the stages of the end.
func (s *Server) stop(edge *listener) error {
	empty := s.running.shut()
	s.drain()
	s.await(empty, s.options.Grace)
	s.end()
	s.await(empty, s.options.AnswerGrace)
	s.closeConnections(edge)
	select {
	case <-empty:
		return nil
	case <-time.After(s.options.AnswerGrace):
		return &durward.Error{Reason: durward.Defect, Op: op, Err: errors.New("a handler did not return")}
	}
}

// await waits for a stage to be over: nothing runs, its time has passed, or the server
// is to end at once.
func (s *Server) await(empty <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	case <-s.killed:
	}
}

// closeConnections lets answers reach the network that are written but not yet flushed,
// then closes everything.
func (s *Server) closeConnections(edge *listener) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	select {
	case <-s.killed:
	default:
		_ = s.http.Shutdown(ctx) // what is left is closed below
	}
	edge.closeAll() // first: net/http would wait for one lingering connection after the other
	_ = s.http.Close()
}

// serve runs the handler for one request under the promises of Server.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.running.enter() {
		refuse(w, r, s.options.WriteError, &durward.Error{Reason: durward.ShuttingDown, Op: op, Retry: true})
		return
	}
	defer s.running.leave()
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		refuse(w, r, s.options.WriteError, &durward.Error{Reason: durward.Defect, Op: op})
		return
	}
	if !c.wake() {
		panic(http.ErrAbortHandler)
	}
	ctx, done := c.follow(r, s.ended)
	defer done()
	r = r.WithContext(ctx)
	in := &body{ReadCloser: r.Body, limit: s.options.BodyBytes, left: s.options.BodyBytes, ended: r.Body == http.NoBody}
	r.Body = in
	out := &reply{ResponseWriter: w, conn: c, in: in}
	// A length that net/http dropped in favour of chunks, or chunks that HTTP/1.0 does
	// not know, may hide a second request from whoever stands in front.
	if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
		out.Header().Set("Connection", "close")
	}
	defer s.recover(out, r)
	s.handler.ServeHTTP(out, r)
	out.begin() // net/http answers for a handler that did not
}

// recover answers for a handler that panicked: with Defect if it had not answered yet,
// else by cutting the connection.
func (s *Server) recover(w *reply, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		s.options.Logger.Error("handler panicked", "panic", cause, "stack", string(debug.Stack()))
	}
	if cause == http.ErrAbortHandler || w.begun {
		panic(http.ErrAbortHandler)
	}
	clear(w.Header())
	refuse(w, r, s.options.WriteError, &durward.Error{Reason: durward.Defect, Op: op})
}

// A gate counts those inside, and lets nobody in once it is shut.
type gate struct {
	mu     sync.Mutex
	inside int  // guarded by mu
	closed bool // guarded by mu
	empty  chan struct{}
}

func newGate() gate { return gate{empty: make(chan struct{})} }

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside++
	}
	return !g.closed
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.signal()
}

// shut closes the gate; the channel it gives is closed when the last one has left.
func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		g.signal()
	}
	return g.empty
}

func (g *gate) signal() {
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}
