package mcpserve

import (
	"context"
	"net/http"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

// An exchange is one request over HTTP on its way to its answer.
type exchange struct {
	*Request
	cancel context.CancelCauseFunc
	answer jsonrpc.Message // set before the stream ends
}

// exchange answers a request: by one JSON text, or by events where something is to be said before.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, q *Request) {
	q.Surface = "http"
	x := &exchange{Request: q}
	if s.Quiet != nil && q.wanted() == mcpspec.Silent && s.Quiet(q) {
		s.exchangeHere(w, r, x)
		return
	}
	var ok bool
	if x.cancel, ok = s.start(q, x.finish); !ok {
		refuse(w, http.StatusBadRequest, q.message, idInUse())
		return
	}
	x.write(w, r)
}

// exchangeHere carries a request out before anything is written: no goroutine has to be started,
// nor this one to be woken.
func (s *Server) exchangeHere(w http.ResponseWriter, r *http.Request, x *exchange) {
	ctx, cancel, ok := x.beginUnder(r.Context())
	if !ok {
		refuse(w, http.StatusBadRequest, x.message, idInUse())
		return
	}
	defer cancel(nil)
	x.cancel = cancel
	x.finish(s.carryOut(ctx, x.Request))
	x.write(w, r)
}

// beginUnder is begin for what ends with its HTTP request, too. Without a session nothing else ends
// it, and it has that context itself: to wait for the end of a request is dear, and most are over
// before anybody would.
func (x *exchange) beginUnder(request context.Context) (context.Context, context.CancelCauseFunc, bool) {
	if x.session == nil {
		return request, func(error) {}, true
	}
	ctx, end, ok := x.Request.begin()
	if !ok {
		return nil, nil, false
	}
	release := context.AfterFunc(request, func() { end(context.Cause(request)) })
	return ctx, func(why error) { release(); end(why) }, true
}

// finish has the answer written behind all else.
func (x *exchange) finish(answer jsonrpc.Message) {
	x.answer = answer
	x.out.finish(answer)
	if x.session != nil {
		x.session.streams.finished(x.out)
	}
}

// write writes what comes on the stream. A client that is gone has its request cancelled, unless it
// can come back for the answer.
func (x *exchange) write(w http.ResponseWriter, r *http.Request) {
	e := &eventWriter{w: w, stream: x.out, reader: x.out.attach(0)}
	for gone := r.Context().Done(); ; {
		select {
		case <-x.out.more:
		case <-e.reader.replaced:
			return
		case <-gone:
			if e.begun && x.session != nil {
				return
			}
			x.cancel(context.Cause(r.Context()))
			gone = nil
			continue
		}
		b := x.out.take(e.reader)
		switch {
		case len(b.events) == 0 && !b.ended && !b.leave:
			continue
		case !e.begun && b.ended && len(b.events) == 1:
			writeJSON(w, x.status(), append(b.events[0].text, '\n'))
			return
		case !e.begun:
			x.begin(e)
		}
		if e.write(b) {
			return
		}
	}
}

// begin begins a stream of events, which a client with a session can take up again.
func (x *exchange) begin(e *eventWriter) {
	if x.session != nil {
		e.named, e.name = true, x.session.streams.add(x.out)
		e.primed = x.Version == mcpspec.Newest
	}
	e.begin()
}

// status is that of an answer which is one JSON text.
func (x *exchange) status() int {
	if x.answer.Error == nil {
		return http.StatusOK
	}
	switch x.answer.Error.Code {
	case jsonrpc.InvalidRequest:
		return http.StatusBadRequest
	case mcpspec.CodeHeader, mcpspec.CodeCapability, mcpspec.CodeVersion:
		if x.Modern {
			return http.StatusBadRequest
		}
	case jsonrpc.MethodNotFound:
		if x.Modern {
			return http.StatusNotFound
		}
	}
	return http.StatusOK
}
