// Package mcpclient has the work of a call done by an MCP server: a program that it starts and
// keeps running, or one over HTTP.
//
// A program reads messages of JSON-RPC from its standard input and writes them to its standard
// output, one a line. What it is asked, and what it answers:
//
//	{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}}}
//	{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"hello"}]}}
//
// There are three eras of servers: "modern" ones say everything in each message (2026-07-28),
// "legacy" ones begin with a handshake (2025-11-25 and before), and "bare" ones know nothing
// but tools/list and tools/call. Which one a server is of is found out at its first start.
//
// The arguments reach the server, and the result its caller, with all their numbers, members
// and their order. A call is sent once, whatever becomes of it.
//
// Nothing a server does touches another one, nor us: what it prints that means nothing is
// passed over, what it starts is ended with it, and it sees of our environment what the
// configuration names.
package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/netguard/egress"
)

// Name is what tools of the engine name it by.
const Name = "mcpclient"

const op = "mcp.call"

// maxLineBytes bounds one message of a server.
const maxLineBytes = 64 << 20

// closeTime is what calls that run get to end when the engine is closed.
const closeTime = 5 * time.Second

// Options configure an Engine.
type Options struct {
	// Servers are those to start, but for the ones that are disabled. Their names differ.
	Servers []hubconfig.Server
	// SandboxDir is the directory that servers begin in and are told of. It must exist.
	SandboxDir string
	// HomeDir is where each server has a HOME of its own, which is kept. Empty gives them ones
	// that go with the engine.
	HomeDir string
	// Environ is the environment that servers get variables of: PATH, and those that their
	// configuration names.
	Environ map[string]string
	// Version is what servers are told of us beside the name.
	Version string
	// Expose names what servers are asked for beside their tools: "resources", "prompts".
	Expose []string
	// Refresh is how often servers are asked for what they have again. Zero leaves it to them to
	// say that something changed.
	Refresh time.Duration
	// Logger receives diagnostics; what servers print is logged at DEBUG. Nil discards them.
	Logger *slog.Logger
	// Changed, if set, is told that what a server has is other than before, or that it runs or
	// runs no more. It is called from any goroutine, and must not call Close or Restart.
	Changed func(server string)
	// Message, if set, is told what a server says for its log: the params of
	// notifications/message as they came, and the callers of all calls that it may be working on,
	// also of those that were given up. It is called in the order of the messages and must
	// not block; the server is not read meanwhile.
	Message func(server string, callers []durward.Caller, params json.RawMessage)
	// Updated, if set, is told of a resource that changed, to which somebody has subscribed: the
	// params of notifications/resources/updated as they came. It is called as Message is.
	Updated func(server string, params json.RawMessage)
	// Forward, if set, gives the arguments to send in the place of those of a call, a JSON
	// object, for a tool by the server's own name.
	Forward func(ctx context.Context, server, tool string, arguments json.RawMessage) (json.RawMessage, error)

	// Tests have their own: zero means the system's clock, and maxLineBytes.
	clock     clock
	lineBytes int
}

// An Engine keeps servers and calls their tools. It is safe for concurrent use.
type Engine struct {
	options Options
	order   []string
	servers map[string]*server
	room    egress.Room // for the connections of all servers

	level atomic.Pointer[string] // that servers log at; nil while nobody wants one

	begin   sync.Once
	keep    context.Context // ends when servers are to end
	end     context.CancelFunc
	keepers sync.WaitGroup
	hurry   chan struct{} // closed when there is no time for TERM
	kill    sync.Once

	mu      sync.Mutex
	scratch string         // guarded by mu; the directory for what goes with the engine, or empty
	lock    *os.File       // guarded by mu; on that, or nil
	closed  bool           // guarded by mu
	running sync.WaitGroup // calls; begun under mu, unless closed
}

// New makes an Engine. It starts nothing. Whoever makes one closes it.
func New(o Options) (*Engine, error) {
	if !filepath.IsAbs(o.SandboxDir) {
		return nil, fmt.Errorf("mcpclient: the sandbox directory %q is no absolute path", o.SandboxDir)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.clock == nil {
		o.clock = system{}
	}
	if o.lineBytes == 0 {
		o.lineBytes = maxLineBytes
	}
	o.Environ = maps.Clone(o.Environ)
	e := &Engine{options: o, servers: make(map[string]*server), hurry: make(chan struct{})}
	e.keep, e.end = context.WithCancel(context.Background())
	for _, config := range o.Servers {
		if config.Disabled {
			continue
		}
		if e.servers[config.Name] != nil {
			return nil, fmt.Errorf("mcpclient: there are two servers named %q", config.Name)
		}
		e.servers[config.Name] = newServer(e, config)
		e.order = append(e.order, config.Name)
	}
	return e, nil
}

// Start starts all servers at once, and keeps them running until Close. It comes back when each
// of them runs or has failed for the first time, when ctx ends, or when the engine is closed. Further calls only wait.
func (e *Engine) Start(ctx context.Context) {
	e.begin.Do(func() {
		e.keepers.Go(e.sweep)
		for _, name := range e.order {
			e.keepers.Go(e.servers[name].live)
		}
	})
	for _, name := range e.order {
		select {
		case <-e.servers[name].tried:
		case <-e.keep.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// Restart ends a server, if it runs, and starts it anew; what is known of earlier failures is
// forgotten. It comes back when the server runs, and gives the error of the start. An unknown
// name is an error with reason ToolNotFound.
func (e *Engine) Restart(ctx context.Context, name string) error {
	s := e.servers[name]
	if s == nil {
		return &durward.Error{Reason: durward.ToolNotFound, Op: "mcp.restart", Err: fmt.Errorf("there is no server %q", name)}
	}
	wish := make(chan error, 1)
	select {
	case s.wishes <- wish:
	case <-e.keep.Done():
		return shuttingDown()
	case <-ctx.Done():
		return durward.Ended(ctx, "mcp.restart")
	}
	select {
	case err := <-wish:
		return err
	case <-ctx.Done():
		return durward.Ended(ctx, "mcp.restart")
	}
}

// Enforces lists what the engine holds: it counts what it takes in, and a call ends with its
// time. What a server may touch is not in its hands once it runs.
func (e *Engine) Enforces() []durward.GrantField { return []durward.GrantField{durward.FieldLimits} }

// Prepare takes a tool whose Spec is a [*hubconfig.Target] and a call that has an object for an
// input: the arguments of a tool, or the params of another request, of which "_meta" is left out
// and a prompt's name is the target's. What others than tools answer may be any object. A server that does not run is reason ServerStopped; [durward.Detail.Limit] then says in
// how many seconds it may run again, if that is known.
func (e *Engine) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	target, ok := t.Spec.(*hubconfig.Target)
	if !ok || e.servers[target.Server] == nil {
		return nil, &durward.Error{Reason: durward.Defect, Op: op, Err: fmt.Errorf("tool %q names no server", t.ID)}
	}
	if input := jsonx.TrimSpace(c.Input); len(input) == 0 || input[0] != '{' {
		return nil, &durward.Error{
			Reason: durward.BadCall, Op: op, Hint: "send an object of arguments", Err: fmt.Errorf("tool %q takes an object", t.ID),
		}
	}
	p := &prepared{engine: e, server: e.servers[target.Server], caller: c.Caller, target: *target, input: c.Input, resume: c.Resume, limit: bound(g.Limits)}
	if _, err := p.server.current(); err != nil {
		return nil, err
	}
	if e.options.Forward != nil && target.Method == "" {
		var err error
		if p.input, err = e.options.Forward(ctx, target.Server, target.Tool, c.Input); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// enter begins a call; leave ends it.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return shuttingDown()
	}
	e.running.Add(1)
	return nil
}

func (e *Engine) leave() { e.running.Done() }

// Kill ends all servers at once, without a warning, while Close waits or before it is called.
func (e *Engine) Kill() { e.kill.Do(func() { close(e.hurry) }) }

// Close refuses further calls and waits 5 seconds for those that run. Then the servers end:
// their input is closed, they get TERM, and KILL 5 seconds later. When it returns nothing of
// them is left.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.running.Wait(); close(done) }() // calls end with their servers
	timer, stop := e.options.clock.timer(closeTime)
	defer stop()
	select {
	case <-done:
	case <-timer:
	case <-e.hurry:
	}
	e.begin.Do(func() {}) // nothing starts any more
	e.end()
	e.keepers.Wait()
	<-done
	return e.dropScratch()
}
