package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// answer carries a request out. A request that the client cancelled is answered by the zero message.
func (s *Server) answer(ctx context.Context, r *Request) jsonrpc.Message {
	result, err := s.safely(ctx, r)
	r.end()
	if bad := s.fault(r, err); bad != nil {
		return r.message.Refuse(bad)
	}
	if r.Modern {
		result = s.completed(r.Method, result)
	}
	return r.message.Answer(result)
}

// safely is dispatch that does not panic: one request takes no other with it.
func (s *Server) safely(ctx context.Context, r *Request) (result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Logger.Error("a request panicked", "method", r.Method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return s.dispatch(ctx, r)
}

var errPanic = errors.New("a defect")

// maxID bounds an id, in bytes: it stands in answers, records and all that is kept of a request.
const maxID = 1 << 10

// parse makes a message of one JSON text. The error is the answer.
func parse(text []byte) (jsonrpc.Message, *jsonrpc.Error) {
	m, bad := jsonrpc.Parse(text)
	if m.Kind == jsonrpc.Request && len(m.ID.String()) > maxID {
		return jsonrpc.Message{}, badRequest("the id is too long")
	}
	return m, bad
}

// dispatch answers what the protocol defines, and has the rest handled.
func (s *Server) dispatch(ctx context.Context, r *Request) (json.RawMessage, error) {
	if r.Modern {
		return s.modern(ctx, r)
	}
	switch r.Method {
	case "ping":
		return json.RawMessage("{}"), nil
	case "initialize":
		return nil, badRequest("initialize was answered before: " + r.Version + " holds")
	case "logging/setLevel":
		return s.setLevel(r)
	case subscribe, unsubscribe:
		return s.subscribe(ctx, r)
	case "server/discover", "subscriptions/listen":
		return nil, unknownMethod(r.Method)
	}
	return s.Handle(ctx, r)
}

// modern is dispatch for the newer era.
func (s *Server) modern(ctx context.Context, r *Request) (json.RawMessage, error) {
	if responses := r.Param("inputResponses"); responses != nil && !isObjects(responses) {
		return nil, badParams("inputResponses is not an object of objects")
	}
	switch r.Method {
	case "server/discover":
		return s.discovered(), nil
	case "initialize", "ping", "logging/setLevel", subscribe, unsubscribe:
		return nil, unknownMethod(r.Method)
	}
	return s.Handle(ctx, r)
}

// isObjects reports whether a value is an object whose members are objects.
func isObjects(value json.RawMessage) bool {
	if value[0] != '{' {
		return false
	}
	for _, member := range jsonx.Members(value) {
		if member[0] != '{' {
			return false
		}
	}
	return true
}

// fault gives the error to answer with. What we do not know how to say is logged.
func (s *Server) fault(r *Request, err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	if bad := new(jsonrpc.Error); errors.As(err, &bad) {
		return bad
	}
	s.Logger.Error("a request failed", "method", r.Method, "error", err.Error())
	return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "the request failed"}
}

func (s *Server) setLevel(r *Request) (json.RawMessage, error) {
	l, ok := mcpspec.LevelOf(r.Param("level"))
	if !ok {
		return nil, badParams("level is not one of the eight levels")
	}
	r.session.want(l)
	s.tellLevel()
	return json.RawMessage("{}"), nil
}

// tellLevel tells which level is wanted, if another one was before: by who asks for one, or is gone.
func (s *Server) tellLevel() {
	if s.Level == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	if lowest := s.sessions.lowest(); lowest != s.told {
		s.told = lowest
		s.Level(lowest)
	}
}

// subscribe keeps who listens to a resource.
func (s *Server) subscribe(ctx context.Context, r *Request) (json.RawMessage, error) {
	uri, ok := jsonx.Text(r.Param("uri"))
	switch {
	case !ok:
		return nil, badParams("uri is missing or no string")
	case r.Method == subscribe:
		return s.watch(ctx, &r.session.watching, r, uri)
	case !r.session.watching.remove(uri):
		return json.RawMessage("{}"), nil
	}
	return s.unwatch(r, uri)
}

// The values of members that results of the newer era have.
const (
	complete = "complete"
	private  = "private"
)

// completed adds to a result of the newer era what it must have and has not.
func (s *Server) completed(method string, result json.RawMessage) json.RawMessage {
	var kind, ttl, scope, meta json.RawMessage
	if len(result) == 0 || result[0] != '{' {
		return result
	}
	for name, value := range jsonx.Members(result) {
		switch string(name) {
		case "resultType":
			kind = value
		case "ttlMs":
			ttl = value
		case "cacheScope":
			scope = value
		case "_meta":
			meta = value
		}
	}
	var more []byte
	if kind == nil {
		more = append(more, `"resultType":"complete",`...)
	}
	if said, _ := jsonx.Text(kind); mayBeKept(method) && (kind == nil || said == complete) {
		if ttl == nil {
			more = append(strconv.AppendInt(append(more, `"ttlMs":`...), s.TTL.Milliseconds(), 10), ',')
		}
		if scope == nil {
			more = append(more, `"cacheScope":"private",`...)
		}
	}
	if meta == nil {
		more = append(append(append(more, `"_meta":`...), s.About()...), ',')
	}
	return insert(result, more)
}

// About is a _meta that names the server, as results of the newer era have it. Who makes one with a _meta
// of its own puts that there.
func (s *Server) About() json.RawMessage {
	return encode(map[string]Info{mcpspec.MetaServerInfo: s.Info})
}

// insert puts members, each with a comma behind it, at the start of an object.
func insert(object json.RawMessage, members []byte) json.RawMessage {
	if len(members) == 0 {
		return object
	}
	rest := jsonx.TrimSpace(object[1:])
	if rest[0] == '}' {
		members = members[:len(members)-1]
	}
	text := make([]byte, 0, len(object)+len(members))
	return append(append(append(text, '{'), members...), rest...)
}

// mayBeKept reports whether a client may keep the result of a method.
func mayBeKept(method string) bool {
	switch method {
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read":
		return true
	}
	return false
}
