package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// A Request is one of a client's. What is raw in it was checked. All methods are safe for
// concurrent use, and do nothing once the request has been answered.
type Request struct {
	Method string
	// Params are an object, or nil.
	Params json.RawMessage
	// ID is the client's own, as JSON. It is to be recorded, never trusted.
	ID string
	// Modern is set where the client speaks the era without a handshake, and Version is the
	// revision.
	Modern  bool
	Version string
	// Client is what the client says of itself, Caller who was authenticated.
	Client durward.Client
	Caller durward.Caller
	Trace  durward.TraceContext
	// Surface is "http" or "stdio".
	Surface string
	// Header is of the HTTP request, or nil.
	Header http.Header

	message jsonrpc.Message
	meta    mcpspec.Meta
	session *session // nil for a modern client over HTTP
	out     *stream

	mu   sync.Mutex
	over bool // guarded by mu; the answer is under way
}

// ErrCannotAsk is of a client that cannot be asked that.
var ErrCannotAsk = errors.New("the client does not take this request")

// Param gives the member of the params of that name, or nil.
func (r *Request) Param(name string) json.RawMessage { return jsonx.Member(r.Params, name) }

// WantsProgress reports whether the client asked to be told of the progress.
func (r *Request) WantsProgress() bool { return r.meta.Progress != nil }

// Progress tells the client of the progress, if it asked for that: the params of
// notifications/progress, an object, whose token is replaced.
func (r *Request) Progress(params json.RawMessage) {
	if r.meta.Progress == nil {
		return
	}
	text := append([]byte(`{"progressToken":`), r.meta.Progress.String()...)
	r.tell("notifications/progress", appendOthers(text, params, "progressToken"))
}

// appendOthers appends the members of an object, or of nil, behind the first member of another
// one, but for one, and closes that.
func appendOthers(text []byte, object json.RawMessage, but string) json.RawMessage {
	if len(object) == 0 {
		return append(text, '}')
	}
	for name, value := range jsonx.Members(object) {
		if string(name) != but {
			text = jsonx.AppendString(append(text, ','), string(name))
			text = append(append(text, ':'), value...)
		}
	}
	return append(text, '}')
}

// Log tells the client what there is for its log, if it wants messages of that level: the params
// of notifications/message.
func (r *Request) Log(level mcpspec.Level, params json.RawMessage) {
	if level >= r.wanted() {
		r.tell("notifications/message", params)
	}
}

// LogLevel is the level of log messages that a client of the newer era asked for with the request,
// or empty.
func (r *Request) LogLevel() string {
	if !r.Modern {
		return ""
	}
	return r.meta.Level.String()
}

// wanted is the level of log messages that the client asked for.
func (r *Request) wanted() mcpspec.Level {
	if r.Modern || r.session == nil {
		return r.meta.Level
	}
	return r.session.wanted()
}

// tell sends a notification that belongs to the request, ahead of the answer.
func (r *Request) tell(method string, params json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.out.put(jsonrpc.Message{Kind: jsonrpc.Notification, Method: method, Params: params}, mayBeLost)
	}
}

// end has nothing sent any more that belongs to the request.
func (r *Request) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// Can reports whether the client said that it has a capability: "sampling", "elicitation",
// "roots".
func (r *Request) Can(capability string) bool {
	have := r.meta.Capabilities
	if !r.Modern && r.session != nil {
		have = r.session.capable()
	}
	value := jsonx.Member(have, capability)
	return len(value) > 0 && value[0] == '{'
}

// Ask sends a request to the client, and gives what it answers; an error that it answers is a
// [*jsonrpc.Error]. ErrCannotAsk is of a client of the newer era, which is asked by a result. When
// ctx ends first the client is told so.
func (r *Request) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if r.Modern || r.session == nil {
		return nil, ErrCannotAsk
	}
	return r.session.asks.ask(ctx, r.out, method, params)
}

// CloseStream ends the connection that the answer is to come on; the client is to come back for it.
// It does nothing where the client could not.
func (r *Request) CloseStream() {
	if !r.Modern && r.session != nil {
		r.out.interrupt()
	}
}
