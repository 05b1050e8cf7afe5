// Package site is the door for agents that speak HTTP: a folder of pages that are read
// by GET and whose commands are run by POST.
//
//	GET  /docs/query       the page docs/query.md
//	POST /docs/query       {"command": ["ls", "-l"], "env": {"NAME": "value"}}
//	     →                 {"stdout": "…", "stderr": "…", "returncode": 0}
//	     →                 {"error": "…", "code": "not_allowed", "hint": "…", "stdout": "", "stderr": "…", "returncode": 1}
//
// What a page allows is not decided here: the door turns a request into a call and the
// call's end into an answer.
package site

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/door/site/render"
	"github.com/durward/durward/internal/httpedge"
)

// Name is what records call this door.
const Name = "site"

// Options are the parts of a door. Runtime and Files are required.
type Options struct {
	// Runtime runs the calls. A page is the tool called by "/" and a path that leads
	// to it.
	Runtime *core.Runtime
	Files   content.Resolver
	// Describe tells for people what a page allows and where its text begins. Nil shows
	// the page as it is.
	Describe func(path string, document []byte) render.Document
	// Components finds the blocks of a page that are replaced by the output of their
	// code. Nil serves them as they are written.
	Components func(document []byte) []Component
	// Live tells of which pages the components are run. Nil is all.
	Live func(*content.Content) bool
	// ComponentTime is what a component gets; no more than policy gives a call. Zero
	// means [ComponentTime].
	ComponentTime time.Duration
	// DataEnvelope puts the answer to a command into a member called data.
	DataEnvelope bool
	// Rules say which requests are looked at; its Methods and WriteError are the
	// door's own.
	Rules httpedge.Rules
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// A door answers requests.
type door struct {
	Options
	shelf shelf
}

// New makes the handler of a site. It is to be served at the root of a server: no path
// is cleaned or redirected in front of it.
func New(o Options) (http.Handler, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ComponentTime == 0 {
		o.ComponentTime = ComponentTime
	}
	d := &door{Options: o}
	o.Rules.Methods = []string{http.MethodGet, http.MethodHead, http.MethodPost}
	o.Rules.WriteError = d.writeError
	guard, err := httpedge.NewGuard(o.Rules)
	if err != nil {
		return nil, err
	}
	return guard.Wrap(d), nil
}

// ServeHTTP answers one request that the guard has let through.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err error
	if r.Method == http.MethodPost {
		err = d.run(w, r)
	} else {
		err = d.read(w, r)
	}
	if err != nil {
		d.writeError(w, r, err)
	}
}

// pathOf gives the path of a request as it was sent, and as a site's path.
func pathOf(r *http.Request) (sent, clean string, err error) {
	sent, err = httpedge.DecodePath(r)
	if err != nil {
		return "", "", err
	}
	clean, err = content.CleanPath(sent[1:])
	return sent, clean, err
}

// call gives what every call through this door begins with.
func (d *door) call(r *http.Request, sent, clean string) durward.Call {
	return durward.Call{
		Door: Name, Caller: httpedge.CallerOf(r.Context()), Trace: httpedge.TraceOf(r), ClientID: httpedge.ClientID(r, "X-Request-Id"),
		Tool: durward.ToolID("/" + clean), Path: sent,
	}
}
