// Package gateway is the door for platforms that run tools in workers: one address for each
// tool of a domain package.
//
//	POST /v1/tools/web.fetch:run   {"input": {"url": "https://example.org"}}
//	     →                         {"ok": true, "tool_id": "web.fetch", "tool_run_id": "…", "output": {…},
//	                                "meta": {"trace_id": "…", "duration_ms": 12}}
//	     →                         {"ok": false, "tool_id": "web.fetch", "tool_run_id": "…",
//	                                "error": {"code": "TIMEOUT", "message": "…", "retryable": true, "details": {}}, "meta": {…}}
//	GET  /v1/tools, /v1/tools/web.fetch, /v1/domain, /healthz, /readyz, /metrics
//
// What a call may do is decided behind the core: the door turns a request into a call and
// the call's end into an answer.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/httpedge"
)

// Name is what records call this door.
const Name = "gateway"

// Health is what the look at a worker came to.
type Health string

// What a worker can be.
const (
	Up          Health = "up"
	Down        Health = "down"
	CircuitOpen Health = "circuit_open"
)

// Options are the parts of a door: a domain with the runtime that runs its tools, or the
// error because of which there is none.
type Options struct {
	Domain  *domain.Domain
	Runtime *core.Runtime
	// Broken is why no domain could be loaded; everything but the health of the process is
	// answered with it then.
	Broken *LoadError
	// Health looks at the worker of a tool.
	Health func(context.Context, *domain.Tool) Health
	// Shared is what the doors of one program have together.
	Shared *Shared
	// Rules say which requests are looked at; its WriteError is the door's own.
	Rules httpedge.Rules
	// Logger is told of each run. Nil discards it.
	Logger *slog.Logger
	// IncludeInput has the log hold what callers send, but for what looks like a secret.
	IncludeInput bool
}

// A LoadError says why a domain package is not served, in words for whoever asks.
type LoadError struct {
	// Message is one problem, with its place; File, Line and Reason are its parts.
	Message, File string
	Line          int
	Reason        string
}

func (e *LoadError) Error() string { return e.Message }

// A Door answers requests. It is safe for concurrent use.
type Door struct {
	Options
	guarded http.Handler
	room    *room
	tools   map[durward.ToolID]*domain.Tool
	tallies map[durward.ToolID]*tally // the empty name stands for all that are unknown
	listing listing
}

// New makes a door. It is to be served at the root of a server: no path is cleaned or
// redirected in front of it.
func New(o Options) (*Door, error) {
	if (o.Broken == nil) == (o.Domain == nil) || (o.Domain != nil && (o.Runtime == nil || o.Health == nil)) || o.Shared == nil {
		return nil, errors.New("gateway: a domain with its runtime and a way to its workers' health, or the error in its place, and what is shared are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Door{Options: o, room: newRoom(o.Domain), tools: map[durward.ToolID]*domain.Tool{}, tallies: map[durward.ToolID]*tally{}}
	d.tallies[""] = o.Shared.Metrics.tally("")
	if o.Domain != nil {
		for _, t := range o.Domain.Tools {
			d.tools[t.ID], d.tallies[t.ID] = t, o.Shared.Metrics.tally(string(t.ID))
		}
		d.listing = list(o.Domain)
		o.Shared.Metrics.runtime.Store(o.Runtime)
	}
	o.Rules.WriteError = d.writeError
	o.Rules.Open = append(o.Rules.Open, pathHealth)
	guard, err := httpedge.NewGuard(o.Rules)
	if err != nil {
		return nil, err
	}
	d.guarded = guard.Wrap(http.HandlerFunc(d.answer))
	return d, nil
}

// ServeHTTP answers one request. Whatever comes of it, it gets a run id and a trace id.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	run := newRun(r)
	run.tell(w.Header())
	d.guarded.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), runKey{}, run)))
}

// Close waits for the runs in progress. No request may come any more.
func (d *Door) Close() error {
	if d.Runtime != nil {
		d.Runtime.Shutdown(context.Background())
	}
	return nil
}

// A run is one request, by the names that its answer has for it.
type run struct {
	id      durward.CallID
	trace   durward.TraceContext
	traceID string // empty where it is that of trace
	began   time.Time
	// tool is what the path names, and isRun whether it is to be run.
	tool  durward.ToolID
	isRun bool
	// read is when the body had been read; the time of the call begins there.
	read time.Time
}

type runKey struct{}

func newRun(r *http.Request) *run {
	u := &run{id: core.NewCallID(), trace: httpedge.TraceOf(r), began: time.Now()}
	u.tool, u.isRun = toolOf(r)
	if u.trace.IsZero() {
		u.trace, u.traceID = core.NewTrace(), httpedge.ClientID(r, headerTrace)
	}
	return u
}

// runOf gives the run of a request. One that never came as far as the door begins one.
func runOf(r *http.Request) *run {
	if u, ok := r.Context().Value(runKey{}).(*run); ok {
		return u
	}
	return newRun(r)
}

const (
	headerTrace = "X-Trace-Id"
	headerRun   = "X-Tool-Run-Id"
)

// answeredRun gives the run of an answer that was begun, for who did not begin it.
func answeredRun(h http.Header, r *http.Request) *run {
	u := runOf(r)
	if id := h.Get(headerRun); id != "" {
		u.id, u.traceID = durward.CallID(id), h.Get(headerTrace)
	}
	return u
}

func (u *run) tell(h http.Header) {
	h.Set(headerTrace, u.traceName())
	h.Set(headerRun, string(u.id))
}

func (u *run) traceName() string { return durward.Call{Trace: u.trace, TraceID: u.traceID}.TraceName() }

// call gives what the call of the run begins with.
func (u *run) call(r *http.Request) durward.Call {
	return durward.Call{
		ID: u.id, Trace: u.trace, TraceID: u.traceID, ClientID: u.traceID, Door: Name,
		Caller: httpedge.CallerOf(r.Context()), Tool: u.tool,
	}
}
