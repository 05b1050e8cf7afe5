package mcp

import (
	"context"
	"encoding/json"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// A request is one of the protocol's, with what it carries.
type request struct {
	jsonrpc.Message
	batched bool
	surface Surface
	params  params
	meta    mcpspec.Meta
}

// params are the members that the methods of the protocol have, each still to be judged.
type params struct {
	meta, name, arguments, cursor, level, uri, notifications, protocolVersion, clientInfo, requestID json.RawMessage
}

// paramsOf takes params apart. What is no object has none; members that the protocol may have
// elsewhere are passed over.
func paramsOf(object []byte) params {
	var p params
	if !isObject(object) {
		return p
	}
	for name, value := range jsonx.Members(object) {
		switch string(name) {
		case "_meta":
			p.meta = value
		case "name":
			p.name = value
		case "arguments":
			p.arguments = value
		case "cursor":
			p.cursor = value
		case "level":
			p.level = value
		case "uri":
			p.uri = value
		case "notifications":
			p.notifications = value
		case "protocolVersion":
			p.protocolVersion = value
		case "clientInfo":
			p.clientInfo = value
		case "requestId":
			p.requestID = value
		}
	}
	return p
}

// route finds who answers a request.
func (s *session) route(ctx context.Context, r request) reply {
	r.surface = s.Surface()
	if isDirect(r.Method) {
		return s.direct(r)
	}
	r.params = paramsOf(r.Params)
	var bad *jsonrpc.Error
	if r.meta, bad = mcpspec.MetaOf(r.params.meta); bad != nil {
		return reply{bad: bad}
	}
	switch {
	case r.meta.Modern || r.Method == "server/discover" || r.Method == "subscriptions/listen":
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

// notified does what a notification says, and answers nothing. It gives the task of a call.
func (s *session) notified(calls context.Context, m jsonrpc.Message) (t task, ok bool) {
	switch {
	case isDirect(m.Method):
		t = task{request: m, ctx: calls, reply: s.direct(request{Message: m, surface: s.Surface()})}
		return t, t.reply.call != nil
	case m.Method == "notifications/cancelled":
		var id jsonrpc.ID
		if id.UnmarshalJSON(paramsOf(m.Params).requestID) == nil {
			s.inFlight.Cancel(id)
		}
	}
	return task{}, false
}

// decode reads a part of a message that was checked. Members that the protocol may have
// elsewhere are passed over.
func decode(text []byte, into any) error {
	return jsonx.Decode(text, into, jsonx.Options{Limits: jsonx.Limits{Bytes: int64(len(text))}, IgnoreUnknown: true})
}

// isObject reports whether a value of a message is an object.
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }
