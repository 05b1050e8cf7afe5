package mcpserve

import (
	"net/http"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// Headers of the protocol.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerLast    = "Last-Event-Id"
)

// maxBody bounds a message of a client over HTTP.
const maxBody = 4 << 20

// ServeHTTP answers one request to the endpoint. Which hosts and origins are served, and who may
// call, is for whoever stands before it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		refuse(w, http.StatusServiceUnavailable, jsonrpc.Message{}, closing())
		return
	}
	defer s.leave()
	switch {
	case r.Method == http.MethodPost:
		s.post(w, r)
	case (r.Method == http.MethodGet || r.Method == http.MethodDelete) && r.Header.Get(headerVersion) != mcpspec.Modern:
		s.ofSession(w, r)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		refuse(w, http.StatusMethodNotAllowed, jsonrpc.Message{}, badRequest("the endpoint takes POST, and in a session GET and DELETE"))
	}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, to jsonrpc.Message, bad *jsonrpc.Error) {
	writeMessage(w, status, to.Refuse(bad))
}

func writeMessage(w http.ResponseWriter, status int, m jsonrpc.Message) {
	writeJSON(w, status, append(m.Append(nil), '\n'))
}

func writeJSON(w http.ResponseWriter, status int, text []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Cache-Control"] = []string{"no-store"}
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone is noticed by the server
}

// accepted says that a message was taken that has no answer.
func accepted(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) }

// post answers the message, or the messages, of a body.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	text, err := httpedge.ReadBody(r, maxBody)
	if err == nil {
		err = httpedge.NeedJSON(r, false)
	}
	switch {
	case err != nil:
		refuse(w, httpedge.Status(err), jsonrpc.Message{}, badRequest(durward.ReasonOf(err).Summary()))
		return
	case !accepts(r, "application/json") || !accepts(r, eventStream):
		refuse(w, http.StatusNotAcceptable, jsonrpc.Message{}, badRequest("Accept has to name application/json and "+eventStream))
		return
	case jsonrpc.IsBatch(text):
		s.postBatch(w, r, text)
		return
	}
	m, bad := parse(text)
	if bad != nil && m.Kind != jsonrpc.Response {
		refuse(w, http.StatusBadRequest, m, bad)
		return
	}
	s.postMessage(w, r, m)
}

// postMessage tells the eras apart.
func (s *Server) postMessage(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
	version := r.Header.Get(headerVersion)
	inSession := r.Header.Get(headerSession) != ""
	meta, bad := mcpspec.MetaOf(jsonx.Member(m.Params, "_meta"))
	modern := version != "" && !isLegacy(version) || meta.Modern && m.Kind == jsonrpc.Request
	switch {
	case m.Kind == jsonrpc.Response || m.Kind == jsonrpc.Notification:
		if modern || version == "" && !inSession {
			accepted(w) // there is nothing that it could be about
			return
		}
		s.postAside(w, r, m)
	case bad != nil:
		refuse(w, http.StatusBadRequest, m, bad)
	case modern:
		s.postModern(w, r, m, meta)
	case m.Method == "initialize" && !inSession:
		s.initialize(w, r, m)
	default:
		s.postInSession(w, r, m, meta)
	}
}

func isLegacy(version string) bool {
	for _, known := range mcpspec.Legacy() {
		if version == known {
			return true
		}
	}
	return false
}

// accepts reports whether a client takes a type of content.
func accepts(r *http.Request, media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	for _, line := range r.Header["Accept"] {
		for part := range strings.SplitSeq(line, ",") {
			part, _, _ = strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(part)) {
			case media, kind + "/*", "*/*":
				return true
			}
		}
	}
	return false
}
