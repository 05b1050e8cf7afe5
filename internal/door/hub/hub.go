// Package hub is the door to all MCP servers of a hub, over one catalogue: a small HTTP API, and one
// MCP server in front of all.
//
//	GET  /tools     {"tools": [{"name": "read_file", "description": "…", "input_schema": {…}, "server": "files", …}]}
//	POST /execute   {"tool_name": "read_file", "arguments": {"path": "a.txt"}, "timeout": 5}
//	     →          {"status": "success", "output": "…", "error": null, "execution_time_ms": 3.2}
//	     →          {"status": "error", "output": null, "error": "Tool execution timed out after 5s", "execution_time_ms": 5000.4}
//	GET  /health    {"status": "healthy", "servers": {"files": "running"}}
//	POST /mcp       clients of MCP, of all revisions (package mcpserve); also on a byte stream
//	GET  /ready, /metrics; POST /servers/files/restart
//	GET  /servers/files/logs   {"server": "files", "lines": ["what it said last on standard error"]}
//
// What is refused before a server is asked is answered with a status and {"detail": "…", "code": "…"}.
package hub

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/httpedge"
)

// Name is what records call this door.
const Name = "hub"

// A Server is how one of the servers is at the moment.
type Server struct {
	Name    string
	Running bool
	// PID is zero, and Since the zero time, where it does not run.
	PID       int
	Since     time.Time
	Restarts  int
	LastError string
	Tools     int
	// ProtocolVersion and Era are what it spoke last.
	ProtocolVersion, Era string
	// RetryAfter is the time to the next start that is planned; zero is none.
	RetryAfter time.Duration
	// Sandbox says what the kernel holds the server to; nil where nothing does.
	Sandbox *durward.Report
}

// A Tool is one that is offered now.
type Tool struct {
	durward.Tool
	Server, Original, Qualified string
	// Annotations are what the server says of it, or nil.
	Annotations []byte
}

// Options are the parts of a door. All but Rules and Logger are required.
type Options struct {
	Runtime *core.Runtime
	// Tools lists what is offered to a caller now, sorted by the name it is offered by.
	Tools func(durward.Caller) []Tool
	// Servers lists all servers, in the order of the configuration.
	Servers func() []Server
	// Restart starts a server anew, whatever became of it. An unknown one has reason
	// ToolNotFound.
	Restart func(ctx context.Context, server string) error
	// Stderr gives the last of what a server printed to its standard error.
	Stderr func(server string) []byte
	// Operates reports whether a caller may see the metrics, the logs and the details of servers,
	// and start them anew.
	Operates func(durward.Caller) bool
	// Timeout gives what a call of a tool gets that asks for so much; zero asks for nothing.
	Timeout func(tool durward.ToolID, asked time.Duration) time.Duration
	// ParsesText reports whether a text that is all that a tool answers is given as the value that
	// it is the JSON of.
	ParsesText func(tool durward.ToolID) bool
	Metrics    *Metrics
	// MCP is the surface for clients of MCP, at /mcp.
	MCP http.Handler
	// Missing says that there is no configuration, and is empty otherwise.
	Missing string
	// Rules say which requests are looked at; their WriteError is the door's own.
	Rules  httpedge.Rules
	Logger *slog.Logger
}

type door struct {
	Options
	guarded http.Handler
}

// New makes the handler of a hub. It is to be served at the root of a server.
func New(o Options) (http.Handler, error) {
	if o.Runtime == nil || o.Tools == nil || o.Servers == nil || o.Restart == nil || o.Stderr == nil || o.Timeout == nil || o.ParsesText == nil || o.Metrics == nil || o.MCP == nil || o.Operates == nil {
		return nil, errors.New("hub: a part is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &door{Options: o}
	o.Rules.WriteError = WriteError
	o.Rules.Open = append(o.Rules.Open, pathHealth)
	guard, err := httpedge.NewGuard(o.Rules)
	if err != nil {
		return nil, err
	}
	d.guarded = guard.Wrap(http.HandlerFunc(d.answer))
	return d, nil
}

// ServeHTTP answers one request.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.guarded.ServeHTTP(w, r) }

// Paths of the door.
const (
	pathTools   = "/tools"
	pathExecute = "/execute"
	pathHealth  = "/health"
	pathReady   = "/ready"
	pathMetrics = "/metrics"
	pathMCP     = "/mcp"
	pathServers = "/servers/"
	restart     = "/restart"
	logs        = "/logs"
)

// answer finds what a request is for.
func (d *door) answer(w http.ResponseWriter, r *http.Request) {
	if err := d.route(w, r); err != nil {
		d.writeError(w, r, err)
	}
}

func (d *door) route(w http.ResponseWriter, r *http.Request) error {
	path, err := httpedge.DecodePath(r)
	if err != nil {
		return err
	}
	switch path {
	case pathMCP:
		d.MCP.ServeHTTP(w, r)
		return nil
	case pathTools:
		return serve(w, r, http.MethodGet, d.showTools)
	case pathExecute:
		return serve(w, r, http.MethodPost, d.execute)
	case pathHealth:
		return serve(w, r, http.MethodGet, d.showHealth)
	case pathReady:
		return serve(w, r, http.MethodGet, d.showReady)
	}
	if d.Operates(httpedge.CallerOf(r.Context())) {
		return d.operate(w, r, path)
	}
	return nothing()
}

// operate answers what is for those who operate the hub. For all others there is nothing.
func (d *door) operate(w http.ResponseWriter, r *http.Request, path string) error {
	if path == pathMetrics {
		return serve(w, r, http.MethodGet, d.showMetrics)
	}
	of, ok := strings.CutPrefix(path, pathServers)
	if name, is := strings.CutSuffix(of, restart); ok && is {
		return serve(w, r, http.MethodPost, func(w http.ResponseWriter, r *http.Request) error { return d.restart(w, r, name) })
	}
	if name, is := strings.CutSuffix(of, logs); ok && is {
		return serve(w, r, http.MethodGet, func(w http.ResponseWriter, _ *http.Request) error { return d.showLogs(w, name) })
	}
	return nothing()
}

func nothing() error {
	return &durward.Error{Reason: durward.FileNotFound, Op: "route", Err: errors.New("nothing is served there")}
}

// serve answers a request that has the one method, or HEAD in the place of GET.
func serve(w http.ResponseWriter, r *http.Request, method string, answer func(http.ResponseWriter, *http.Request) error) error {
	methods := []string{method}
	if method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	if err := httpedge.NeedMethod(w, r, methods...); err != nil {
		return err
	}
	return answer(w, r)
}
