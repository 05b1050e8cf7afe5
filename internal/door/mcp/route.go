package mcp

import (
	"context"
	"encoding/json"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// A request is one of the protocol's, with what it carries.
type request struct {
	jsonrpc.Message
	batched bool
	surface Surface
	params  params
	meta    meta
}

// params are the members that the methods of the protocol have, each still to be judged.
type params struct {
	Meta            json.RawMessage `json:"_meta"`
	Name            json.RawMessage `json:"name"`
	Arguments       json.RawMessage `json:"arguments"`
	Cursor          json.RawMessage `json:"cursor"`
	Level           json.RawMessage `json:"level"`
	URI             json.RawMessage `json:"uri"`
	Notifications   json.RawMessage `json:"notifications"`
	ProtocolVersion json.RawMessage `json:"protocolVersion"`
	ClientInfo      json.RawMessage `json:"clientInfo"`
	RequestID       json.RawMessage `json:"requestId"`
}

// route finds who answers a request.
func (s *session) route(ctx context.Context, r request) reply {
	r.surface = s.Surface()
	if isDirect(r.Method) {
		return s.direct(ctx, r)
	}
	if err := decode(r.Params, &r.params); err != nil {
		return refuse(jsonrpc.InvalidParams, err.Error())
	}
	var bad *jsonrpc.Error
	if r.meta, bad = metaOf(r.params.Meta); bad != nil {
		return reply{bad: bad}
	}
	switch {
	case r.Method == "initialize":
		return s.initialize(r)
	case r.meta.modern || r.Method == "server/discover" || r.Method == "subscriptions/listen":
		return s.modern(ctx, r)
	}
	return s.legacy(ctx, r)
}

// handler answers a request of one method.
type handler func(ctx context.Context, r request) reply

// shared gives the handler of a method that both eras have, or nil.
func (s *session) shared(r request) handler {
	switch r.Method {
	case "tools/list":
		return s.listTools
	case "tools/call":
		return s.callTool
	}
	if !r.surface.Resources {
		return nil
	}
	switch r.Method {
	case "resources/list":
		return s.listResources
	case "resources/templates/list":
		return s.listTemplates
	case "resources/read":
		return s.readResource
	}
	return nil
}

func unknownMethod() reply { return refuse(jsonrpc.MethodNotFound, "unknown method") }

// notified does what a notification says, and answers nothing.
func (s *session) notified(calls context.Context, m jsonrpc.Message) {
	switch {
	case isDirect(m.Method):
		if r := s.direct(calls, request{Message: m, surface: s.Surface()}); r.run != nil {
			s.start(task{reply: r}, func() { r.run() })
		}
	case m.Method == "notifications/cancelled":
		var p params
		var id jsonrpc.ID
		if decode(m.Params, &p) == nil && decode(p.RequestID, &id) == nil {
			s.inFlight.Cancel(id)
		}
	}
}

// decode reads a part of a message that was checked. Members that the protocol may have
// elsewhere are passed over.
func decode(text []byte, into any) error {
	if len(text) == 0 {
		text = []byte("{}")
	}
	return jsonx.Decode(text, into, jsonx.Options{Limits: jsonx.Limits{Bytes: int64(len(text))}, IgnoreUnknown: true})
}

// isObject reports whether a value of a message is an object.
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// stringOf gives what a value says, if it is a string.
func stringOf(value []byte) (s string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(value, &s) == nil
}
