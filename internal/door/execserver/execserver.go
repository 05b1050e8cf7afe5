// Package execserver is the door of the exec server: processes, terminals and files over
// messages that go both ways.
//
// A connection carries messages of package protocol, one in each direction at a time, in
// the envelope that [jsonrpc.ParseBare] reads. It begins with initialize and initialized;
// then each call is a [durward.Call], and what a process does comes back as notifications:
//
//	connection ── is attached to ──▶ session ── has ──▶ processes ── each is ──▶ durward.Session
//	     └── has ──▶ file handles, watches and streamed replies, which end with it
//
// A session outlives its connection for a while if it may. What waits, waits beside the
// connection: a call that takes long holds up none that comes behind it.
package execserver

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// Name is the door's name in calls and records.
const Name = "exec-server"

// GraceByClient is the Grace by which a client says whether its session outlives a connection.
const GraceByClient time.Duration = -1

const (
	// usualGrace is how long a session of a client that asked to resume waits for it.
	usualGrace = time.Minute
	// mostWatches is how many files are watched for at once, for all clients; who wants one
	// more is told that nobody watches.
	mostWatches = 1024
	// retention is how long a closed process can still be read.
	retention = 80 * time.Second
)

// A Runtime takes calls down the road, as [core.Runtime] does.
type Runtime interface {
	Do(ctx context.Context, c durward.Call) (durward.Result, error)
	Open(ctx context.Context, c durward.Call, events durward.Events) (durward.Session, error)
	// Begin is Open, but that the caller follows the session until it has ended.
	Begin(ctx context.Context, c durward.Call, events durward.Events) (s durward.Session, follow func(), err error)
	// Refuse puts on record that a call is not taken on, and gives the error to answer with.
	Refuse(c durward.Call, why error) error
}

// A Conn carries whole messages to and from one peer.
type Conn interface {
	// Read gives the next message; an error ends the connection.
	Read(ctx context.Context) ([]byte, error)
	// Write sends messages, one right behind the other, and does not keep them. It may be
	// called concurrently, and blocks while the peer does not read.
	Write(ctx context.Context, messages ...[]byte) error
	// Close ends the connection at once, and with it calls of Read and Write.
	Close() error
	Caller() durward.Caller
}

// Options configure a Server. Runtime is required.
type Options struct {
	Runtime Runtime
	// Surface is the transport, for the records: "ws", "stdio".
	Surface string
	// Info is what clients are told of this machine, but for what the door can do itself.
	Info protocol.EnvironmentInfo
	// Environ is the environment that envPolicy begins with, "NAME=value".
	Environ []string
	// Grace is how long a session waits for a new connection. GraceByClient means that of a
	// client which sent resumeSessionId, even as null, waits for a minute, and others end
	// with their connection.
	Grace time.Duration
	// Confined says that processes are held by something, whatever clients ask for.
	Confined bool
	// Patience is how long requests are still answered once a peer says nothing more. Zero is
	// for peers that are gone then.
	Patience time.Duration
	// Dir and TmpDir are the server's own, for calls that name none.
	Dir, TmpDir string
	Limits      Limits
	Logger      *slog.Logger
}

// Limits bound what clients hold. A zero member means its default.
type Limits struct {
	// Processes may be alive at once in one session, and in all. Zero means 512 and 2048.
	Processes, AllProcesses int
	// Sessions may be there at once. Zero means 1024.
	Sessions int
	// Handles, watches and streamed replies may be open at once on one connection, each. Zero
	// means 256.
	Handles int
	// Requests are worked on at once for one connection, but for those that only wait. Zero
	// means 64.
	Requests int
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		into *int
		is   int
	}{{&l.Processes, 512}, {&l.AllProcesses, 2048}, {&l.Sessions, 1024}, {&l.Handles, 256}, {&l.Requests, 64}} {
		if *d.into == 0 {
			*d.into = d.is
		}
	}
	return l
}

// A Server serves connections. It is safe for concurrent use; close it after use.
type Server struct {
	Options
	info protocol.EnvironmentInfo

	mu        sync.Mutex
	closed    bool                // guarded by mu
	sessions  map[string]*session // guarded by mu
	processes int                 // guarded by mu; alive, in all sessions
	retained  atomic.Int64        // bytes of closed processes
	watches   chan struct{}       // full when as many are watched for as there may be

	starters *hands         // who start processes and follow them
	work     sync.WaitGroup // what connections have left behind
}

// New makes a Server.
func New(o Options) (*Server, error) {
	if o.Runtime == nil {
		return nil, errors.New("execserver: a runtime is required")
	}
	o.Limits = o.Limits.withDefaults()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		Options: o, info: o.Info, sessions: make(map[string]*session), watches: make(chan struct{}, mostWatches), starters: newHands(),
	}
	s.info.Capabilities = capabilities(o.Info.Capabilities)
	return s, nil
}

// capabilities adds what the door itself can do.
func capabilities(c protocol.Capabilities) protocol.Capabilities {
	c.FSWatchMissing, c.SandboxedFileStreaming, c.FileWriteStreaming = true, true, true
	c.DurwardResize, c.DurwardCloseStdin, c.DurwardTerminateGrace = true, true, true
	c.DurwardList, c.DurwardLimits, c.DurwardFlow = true, true, true
	return c
}

// Close ends all sessions with their processes and waits until all of them are dead. The
// connections are to be ended before.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, session := range all {
		session.end(&durward.Error{Reason: durward.ShuttingDown, Op: Name})
	}
	s.starters.end()
	s.work.Wait()
}

// begin has f done beside, for which the server waits, unless it is closed.
func (s *Server) begin(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.starters.do(f)
	return true
}
