// Package worker has the work of a call done by an HTTP service, the tool's worker.
//
// What is sent, and what is answered when the work was done, or not:
//
//	{"meta":{"trace_id":"4b…36","tool_run_id":"0198…","domain_id":"example","deadline_ms":1760000000000},"input":{"url":"…"}}
//	{"ok":true,"meta":{},"output":{"title":"…"}}
//	{"ok":false,"meta":{},"error":{"code":"UPSTREAM_ERROR","message":"…","retryable":true,"details":{}}}
//
// The input reaches the worker, and the output its caller, as the bytes that they are.
// Whatever else a worker says is an error and no result.
//
// A worker gets a call once. It gets it again only where the tool allows for that, and the
// call has not reached it or it has said itself that trying again makes sense. There are no
// redirects, no cookies, no proxy, no compression and no HTTP/2, and nothing that the caller
// sent reaches the worker but the input and the trace.
package worker

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/netguard"
)

// Name is what tools of the engine name it by.
const Name = "worker"

const op = "worker.call"

// Options configure an Engine. The zero value knows no secret.
type Options struct {
	// Secret gives the value of an environment variable; it is asked at each call of a tool
	// whose transport names one. Nil knows none.
	Secret func(variable string) (string, bool)
	// Resolver finds the addresses of a name. Nil means the system's, search domains included.
	Resolver netguard.Resolver
	// Roots are the authorities that workers have to be vouched for by. Nil means the
	// system's.
	Roots *x509.CertPool
	// Logger receives diagnostics. They hold nothing that a caller or a worker said. Nil
	// discards them.
	Logger *slog.Logger
	// Now is the clock of the circuit breakers. Nil means [time.Now].
	Now func() time.Time
}

// An Engine calls workers. It is safe for concurrent use, and for tools of several domains:
// free connections and circuit breakers belong to the base URL of a worker and outlive the
// domain that named it.
type Engine struct {
	options Options

	mu      sync.RWMutex
	remotes map[string]*remote // guarded by mu; by base URL
	closed  bool               // guarded by mu
	running sync.WaitGroup     // begun under mu, unless closed
}

// New makes an Engine. Whoever makes one closes it.
func New(o Options) *Engine {
	if o.Secret == nil {
		o.Secret = func(string) (string, bool) { return "", false }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Engine{options: o, remotes: make(map[string]*remote)}
}

// Enforces lists what the engine holds: it counts what it takes in, and the end of a call's
// time ends its connection. What a worker may touch is not in its hands.
func (e *Engine) Enforces() []durward.GrantField { return []durward.GrantField{durward.FieldLimits} }

// Prepare takes a tool whose Spec is a [*domain.Tool] and a call that has an input. It opens
// nothing and looks nothing up.
func (e *Engine) Prepare(_ context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	tool, ok := t.Spec.(*domain.Tool)
	if !ok {
		return nil, &durward.Error{Reason: durward.Defect, Op: op, Err: fmt.Errorf("tool %q names no worker", t.ID)}
	}
	if c.Input == nil {
		return nil, &durward.Error{
			Reason: durward.BadCall, Op: op, Hint: "send an input object", Err: fmt.Errorf("tool %q takes an input", t.ID),
		}
	}
	to, err := e.address(tool, tool.Transport.Endpoint)
	if err != nil {
		return nil, err
	}
	return &prepared{engine: e, tool: tool, call: c, to: to, limit: positive(g.Limits.WithDefaults().Output)}, nil
}

// An address is where a request goes, and what it shows there.
type address struct {
	remote *remote
	path   string // as the request line has it
	secret secret // empty shows none
}

// address finds where a path of a tool's worker is.
func (e *Engine) address(tool *domain.Tool, path string) (address, error) {
	r, err := e.remote(tool.Transport.BaseURL)
	if err != nil {
		return address{}, err
	}
	u, err := netguard.ParseURL(tool.Transport.BaseURL + path)
	if err != nil {
		return address{}, err
	}
	s, err := e.secret(tool.Transport.TokenEnv)
	return address{r, u.RequestURI(), s}, err
}

// remote finds the worker at a base URL.
func (e *Engine) remote(baseURL string) (*remote, error) {
	e.mu.RLock()
	r := e.remotes[baseURL]
	e.mu.RUnlock()
	if r != nil {
		return r, nil
	}
	fresh, err := newRemote(baseURL, &e.options)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if r = e.remotes[baseURL]; r == nil {
		r = fresh
		e.remotes[baseURL] = r
	}
	return r, nil
}

// enter begins an exchange with a worker; leave ends it.
func (e *Engine) enter() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return &durward.Error{Reason: durward.ShuttingDown, Op: op, Retry: true, Hint: "try again after the restart"}
	}
	e.running.Add(1)
	return nil
}

func (e *Engine) leave() { e.running.Done() }

// Close refuses further calls, waits for those that run, which it leaves their time, and
// closes all connections. It may be called more than once.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.running.Wait()
	e.mu.RLock()
	defer e.mu.RUnlock()
	var failed error
	for _, r := range e.remotes {
		failed = errors.Join(failed, r.idle.close())
	}
	return failed
}
