package wsedge

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

const op = "websocket"

const (
	// spareConns are for requests that are no connections, or none yet.
	spareConns = 64
	idleTime   = 15 * time.Second // of such a request's connection
	// handleTime is how long handle may take to return once its connection is closed.
	handleTime = 30 * time.Second
)

// Serve takes connections from l, and runs handle for each, until ctx ends. It closes l.
// When it returns every connection is closed and every handle has returned; one that
// ignores the end of its context for too long is an error.
//
// The context of handle ends with the connection, and a connection with the return of
// handle.
func Serve(ctx context.Context, l net.Listener, o Options, handle func(ctx context.Context, c Conn)) error {
	o = o.withDefaults()
	d := &door{ctx: ctx, options: o, handle: handle, slots: make(chan struct{}, o.MaxConns)}
	server := httpedge.New(d, httpedge.Options{
		HeaderTimeout: o.HandshakeTimeout, RequestTimeout: o.HandshakeTimeout, WriteTimeout: o.HandshakeTimeout,
		IdleTimeout: idleTime, Connections: o.MaxConns + spareConns, AnswerGrace: handleTime, Logger: o.Logger,
	})
	defer context.AfterFunc(ctx, server.Close)()
	return server.Serve(ctx, l)
}

// A door answers the requests of one listener.
type door struct {
	ctx     context.Context // of Serve, which net/http does not hand down
	options Options
	handle  func(context.Context, Conn)
	slots   chan struct{} // one is taken for each connection
}

// ServeHTTP answers one request, and where it opens a connection returns at its end.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	switch target, _, _ := strings.Cut(r.RequestURI, "?"); target {
	case "/":
		d.open(w, r)
	case "/readyz":
		if err := judge(w, r); err != nil {
			httpedge.WriteError(w, r, err)
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// judge refuses what comes from a browser, and every verb but GET. A page of whatever
// site can make a browser open a WebSocket to this machine; the browser then says so.
func judge(w http.ResponseWriter, r *http.Request) error {
	if len(r.Header.Values("Origin")) > 0 {
		return refused(durward.OriginDenied, "a request with an Origin header")
	}
	return httpedge.NeedMethod(w, r, http.MethodGet)
}

// open makes a connection of a request that may have one.
func (d *door) open(w http.ResponseWriter, r *http.Request) {
	caller, err := d.admit(w, r)
	if err != nil {
		httpedge.WriteError(w, r, err)
		return
	}
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	default:
		err := &durward.Error{Reason: durward.QueueFull, Op: op, Retry: true}
		httpedge.WriteError(w, r, err)
		return
	}
	ctx, cancel := context.WithCancelCause(d.ctx)
	defer cancel(errEnded)
	s, err := accept(w, r, caller, d.options, cancel)
	if err != nil {
		d.options.Logger.Debug("no connection", "remote", r.RemoteAddr, "error", err)
		return
	}
	defer s.end()
	defer context.AfterFunc(ctx, s.cut)()
	d.handle(ctx, s)
}

func (d *door) admit(w http.ResponseWriter, r *http.Request) (durward.Caller, error) {
	caller := durward.Caller{Name: "anonymous", Method: "none"}
	if err := judge(w, r); err != nil {
		return caller, err
	}
	if d.options.Authenticate != nil {
		var err error
		if caller, err = d.options.Authenticate(r); err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			return caller, err
		}
	}
	return caller, needUpgrade(r)
}

// needUpgrade refuses a request that asks for no WebSocket.
func needUpgrade(r *http.Request) error {
	asks := func(header, token string) bool { return httpguts.HeaderValuesContainsToken(r.Header[header], token) }
	if r.ProtoAtLeast(1, 1) && r.ContentLength == 0 && asks("Connection", "upgrade") && asks("Upgrade", "websocket") {
		return nil
	}
	return refused(durward.BadRequest, "a request for no WebSocket")
}

func refused(reason durward.Reason, why string) error {
	return &durward.Error{Reason: reason, Op: op, Err: errors.New(why)}
}
