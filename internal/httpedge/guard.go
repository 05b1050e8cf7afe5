package httpedge

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// Rules say which requests a door will look at. The zero value takes every method from
// callers without a credential, for the server's own address and origin only.
type Rules struct {
	// Methods lists what is answered at all; anything else is MethodNotAllowed. Empty
	// leaves it to the door.
	Methods []string
	// Hosts lists names, with or without a port, that a Host header may hold beside
	// the server's address and localhost.
	Hosts []string
	// AnyHost answers to whatever well-formed name a Host header holds. It suits servers
	// that a name stands for which they cannot know, and that no page in a browser can
	// use: with NoOrigin, or with credentials that a page does not have.
	AnyHost bool
	// Origins lists origins ("https://example.org") that may send requests beside the
	// server's own, and whose pages may see the answers.
	Origins []string
	// NoOrigin refuses each request that carries an Origin header, so that no browser
	// is served.
	NoOrigin bool
	// Authenticate says who the caller is, or refuses. Nil serves anonymous callers.
	Authenticate func(*http.Request) (durward.Caller, error)
	// Open lists the paths, compared with the bytes of the request target before any
	// "?", that need no credential, and are answered whatever else their caller asks.
	Open []string
	// WriteError answers what is refused. Nil means [WriteError].
	WriteError ErrorWriter
}

// A Guard refuses requests before the door sees them. It is safe for concurrent use.
type Guard struct {
	rules   Rules
	hosts   []host
	origins []origin
}

// NewGuard compiles rules; a host or origin that is not well formed is refused.
func NewGuard(rules Rules) (*Guard, error) {
	hosts, err := parseHosts(rules.Hosts)
	if err != nil {
		return nil, err
	}
	origins, err := parseOrigins(rules.Origins)
	if err != nil {
		return nil, err
	}
	if rules.WriteError == nil {
		rules.WriteError = WriteError
	}
	return &Guard{rules, hosts, origins}, nil
}

func badRule(why string) error {
	return &durward.Error{Reason: durward.BadUsage, Op: op, Err: errors.New(why)}
}

// Wrap puts the guard in front of next, which then runs only for requests that pass.
// Each answer carries X-Content-Type-Options: nosniff, and Cache-Control: no-store
// unless next sets it otherwise. A refusal ends the connection. Of the connections of a
// [Server] the requests of one caller who showed a credential can have all but one in 64.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if g.asksFirst(r) && g.checkSite(r) == nil {
			g.share(w, r)
			g.answerFirst(w)
			return
		}
		caller, err := g.judge(w, r)
		if err != nil {
			refuse(w, r, g.rules.WriteError, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

func (g *Guard) judge(w http.ResponseWriter, r *http.Request) (durward.Caller, error) {
	if len(g.rules.Methods) > 0 {
		if err := NeedMethod(w, r, g.rules.Methods...); err != nil {
			return durward.Caller{}, err
		}
	}
	if err := g.checkSite(r); err != nil {
		return durward.Caller{}, err
	}
	g.share(w, r)
	// "http://host/path" is for proxies, and net/http drops the Host header beside it.
	if !strings.HasPrefix(r.RequestURI, "/") {
		return durward.Caller{}, badRequest("the request target is not a path")
	}
	return g.authenticate(w, r)
}

// checkSite judges Host and Origin. A page on another site can make a browser send
// requests here, and with a name that it points at this machine (DNS rebinding) even
// read the answers; it cannot choose these two headers.
func (g *Guard) checkSite(r *http.Request) error {
	e := endsOf(r)
	asked, ok := parseHost(r.Host)
	if !ok || !(g.rules.AnyHost || e.own(asked) || slices.ContainsFunc(g.hosts, func(a host) bool { return a.allows(asked) })) {
		return refused(durward.OriginDenied, "host "+clip(r.Host))
	}
	from := r.Header.Values("Origin")
	switch {
	case len(from) == 0:
		return nil
	case len(from) == 1 && !g.rules.NoOrigin:
		if o, ok := parseOrigin(from[0]); ok && (o.same(e, asked) || slices.Contains(g.origins, o)) {
			return nil
		}
	}
	return refused(durward.OriginDenied, "origin "+clip(from[0]))
}

func (g *Guard) authenticate(w http.ResponseWriter, r *http.Request) (durward.Caller, error) {
	anonymous := durward.Caller{Name: "anonymous", Method: "none"}
	target, _, _ := strings.Cut(r.RequestURI, "?")
	if g.rules.Authenticate == nil || slices.Contains(g.rules.Open, target) {
		return anonymous, nil
	}
	caller, err := g.rules.Authenticate(r)
	switch {
	case err == nil:
		return caller, claim(r, caller)
	case Status(err) == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return caller, err
}

// NeedMethod refuses a request whose method is not among methods, and then sets the
// Allow header. Methods are compared with their case.
func NeedMethod(w http.ResponseWriter, r *http.Request, methods ...string) error {
	if slices.Contains(methods, r.Method) {
		return nil
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return refused(durward.MethodNotAllowed, "method "+clip(r.Method))
}

type callerKey struct{}

// CallerOf gives the caller that a [Guard] established for the request of ctx, and the
// zero value where no guard stood.
func CallerOf(ctx context.Context) durward.Caller {
	caller, _ := ctx.Value(callerKey{}).(durward.Caller)
	return caller
}
