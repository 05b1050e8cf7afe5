package mcpserve

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

// A session is what is agreed on with a client, and what is open with it: from initialize to the
// end of the session over HTTP, or one byte stream.
type session struct {
	id     string // empty on a byte stream
	caller durward.Caller
	// general takes what belongs to no request.
	general *stream

	inFlight jsonrpc.InFlight
	asks     asks
	streams  streams
	watching watcher // of resources

	mu           sync.Mutex
	version      string          // guarded by mu; empty before initialize
	client       durward.Client  // guarded by mu
	capabilities json.RawMessage // guarded by mu
	level        mcpspec.Level   // guarded by mu
	used         time.Time       // guarded by mu
	busy         int             // guarded by mu; requests and listeners

	alive context.Context // ends with the session
	work  context.Context // of its requests
	quit  context.CancelCauseFunc
	end   context.CancelFunc
}

func newSession(id string, caller durward.Caller) *session {
	s := &session{
		id: id, caller: caller, general: newStream(0), level: mcpspec.Silent, used: time.Now(),
	}
	s.alive, s.end = context.WithCancel(context.Background())
	s.work, s.quit = context.WithCancelCause(s.alive)
	s.watching.alive = s.alive
	return s
}

// use counts who uses the session.
func (s *session) use(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += n
	s.used = time.Now()
}

// idle is for how long nobody has.
func (s *session) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy > 0 {
		return 0
	}
	return time.Since(s.used)
}

// hello is what a client says in initialize.
type hello struct {
	version      string
	client       durward.Client
	capabilities json.RawMessage
}

// begin holds the client to what it said, and reports false if it has said so before.
func (s *session) begin(h hello) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != "" {
		return false
	}
	s.version, s.client, s.capabilities = h.version, h.client, append(json.RawMessage(nil), h.capabilities...)
	return true
}

// agreed gives the revision, which is empty before initialize, and the client.
func (s *session) agreed() (version string, client durward.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version, s.client
}

func (s *session) capable() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

func (s *session) wanted() mcpspec.Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

func (s *session) want(l mcpspec.Level) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = l
}

// notify sends what belongs to no request.
func (s *session) notify(method string, params json.RawMessage) {
	s.general.put(jsonrpc.Message{Kind: jsonrpc.Notification, Method: method, Params: params}, mayBeLost)
}
