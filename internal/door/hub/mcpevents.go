package hub

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpserve"
	"github.com/durward/durward/internal/mcpspec"
)

// A listener tells a client what becomes of its call.
type listener struct{ request *mcpserve.Request }

// Output has nothing to tell: there are no streams.
func (*listener) Output(durward.Chunk) {}

// Log has nothing to tell: what servers log comes by another way.
func (*listener) Log(string, string) {}

// Ended has nothing to tell: the answer says it.
func (*listener) Ended(durward.Result) {}

// Progress is not called, since there is RawProgress.
func (*listener) Progress(float64, float64, string) {}

// RawProgress tells of the progress as the server does.
func (l *listener) RawProgress(params json.RawMessage) { l.request.Progress(params) }

// CanAsk reports whether a client takes requests of a method. One of the newer era takes none: it is
// asked by a result.
func (l *listener) CanAsk(method string) bool { return !l.request.Modern && l.Answers(method) }

// Answers reports whether a client has the capability that a method is of.
func (l *listener) Answers(method string) bool {
	capability, _, _ := strings.Cut(method, "/")
	return l.request.Can(capability)
}

// Ask has the client asked.
func (l *listener) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return l.request.Ask(ctx, method, params)
}

// LogLevel is what a client of the newer era says with its call. Others say it once for all.
func (l *listener) LogLevel() string { return l.request.LogLevel() }

// Calls are those of clients of MCP that are under way at each server: who may hear what that logs.
// The zero value has none.
type calls struct {
	mu       sync.Mutex
	byServer map[string]map[*mcpserve.Request]struct{} // guarded by mu
}

// enter keeps a request until leave is called.
func (c *calls) enter(server string, r *mcpserve.Request) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byServer == nil {
		c.byServer = map[string]map[*mcpserve.Request]struct{}{}
	}
	if c.byServer[server] == nil {
		c.byServer[server] = map[*mcpserve.Request]struct{}{}
	}
	c.byServer[server][r] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.byServer[server], r)
	}
}

func (c *calls) at(server string) (list []*mcpserve.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.byServer[server] {
		list = append(list, r)
	}
	return list
}

// Logged tells clients what a server has for its log: the params of notifications/message. It is for
// those whose calls the server works on. callers are those of all calls that it may be about, however they came:
// with several it cannot be told for whose call it is. Then, and where there is none, only who may call
// everything hears it.
func (m *MCP) Logged(server string, callers []durward.Caller, params json.RawMessage) {
	level, ok := mcpspec.LevelOf(jsonx.Member(params, "level"))
	if !ok {
		return
	}
	name := "child/" + server
	if own, _ := jsonx.Text(jsonx.Member(params, "logger")); own != "" {
		name += "/" + own
	}
	text := jsonx.AppendString([]byte(`{"level":`), level.String())
	text = jsonx.AppendString(append(text, `,"logger":`...), name)
	data := jsonx.Member(params, "data")
	if data == nil {
		data = json.RawMessage("null")
	}
	text = append(append(append(text, `,"data":`...), data...), '}')
	at := m.calls.at(server)
	for _, r := range at {
		if m.Hears(r.Caller) || len(callers) == 1 && callers[0] == r.Caller {
			r.Log(level, text)
		}
	}
	if len(at) == 0 {
		m.server.Log(level, text, m.Hears)
	}
}
