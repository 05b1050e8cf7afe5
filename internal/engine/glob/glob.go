// Package glob carries out the built-in command that lists the files a pattern matches.
//
//	glob PATTERN
//
// The pattern is relative to the directory of the call. Between slashes it holds
//
//   - any number of characters of a name
//     ?        one character
//     [a-z]    one of these characters; [!a-z] one that is not
//     **       as a whole segment: any number of directories; at the end: everything below
//
// and every other character stands for itself, braces and backslashes too. A slash at
// the end asks for directories alone. What is printed are the paths of the files,
// directories and links that match, relative to the same directory, sorted by their
// bytes, one a line, without a newline at the end.
//
// The tree is walked by descriptor. A link is listed and never entered.
package glob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/fsroot"
)

// The limits of one call.
const (
	DefaultMaxItems  = 1000
	DefaultMaxVisits = 100_000
)

// Options configure an Engine.
type Options struct {
	// Root is the physical path of the directory that nothing leads out of.
	Root string
	// MaxItems is how many paths are listed. Zero means DefaultMaxItems.
	MaxItems int
	// MaxVisits is how many names are looked at. Zero means DefaultMaxVisits.
	MaxVisits int
	// Hidden tells of a path relative to Root, with slashes, that it is neither listed
	// nor entered. Nil hides what no page can be named by: see [content.CleanPath]. It
	// may be called from any goroutine.
	Hidden func(path string) bool
}

// An Engine lists files. It is safe for concurrent use.
type Engine struct {
	Options
	root *fsroot.Root
}

// New opens the root. Close the engine when no call is running any more.
func New(o Options) (*Engine, error) {
	if o.MaxItems < 0 || o.MaxVisits < 0 || !filepath.IsAbs(o.Root) {
		return nil, errors.New("glob: the root is an absolute path, and limits are not negative")
	}
	if o.MaxItems == 0 {
		o.MaxItems = DefaultMaxItems
	}
	if o.MaxVisits == 0 {
		o.MaxVisits = DefaultMaxVisits
	}
	if o.Hidden == nil {
		o.Hidden = unnamable
	}
	root, err := fsroot.Open(o.Root)
	if err != nil {
		return nil, err
	}
	return &Engine{Options: o, root: root}, nil
}

func unnamable(path string) bool {
	_, err := content.CleanPath(path)
	return err != nil
}

// Close closes the root.
func (e *Engine) Close() error { return e.root.Close() }

// Enforces lists what a walk holds by itself: it shows what the grant's path sets show,
// has no use for the network or for variables, and counts what it keeps.
func (e *Engine) Enforces() []durward.GrantField {
	return []durward.GrantField{durward.FieldFiles, durward.FieldNetwork, durward.FieldEnv, durward.FieldLimits}
}

// Prepare reads the pattern and opens the directory of the call.
func (e *Engine) Prepare(_ context.Context, _ durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	text, err := operand(c.Argv)
	if err != nil {
		return nil, err
	}
	p := &prepared{engine: e, limits: g.Limits.WithDefaults(), keep: g.Keep}
	if p.pattern, err = parse(text); err != nil {
		return nil, err
	}
	if p.sight, err = sightOf(g); err != nil {
		return nil, err
	}
	if err := p.open(c.Dir); err != nil {
		return nil, err
	}
	return p, nil
}

func operand(argv []string) (string, error) {
	if len(argv) != 2 {
		return "", &durward.Error{
			Reason: durward.BadCall, Op: "glob", Hint: "send glob and one pattern",
			Err: fmt.Errorf("one pattern is needed, and %d are there", max(len(argv)-1, 0)),
		}
	}
	return argv[1], nil
}

// A prepared call holds its directory open.
type prepared struct {
	engine  *Engine
	pattern pattern
	sight   sight
	limits  durward.Limits
	keep    durward.Keep
	// base is the directory relative to the root, "." being the root itself.
	base string
	dir  *os.File
}

func (p *prepared) open(path string) (err error) {
	below, ok := fsroot.Below(p.engine.Root, path)
	if !ok {
		return dirError(durward.DirDenied, errors.New("the directory of the call is outside the root"))
	}
	p.base = filepath.ToSlash(below)
	if (p.base != "." && p.engine.Hidden(p.base)) || !p.sight.shows(p.physical(p.base)) {
		return dirError(durward.DirDenied, errors.New("the directory of the call is hidden, or the policy does not show it"))
	}
	p.dir, err = p.engine.root.OpenPlainDir(p.base, rules)
	switch reason := durward.ReasonOf(err); reason {
	case durward.FileNotFound, durward.NotADirectory:
		return dirError(durward.DirUnavailable, err)
	case durward.FilePermission:
		return dirError(durward.DirUnreadable, err)
	}
	return err
}

// rules are those by which pages are read.
var rules = fsroot.Rules{AllowNetworkFS: true}

// physical gives the whole path of one below the root.
func (p *prepared) physical(below string) string {
	return filepath.Join(p.engine.Root, filepath.FromSlash(below))
}

func dirError(reason durward.Reason, err error) error {
	return &durward.Error{Reason: reason, Op: "glob", Hint: "check that the directory exists and can be read", Err: err}
}

// Close closes the directory.
func (p *prepared) Close() error {
	if p.dir == nil {
		return nil
	}
	err := p.dir.Close()
	p.dir = nil
	return err
}

// Run walks and lists.
func (p *prepared) Run(ctx context.Context) (durward.Result, error) {
	if ctx.Err() != nil {
		return durward.Result{}, ended(ctx)
	}
	w := &walk{prepared: p, found: shortlist{limit: p.engine.MaxItems}}
	err := w.run(ctx)
	stdout, stderr := []byte(strings.Join(w.found.sorted(), "\n")), w.notes()
	if over := p.limits.Output; err == nil && p.keep == durward.KeepRefuse && over >= 0 && int64(len(stdout)+len(stderr)) > over {
		return durward.Result{}, tooLarge()
	}
	code := 0
	return durward.Result{Exit: &code, Stdout: p.capture(stdout), Stderr: p.capture(stderr)}, err
}

func tooLarge() error {
	return &durward.Error{
		Reason: durward.OutputTooLarge, Op: "glob", Rule: "limits.output", Hint: "use a narrower pattern",
		Err: errors.New("the list is larger than the call may return"),
	}
}

// ended says why the time of a call is over.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &durward.Error{
			Reason: durward.DeadlineExceeded, Op: "glob", Rule: "limits.wallMs", Retry: true,
			Hint: "use a narrower pattern, or allow more time", Err: errors.New("the walk went on until its time was up"),
		}
	}
	return &durward.Error{Reason: durward.CallCancelled, Op: "glob", Err: context.Cause(ctx)}
}
