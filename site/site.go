// Package site serves a folder of Markdown pages and runs the commands that the pages
// allow, as a part of another program.
//
//	handler, err := site.New(site.Config{Root: "docs", StateDir: "/var/lib/mine"},
//		site.WithMiddleware(authenticate))
//	…
//	defer handler.(io.Closer).Close()
//	err = http.ListenAndServe("127.0.0.1:8000", handler)
//
// A page says in its frontmatter what may be run, and a POST to the page runs it. Each
// call is decided, held within limits, ended with all it started, and recorded in an
// audit log. What pages are made of, where they come from and what runs them can be
// replaced: see [ContentResolver], [Executor] and [Middleware]. [ParseFrontmatter] and
// [Frontmatter.Match] work without a server.
package site

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/core"
	doorsite "github.com/durward/durward/internal/door/site"
	"github.com/durward/durward/internal/door/site/render"
	"github.com/durward/durward/internal/engine/fetch"
	"github.com/durward/durward/internal/engine/glob"
	"github.com/durward/durward/internal/engine/page"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/source/pages"
)

// A Middleware wraps the handler of a site.
type Middleware func(http.Handler) http.Handler

// An Option replaces a part of a site.
type Option func(*builder)

// WithContentResolver takes pages from elsewhere than a local directory. Config.Root
// may be empty then. Paths that lead out or are hidden never reach the resolver.
func WithContentResolver(r ContentResolver) Option {
	return func(b *builder) { b.resolver = translated{r} }
}

// WithExecutor has commands run by e instead of by this machine. The built-in commands
// stay what they are.
func WithExecutor(e Executor) Option {
	return func(b *builder) { b.programs = executing{e} }
}

// WithMiddleware puts middleware around the site, the first one outermost. It sees
// requests before the site has judged them.
func WithMiddleware(m ...Middleware) Option {
	return func(b *builder) { b.middleware = append(b.middleware, m...) }
}

// WithRecorder keeps the records of calls elsewhere than in an audit log below
// Config.StateDir. The recorder is not closed with the site.
func WithRecorder(r Recorder) Option {
	return func(b *builder) { b.recorder = r }
}

// A Recorder keeps the record of every call. A method returns when the record is
// written; an error refuses the call. All methods may be called concurrently.
type Recorder = core.Recorder

// New builds the handler of a site. It starts no listener; the handler is to be served
// at the root of a server, with nothing in front of it that cleans or redirects paths.
//
// The handler is an [io.Closer], too: Close waits for the calls in flight and frees
// what the site holds.
func New(c Config, options ...Option) (http.Handler, error) {
	b := &builder{config: c.withDefaults()}
	for _, o := range options {
		o(b)
	}
	s, err := b.build()
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return s, nil
}

// A site is a handler with all that stands behind it.
type site struct {
	http.Handler
	runtime *core.Runtime
	held    *builder
}

// Close waits for the calls in flight and frees everything.
func (s *site) Close() error {
	s.runtime.Shutdown(context.Background())
	return s.held.close()
}

// Shutdown refuses further calls and waits for those in flight. When ctx ends first it
// cancels them, and still waits until they are over.
func (s *site) Shutdown(ctx context.Context) { s.runtime.Shutdown(ctx) }

// A builder holds the parts of a site.
type builder struct {
	config     Config
	resolver   content.Resolver
	programs   core.Engine
	recorder   core.Recorder
	middleware []Middleware

	local   *content.Local  // nil where pages come from elsewhere
	engine  *process.Engine // nil where an embedding program runs commands
	live    func(*content.Content) bool
	closers []io.Closer
}

func (b *builder) close() error {
	var err error
	for i := len(b.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, b.closers[i].Close())
	}
	b.closers = nil
	return err
}

func (b *builder) build() (*site, error) {
	if err := b.config.check(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{b.openRoot, b.openLog, b.openPrograms} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	runtime, err := b.runtime()
	if err != nil {
		return nil, err
	}
	handler, err := b.door(runtime)
	if err != nil {
		return nil, err
	}
	for i := len(b.middleware) - 1; i >= 0; i-- {
		handler = b.middleware[i](handler)
	}
	return &site{Handler: handler, runtime: runtime, held: b}, nil
}

// openRoot opens the local directory, unless pages come from elsewhere.
func (b *builder) openRoot() error {
	if b.resolver != nil {
		return nil
	}
	if b.config.Root == "" { // which would be the directory that we happen to be in
		return badConfig("Root is missing: it is the directory of the pages")
	}
	local, err := content.OpenLocal(b.config.Root, b.config.Hidden...)
	if err != nil {
		return err
	}
	b.closers = append(b.closers, local)
	b.resolver, b.local = local, local
	return nil
}

func (b *builder) openLog() error {
	if b.recorder != nil {
		return nil
	}
	if b.config.StateDir == "" {
		return badConfig("StateDir is missing: the audit log is kept below it")
	}
	log, err := audit.Open(filepath.Join(b.config.StateDir, "audit"), audit.Options{})
	if err != nil {
		return err
	}
	b.closers = append(b.closers, log)
	b.recorder = log
	return nil
}

func (b *builder) openPrograms() error {
	if b.programs != nil {
		return nil
	}
	engine := process.New(process.Options{Warm: true})
	b.engine = engine
	b.closers = append(b.closers, engine)
	b.programs = engine
	return nil
}

func (b *builder) runtime() (*core.Runtime, error) {
	root := b.root()
	operator, err := b.config.policy(root)
	if err != nil {
		return nil, err
	}
	if err := b.holds(operator.Grant()); err != nil {
		return nil, err
	}
	b.warn(operator.Grant())
	if err := b.seal(operator.Grant()); err != nil {
		return nil, err
	}
	engine := &page.Engine{Programs: b.programs, BuiltIn: map[string]core.Engine{}}
	if b.local != nil {
		listing, err := glob.New(glob.Options{Root: root, MaxItems: b.config.Limits.ListItems, Hidden: b.hides})
		if err != nil {
			return nil, err
		}
		b.closers = append(b.closers, listing)
		engine.BuiltIn["glob"] = listing
	}
	if b.config.HTTP.Enabled {
		engine.BuiltIn["curl"] = fetch.New(fetch.Options{Ports: b.config.HTTP.Ports})
	}
	return core.New(core.Options{
		Source: pages.New(b.resolver, pages.Options{Root: root, Vars: b.config.Env, AllowEnv: b.config.AllowEnv, Live: b.live}),
		Policy: pages.Rules{
			Operator: operator, Env: b.config.Env, Path: b.config.Path,
			NoGuard: b.config.NoArgumentGuard, Components: b.config.Components, Fetches: b.config.HTTP.Enabled,
			Elsewhere: b.elsewhere(),
		},
		Recorder: b.recorder, Engines: map[string]core.Engine{pages.Engine: engine},
		MaxConcurrent: b.config.MaxConcurrent, MaxQueue: b.config.MaxQueue,
	})
}

// elsewhere reports whether an embedding program runs the commands.
func (b *builder) elsewhere() bool {
	_, ok := b.programs.(executing)
	return ok
}

// root is the physical directory of the pages; empty where they come from elsewhere.
func (b *builder) root() string {
	if b.local == nil {
		return ""
	}
	return b.local.Root()
}

// hides tells of a path below the root that no page can be named by it.
func (b *builder) hides(path string) bool {
	clean, err := content.CleanPath(path)
	return err != nil || clean != path || b.local.Hides(path)
}

func (b *builder) door(runtime *core.Runtime) (http.Handler, error) {
	o := doorsite.Options{
		Runtime: runtime, Files: b.resolver, Describe: describe, DataEnvelope: b.config.DataEnvelope, Logger: b.config.Logger,
		Rules: httpedge.Rules{Hosts: b.config.AllowedHosts, Origins: b.config.AllowedOrigins},
	}
	if len(b.config.Tokens) > 0 {
		o.Rules.Authenticate = b.config.Tokens.tokens().Authenticate
	}
	if b.config.Components {
		o.Live = b.live
		o.Components, o.ComponentTime = components, min(doorsite.ComponentTime, b.wall())
	}
	return doorsite.New(o)
}

// wall is the time that the operator's policy gives a call.
func (b *builder) wall() time.Duration {
	limits := b.config.limits()
	if doc := b.config.Sandbox.document; doc != nil {
		limits = lesser(doc.Limits, limits)
	}
	return limits.Wall
}

func components(document []byte) []doorsite.Component {
	var list []doorsite.Component
	for _, c := range pages.Components(document) {
		list = append(list, doorsite.Component(c))
	}
	return list
}

// describe says in words what a page allows.
func describe(path string, document []byte) render.Document {
	d := render.Document{Path: path, Text: document, Body: pages.BodyOffset(document)}
	f, err := pages.ParseFrontmatter(path, document)
	if durward.ReasonOf(err) == durward.BadFrontmatter {
		_, _, d.Problem = doorsite.Fault(err)
	}
	for _, s := range f.Tools {
		tool := render.Tool{Locked: s.Locked}
		for _, p := range s.Parts {
			tool.Words = append(tool.Words, render.Word{Kind: wordKinds[p.Kind], Text: p.Text})
		}
		d.Tools = append(d.Tools, tool)
	}
	return d
}

var wordKinds = map[pages.PartKind]render.WordKind{
	pages.Literal: render.Fixed, pages.Placeholder: render.Any, pages.Pattern: render.Matched,
}

func badConfig(why string) error {
	return &durward.Error{Reason: durward.BadUsage, Op: "site", Err: errors.New(why)}
}
