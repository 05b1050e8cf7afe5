package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
)

// Engine is the name of the engine that carries out what pages allow.
const Engine = "page"

// MaxPageBytes is the size of the largest page that may allow a command.
const MaxPageBytes = 4 << 20

// Options say what a Source knows beside its files.
type Options struct {
	// Root is the directory that a program named by a path must lie in. Empty means
	// that pages name programs by their bare names only.
	Root string
	// Vars are the server's variables.
	Vars map[string]string
	// AllowEnv names the reserved variables that a request may set on every page.
	AllowEnv []string
	// Live tells of which pages the components are run. Nil is all.
	Live func(*content.Content) bool
}

// A Source offers each file of a site as a tool, called by "/" and a path that leads to
// it. It may be used from any goroutine.
type Source struct {
	resolver content.Resolver
	options  Options

	mu     sync.Mutex
	parsed map[string]*parsed // guarded by mu; the newest parse of a path
}

// New makes a Source of the files that a resolver finds.
func New(r content.Resolver, o Options) *Source {
	return &Source{resolver: r, options: o, parsed: map[string]*parsed{}}
}

// ID gives the id of the tool at a path.
func ID(path string) durward.ToolID { return durward.ToolID("/" + path) }

// Find gives the tool that a path leads to.
func (s *Source) Find(ctx context.Context, id durward.ToolID) (durward.Tool, error) {
	path, ok := strings.CutPrefix(string(id), "/")
	if clean, err := content.CleanPath(path); !ok || err != nil || clean != path {
		return durward.Tool{}, unknown(id)
	}
	page, err := s.page(ctx, path)
	if durward.ReasonOf(err) == durward.FileNotFound {
		err = unknown(id)
	}
	if err != nil {
		return durward.Tool{}, err
	}
	return durward.Tool{ID: id, Title: page.Path, Engine: Engine, Spec: page}, nil
}

func unknown(id durward.ToolID) error {
	return &durward.Error{
		Reason: durward.ToolNotFound, Op: "find", Hint: "GET / to see where the pages are", Err: fmt.Errorf("there is no page %q", string(id)),
	}
}

// Tools lists the files of a resolver that knows them all, by their own paths.
func (s *Source) Tools(ctx context.Context) ([]durward.Tool, error) {
	lister, ok := s.resolver.(content.Lister)
	if !ok {
		return nil, nil
	}
	paths, err := lister.List(ctx)
	if err != nil {
		return nil, err
	}
	tools := make([]durward.Tool, 0, len(paths))
	for _, path := range paths {
		t, err := s.Find(ctx, ID(path))
		if durward.KindOf(err) == durward.NotFound || durward.KindOf(err) == durward.TooLarge {
			continue // it went away, or is no page
		}
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	slices.SortFunc(tools, func(a, b durward.Tool) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return tools, nil
}

// page opens, reads and parses one page.
func (s *Source) page(ctx context.Context, path string) (*Page, error) {
	c, err := s.resolver.Resolve(ctx, path)
	if err != nil {
		return nil, err
	}
	defer c.Body.Close()
	p, err := s.parsedOf(c)
	if err != nil {
		return nil, err
	}
	dir, err := c.WorkingDir()
	if err != nil {
		return nil, err
	}
	components := p.components
	if len(components) > 0 && s.options.Live != nil && !s.options.Live(c) {
		components = nil
	}
	return &Page{
		Path: c.Path, Dir: dir, Root: s.options.Root,
		frontmatter: p.frontmatter, refused: p.refused, components: components, hash: p.hash,
		vars: s.options.Vars, allowed: s.options.AllowEnv,
	}, nil
}

// What is kept of parsed pages.
const (
	maxParsed      = 1024
	maxParsedBytes = 64 << 10
)

// parsedOf gives what a file says. It is read each time, for its times do not tell of
// what is written through a mapping of it, and parsed again unless its bytes are the
// same.
func (s *Source) parsedOf(c *content.Content) (*parsed, error) {
	buffer := documents.Get().(*[]byte)
	defer documents.Put(buffer)
	document, err := c.ReadInto(*buffer, MaxPageBytes)
	if err != nil {
		return nil, err
	}
	if cap(document) <= maxParsedBytes {
		*buffer = document
	}
	s.mu.Lock()
	known := s.parsed[c.Path]
	s.mu.Unlock()
	if known != nil && known.document == string(document) {
		return known, nil
	}
	p := parse(c.Path, document)
	if len(document) <= maxParsedBytes {
		s.keep(c.Path, p)
	}
	return p, nil
}

// documents are buffers to read pages into, which are mostly the ones that are known.
var documents = sync.Pool{New: func() any { return new([]byte) }}

func (s *Source) keep(path string, p *parsed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parsed) >= maxParsed {
		clear(s.parsed)
	}
	s.parsed[path] = p
}
