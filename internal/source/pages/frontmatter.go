package pages

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// Limits of a block.
const (
	maxSpecs        = 256
	maxParts        = 64
	maxPatternBytes = 4 << 10
	maxEnvNames     = 64
	maxDepth        = 32
)

// ParseFrontmatter reads the frontmatter of a document; file stands in every place.
// It keeps nothing of document and may be called concurrently.
//
// The error has reason NoFrontmatter where there is none, and BadFrontmatter where
// something in it is wrong: it names every mistake, "file:line:column: message", and
// nothing of the page is allowed then.
func ParseFrontmatter(file string, document []byte) (Frontmatter, error) {
	if !utf8.Valid(document) {
		return Frontmatter{}, bad(config.Problems{{Where: durward.Position{File: file}, Message: "the page is not UTF-8"}})
	}
	b, ok := findBlock(document)
	if !ok {
		return Frontmatter{}, noFrontmatter(file, document)
	}
	if len(b.text) > maxBlockBytes {
		where := durward.Position{File: file, Line: b.line, Column: 1}
		return Frontmatter{}, bad(config.Problems{{Where: where, Message: fmt.Sprintf("the frontmatter is over %d bytes", maxBlockBytes)}})
	}
	n, err := b.parse(file)
	if n == nil {
		return Frontmatter{}, bad(err)
	}
	r := &reader{}
	r.Include(err)
	f := r.frontmatter(n)
	if err := r.Err(); err != nil {
		return Frontmatter{}, bad(err)
	}
	return f, nil
}

// parse gives the tree of a block.
func (b block) parse(file string) (*config.Node, error) {
	return config.ParseWith(file, b.text, config.Options{Format: b.format, Aliases: true, CoreScalars: true, FirstLine: b.line, Depth: maxDepth})
}

func noFrontmatter(file string, document []byte) error {
	why := "the page has no frontmatter"
	if looksLikeBlock(document) {
		why = "the page begins like frontmatter, but a delimiter is a line of exactly --- or +++, and two of them are needed"
	}
	return &durward.Error{
		Reason: durward.NoFrontmatter, Op: "read page", Where: durward.Position{File: file},
		Hint: "begin the page with frontmatter that lists its tools", Err: errors.New(why),
	}
}

func bad(err error) error {
	e := &durward.Error{
		Reason: durward.BadFrontmatter, Op: "read page", Err: err,
		Hint: "mend what is named; no command of a page with a mistake runs",
	}
	if problems := config.ProblemsOf(err); len(problems) > 0 {
		e.Where = problems[0].Where
	}
	return e
}

// A reader makes a Frontmatter of a tree.
type reader struct {
	config.Decoder
	patterns patterns
}

func (r *reader) frontmatter(n *config.Node) Frontmatter {
	var f Frontmatter
	switch n.Kind {
	case config.Null: // an empty block
		return f
	case config.Map:
	default:
		r.Problem(n, "the frontmatter must be a mapping, not %s", n.Kind)
		return f
	}
	if tools := n.Get("tools"); tools != nil {
		f.Tools = r.tools(tools)
	}
	if env := n.Get("env"); env != nil {
		f.Env = r.env(env)
	}
	return f
}

func (r *reader) tools(n *config.Node) []ToolSpec {
	if n.Kind != config.List {
		r.Problem(n, "tools must be a list, not %s", n.Kind)
		return nil
	}
	if len(n.Items) > maxSpecs {
		r.Problem(n, "tools has %d entries, more than %d", len(n.Items), maxSpecs)
		return nil
	}
	specs := make([]ToolSpec, 0, len(n.Items))
	for _, item := range n.Items {
		specs = append(specs, r.spec(item))
	}
	return specs
}

// lockMarker ends a spec that allows no further words.
const lockMarker = ";"

func (r *reader) spec(n *config.Node) ToolSpec {
	s := ToolSpec{Where: n.Where}
	if n.Kind != config.List {
		r.Problem(n, "%s must be a list of parts, not %s", n.Path, n.Kind)
		return s
	}
	items := n.Items
	for len(items) > 0 && isLock(items[len(items)-1]) {
		items, s.Locked = items[:len(items)-1], true
	}
	switch {
	case len(items) == 0:
		r.Problem(n, "%s names no program", n.Path)
	case len(items) > maxParts:
		r.Problem(n, "%s has %d parts, more than %d", n.Path, len(items), maxParts)
		return s
	}
	for _, item := range items {
		s.Parts = append(s.Parts, r.part(item))
	}
	if len(s.Parts) > 0 && s.Parts[0].Kind != 0 && (s.Parts[0].Kind != Literal || s.Parts[0].Text == "") {
		r.Problem(items[0], "%s must be the name of a program: a caller may not choose it", items[0].Path)
	}
	return s
}

func isLock(n *config.Node) bool { return n.Kind == config.String && n.Text == lockMarker }

// part reads one part; its Kind is zero after a mistake.
func (r *reader) part(n *config.Node) ToolPart {
	switch {
	case isLock(n):
		r.Problem(n, `%s: ";" forbids further words and must stand last`, n.Path)
	case n.Kind == config.Map && len(n.Fields) == 0:
		return ToolPart{Kind: Placeholder}
	case n.Kind == config.Map:
		return r.pattern(n)
	case n.Kind == config.String:
		return stringPart(n.Text)
	case n.Kind == config.List:
		r.Problem(n, "%s is a list inside a spec", n.Path)
	case n.Kind == config.Null:
		r.Problem(n, "%s is empty; write \"\" for an empty word", n.Path)
	default:
		r.Problem(n, "%s is %s, not a word; put it in quotes: %q", n.Path, n.Kind, n.Text)
	}
	return ToolPart{}
}

func stringPart(text string) ToolPart {
	rest, opened := strings.CutPrefix(text, "{")
	name, closed := strings.CutSuffix(rest, "}")
	if opened && closed && IsVariableName(name) {
		return ToolPart{Kind: Placeholder, Text: name}
	}
	return ToolPart{Kind: Literal, Text: text}
}

func (r *reader) pattern(n *config.Node) ToolPart {
	p := n.Get("regex")
	if p == nil || p.Kind != config.String {
		r.Problem(n, `%s must be {} or {regex: "…"}; a name in braces goes in quotes: "{path}"`, n.Path)
		return ToolPart{}
	}
	if len(p.Text) > maxPatternBytes {
		r.Problem(p, "%s is over %d bytes", p.Path, maxPatternBytes)
		return ToolPart{}
	}
	part, err := r.patterns.part(p.Text)
	if err != nil {
		r.Problem(p, "%s: %s", p.Path, regexError(err))
	}
	return part
}

func (r *reader) env(n *config.Node) []string {
	if n.Kind != config.List {
		r.Problem(n, "env must be a list of names, not %s", n.Kind)
		return nil
	}
	if len(n.Items) > maxEnvNames {
		r.Problem(n, "env has %d entries, more than %d", len(n.Items), maxEnvNames)
		return nil
	}
	var names []string
	for _, item := range n.Items {
		if name, ok := r.String(item); ok {
			if !IsVariableName(name) {
				r.Problem(item, "%s: %q is not a name of a variable", item.Path, name)
			}
			names = append(names, name)
		}
	}
	return names
}
