package mcpserve

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// postModern answers a request that says everything itself.
func (s *Server) postModern(w http.ResponseWriter, r *http.Request, m jsonrpc.Message, meta mcpspec.Meta) {
	if bad := checkHeaders(r.Header, m, meta); bad != nil {
		refuse(w, http.StatusBadRequest, m, bad)
		return
	}
	q := &Request{
		Method: m.Method, Params: m.Params, ID: m.ID.String(), Modern: true, Version: meta.Version, Client: meta.Client,
		Caller: httpedge.CallerOf(r.Context()), Trace: meta.Trace, Header: r.Header, message: m, meta: meta, out: newStream(0),
	}
	if q.Trace.IsZero() {
		q.Trace = httpedge.TraceOf(r)
	}
	if m.Method == "subscriptions/listen" {
		s.listenHTTP(w, r, q)
		return
	}
	s.exchange(w, r, q)
}

// checkHeaders refuses a request whose headers do not say what it says itself.
func checkHeaders(h http.Header, m jsonrpc.Message, meta mcpspec.Meta) *jsonrpc.Error {
	bad := meta.Complete()
	if bad != nil && bad.Code != mcpspec.CodeVersion {
		return bad
	}
	for _, name := range []string{headerVersion, headerMethod, headerName} {
		if values := h.Values(name); len(values) > 1 {
			return badHeader(name, strings.Join(values, ","))
		}
	}
	if version := h.Get(headerVersion); version != meta.Version {
		return badHeader(headerVersion, version)
	}
	if bad != nil {
		return bad
	}
	if method := h.Get(headerMethod); method != m.Method {
		return badHeader(headerMethod, method)
	}
	name, named := nameIn(m)
	if !named {
		return nil
	}
	said, ok := plain(h.Get(headerName))
	if !ok || said != name {
		return badHeader(headerName, h.Get(headerName))
	}
	return nil
}

func badHeader(name, value string) *jsonrpc.Error {
	message := "the header " + name + " is not what the body says"
	if value == "" {
		message = "the header " + name + " is missing"
	}
	return &jsonrpc.Error{Code: mcpspec.CodeHeader, Message: message}
}

// nameIn gives what a request is about, where a header has to say so, too.
func nameIn(m jsonrpc.Message) (name string, named bool) {
	of := "name"
	switch m.Method {
	case "resources/read":
		of = "uri"
	case "tools/call", "prompts/get":
	default:
		return "", false
	}
	return jsonx.Text(jsonx.Member(m.Params, of))
}

// plain gives what the value of a header says: itself, or what stands in it as base64, which is how
// text is sent that no header could hold.
func plain(value string) (said string, ok bool) {
	const before, behind = "=?base64?", "?="
	if len(value) < len(before)+len(behind) || !strings.EqualFold(value[:len(before)], before) || !strings.HasSuffix(value, behind) {
		return value, true
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(value[len(before) : len(value)-len(behind)])
	return string(raw), err == nil
}
