// Package mcpserve is the server's side of the Model Context Protocol: it speaks with clients of
// all five revisions, on one HTTP endpoint or on a byte stream, and leaves to its owner what there
// is to be offered.
//
// Over HTTP each message of a client is the body of a POST. The answer is one JSON text, or a
// stream of events where the server has something to say before it:
//
//	POST /mcp   {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{…}}
//	  200 application/json    {"jsonrpc":"2.0","id":1,"result":{…}}
//	  200 text/event-stream   id: 3-1
//	                          data: {"jsonrpc":"2.0","method":"notifications/progress","params":{…}}
//
// Clients of the older era begin a session with initialize and name it in Mcp-Session-Id; they may
// listen with GET, take a stream up again with Last-Event-ID, and end the session with DELETE. Those
// of 2026-07-28 have no session: they say everything in each request, in headers, too, and listen
// with a request that stays open, subscriptions/listen. On a byte stream a message is one line, and
// both eras may be mixed.
//
// A client that does not read loses notifications, never answers, and holds nobody else up.
package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

// Info is how a server names itself.
type Info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Options are the parts of a Server. Info, Capabilities and Handle are required.
type Options struct {
	Info Info
	// Instructions tell a model what there is. It may be empty.
	Instructions string
	// Capabilities gives the object of what is offered. It is asked for each time.
	Capabilities func() json.RawMessage
	// Handle answers requests of all methods that are not the protocol's own: those of tools,
	// resources, prompts and completion. A [*jsonrpc.Error] is answered as it is; any other error
	// is logged, and the client learns that there was one. The context ends when nobody waits for
	// the answer any more. Handle is called concurrently; it is not called after Close.
	Handle func(ctx context.Context, r *Request) (json.RawMessage, error)
	// Quiet, if set, tells of a request for which Handle says nothing, and asks nothing, before it
	// answers. That is as it is for others; it takes less time.
	Quiet func(r *Request) bool
	// Level, if set, is told the least urgent level that any session wants log messages of, each time
	// that it is another one; Silent when none wants any more. It must not wait.
	Level func(mcpspec.Level)
	// TTL is for how long a client of the newer era may keep a list that says nothing of it.
	TTL time.Duration
	// Sessions is how many there may be at once. Zero means 1024. Where there are more, one of the
	// caller who has the most makes room, and one in use only for another caller.
	Sessions int
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// A Server speaks with any number of clients. It is safe for concurrent use.
type Server struct {
	Options
	sessions  sessions
	listeners listeners
	changes   changes
	watches   watches

	telling sync.Mutex
	told    mcpspec.Level // guarded by telling; what Level was told last

	mu      sync.Mutex
	closed  bool           // guarded by mu
	done    chan struct{}  // closed by Close
	running sync.WaitGroup // requests; begun under mu, unless closed
}

// New makes a Server. Whoever makes one closes it.
func New(o Options) (*Server, error) {
	if o.Info.Name == "" || o.Capabilities == nil || o.Handle == nil {
		return nil, errors.New("mcpserve: a name, capabilities and a handler are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Sessions <= 0 {
		o.Sessions = 1024
	}
	s := &Server{Options: o, done: make(chan struct{}), told: mcpspec.Silent}
	s.sessions.most = o.Sessions
	return s, nil
}

// Close ends what is open without a request of its own, streams and sessions, and has further
// requests refused. Requests that run go on; Close waits for them.
func (s *Server) Close() {
	s.Drain()
	s.running.Wait()
}

// Drain is Close that does not wait.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	s.changes.stop()
}

// enter begins a request; leave ends it.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}

func (s *Server) leave() { s.running.Done() }

// codeClosing is for requests that come while the server ends.
const codeClosing = -32000

func closing() *jsonrpc.Error {
	return &jsonrpc.Error{Code: codeClosing, Message: "the server is shutting down"}
}
