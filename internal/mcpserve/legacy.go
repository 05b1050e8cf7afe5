package mcpserve

import (
	"net/http"

	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// initialize begins a session.
func (s *Server) initialize(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
	h, bad := helloOf(m.Params)
	if bad != nil {
		refuse(w, http.StatusOK, m, bad)
		return
	}
	one := s.sessions.begin(httpedge.CallerOf(r.Context()))
	s.tellLevel() // others may have made room
	if one == nil {
		refuse(w, http.StatusServiceUnavailable, m, &jsonrpc.Error{Code: codeClosing, Message: "too many sessions are open"})
		return
	}
	one.begin(h)
	w.Header().Set(headerSession, one.id)
	writeMessage(w, http.StatusOK, m.Answer(s.welcome(h.version)))
}

// sessionOf finds the session that a request names, or answers that there is none. Somebody else's
// is none. The session is held until leave is called.
func (s *Server) sessionOf(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) (one *session, leave func(), ok bool) {
	id := r.Header.Get(headerSession)
	version := r.Header.Get(headerVersion)
	if id == "" {
		refuse(w, http.StatusBadRequest, m, badRequest("initialize comes first, and "+headerSession+" names the session; or the _meta of "+mcpspec.Modern+" says everything"))
		return nil, nil, false
	}
	if version != "" && !isLegacy(version) {
		refuse(w, http.StatusBadRequest, m, mcpspec.Unsupported(version))
		return nil, nil, false
	}
	if one = s.sessions.find(id, httpedge.CallerOf(r.Context())); one == nil {
		refuse(w, http.StatusNotFound, m, &jsonrpc.Error{Code: codeNoSession, Message: "there is no such session: begin a new one"})
		return nil, nil, false
	}
	return one, func() { s.sessions.leave(one) }, true
}

// codeNoSession is for a session that is over.
const codeNoSession = -32001

// postInSession answers a request of a session.
func (s *Server) postInSession(w http.ResponseWriter, r *http.Request, m jsonrpc.Message, meta mcpspec.Meta) {
	one, leave, ok := s.sessionOf(w, r, m)
	if !ok {
		return
	}
	defer leave()
	q := s.requestIn(one, m, meta, newStream(maxKept))
	q.Header = r.Header
	if q.Trace.IsZero() {
		q.Trace = httpedge.TraceOf(r)
	}
	s.exchange(w, r, q)
}

// requestIn makes a request of a session.
func (s *Server) requestIn(one *session, m jsonrpc.Message, meta mcpspec.Meta, out *stream) *Request {
	version, client := one.agreed()
	return &Request{
		Method: m.Method, Params: m.Params, ID: m.ID.String(), Version: version, Client: client, Caller: one.caller, Trace: meta.Trace,
		message: m, meta: meta, session: one, out: out,
	}
}

// postAside takes a message in that has no answer.
func (s *Server) postAside(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
	one, leave, ok := s.sessionOf(w, r, jsonrpc.Message{})
	if !ok {
		return
	}
	defer leave()
	one.hear(m)
	accepted(w)
}

// hear takes in a response, or a notification.
func (s *session) hear(m jsonrpc.Message) {
	switch {
	case m.Kind == jsonrpc.Response:
		s.asks.settle(m)
	case m.Method == "notifications/cancelled":
		var id jsonrpc.ID
		if id.UnmarshalJSON(jsonx.Member(m.Params, "requestId")) == nil {
			s.inFlight.Cancel(id)
		}
	}
}

func (s *Server) endSession(one *session) {
	s.sessions.end(one)
	s.tellLevel()
}

// ofSession answers GET and DELETE.
func (s *Server) ofSession(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && !accepts(r, eventStream) {
		refuse(w, http.StatusNotAcceptable, jsonrpc.Message{}, badRequest("Accept has to name "+eventStream))
		return
	}
	one, leave, ok := s.sessionOf(w, r, jsonrpc.Message{})
	if !ok {
		return
	}
	defer leave()
	if r.Method == http.MethodDelete {
		s.endSession(one)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.listenInSession(w, r, one)
}

// listenInSession sends what belongs to no request, or the rest of a stream that was broken off.
func (s *Server) listenInSession(w http.ResponseWriter, r *http.Request, one *session) {
	out, name, after := one.general, uint64(0), one.general.seen()
	if last := r.Header.Get(headerLast); last != "" {
		var ok bool
		if out, name, after, ok = one.resume(last); !ok {
			refuse(w, http.StatusNotFound, jsonrpc.Message{}, badRequest("the stream of that event is kept no more"))
			return
		}
	}
	e := &eventWriter{w: w, stream: out, named: true, name: name, reader: out.attach(after)}
	defer out.detach(e.reader)
	e.begin()
	e.pump(r.Context(), s.done, one.alive.Done())
}
