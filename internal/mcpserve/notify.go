package mcpserve

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
)

// Notify tells all clients that want to know: of a resource that was updated those who listen to it,
// of all else every session, and the subscriptions that asked for it. That a list has changed is
// told once where it changes several times within 250 ms. params are an object, or nil.
func (s *Server) Notify(method string, params json.RawMessage) {
	if strings.HasSuffix(method, "/list_changed") {
		s.changes.tell(method, func() { s.broadcast(method, params) })
		return
	}
	s.broadcast(method, params)
}

func (s *Server) broadcast(method string, params json.RawMessage) {
	uri := ""
	if method == resourceUpdated {
		uri, _ = jsonx.Text(jsonx.Member(params, "uri"))
	}
	s.sessions.each(func(one *session) {
		if version, _ := one.agreed(); version != "" && (method != resourceUpdated || one.watching.has(uri)) {
			one.notify(method, params)
		}
	})
	s.listeners.each(func(l *listener) {
		if l.wants(method, params) {
			l.tell(method, params)
		}
	})
}

// Log tells the sessions that want messages of that level, and whose callers may know it, what there
// is for their log: the params of notifications/message.
func (s *Server) Log(level mcpspec.Level, params json.RawMessage, may func(durward.Caller) bool) {
	s.sessions.each(func(one *session) {
		if level >= one.wanted() && may(one.caller) {
			one.notify("notifications/message", params)
		}
	})
}

// apart is the least time between two notifications of one kind of change.
const apart = 250 * time.Millisecond

// Changes tell of something at once, and of what follows soon together.
type changes struct {
	mu      sync.Mutex
	stopped bool               // guarded by mu
	kinds   map[string]*change // guarded by mu
}

type change struct {
	timer *time.Timer // runs until the next may be told
	again bool        // there is something to be told then
}

// tell calls f now, or when the last call for that kind is long enough ago.
func (c *changes) tell(kind string, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	if is := c.kinds[kind]; is != nil {
		is.again = true
		return
	}
	if c.kinds == nil {
		c.kinds = map[string]*change{}
	}
	is := &change{}
	is.timer = time.AfterFunc(apart, func() { c.rested(kind, f) })
	c.kinds[kind] = is
	f()
}

// rested tells what has come meanwhile.
func (c *changes) rested(kind string, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.kinds[kind]
	if c.stopped || is == nil {
		return
	}
	if !is.again {
		delete(c.kinds, kind)
		return
	}
	is.again = false
	is.timer.Reset(apart)
	f()
}

func (c *changes) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, is := range c.kinds {
		is.timer.Stop()
	}
}
