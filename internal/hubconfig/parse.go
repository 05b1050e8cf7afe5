package hubconfig

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/jsonx"
)

// Parse reads a configuration, which is JSON to the letter; file stands in every place. Where
// there are problems it is of no use. What keeps one server from being started, such as a
// variable that is not set, is no problem but [Server.Broken]. Parse keeps nothing of data and
// may be called concurrently.
func Parse(file string, data []byte, s Setting) (*Config, config.Problems) {
	r := &reader{Decoder: config.Decoder{Colon: true}, setting: s, config: none(file), names: map[string]named{}}
	n, err := config.ParseWith(file, data, config.Options{Format: config.JSON})
	r.Include(err)
	if n != nil {
		r.document(n, bytes.TrimPrefix(data, []byte("\ufeff")))
	}
	r.tellUnknown()
	for _, w := range config.ProblemsOf(r.warnings.Err()) {
		r.config.Warnings = append(r.config.Warnings, w.Error())
	}
	return r.config, config.ProblemsOf(r.Err())
}

// None is the configuration of whoever has no such file.
func None(file string) *Config {
	c := none(file)
	c.Missing = true
	return c
}

func none(file string) *Config {
	return &Config{File: file, Servers: []Server{}, Expose: []string{"tools"}, Prefix: "collisions", ForwardPaths: "absolute"}
}

// A reader fills a configuration.
type reader struct {
	config.Decoder
	setting  Setting
	config   *Config
	names    map[string]named
	open     bool // the shape is that of another program, which may have members of its own
	unknown  []config.Problem
	warnings config.Problems
}

// A named server has that name as it was written there.
type named struct {
	written string
	where   durward.Position
}

// document tells the shapes apart.
func (r *reader) document(n *config.Node, data []byte) {
	if n.Kind != config.Map {
		r.Problem(n, "the document must be a mapping with servers or mcpServers, not %s", n.Kind)
		return
	}
	servers, other, inputs := n.Get("servers"), n.Get("mcpServers"), n.Get("inputs")
	r.config.Shape = ShapeOf(n)
	seed := r.config.Shape == List
	r.open = !seed
	switch {
	case r.config.Shape == "":
		r.Problem(n, "there is neither servers nor mcpServers")
		return
	case servers != nil && other != nil:
		r.Problem(other, "mcpServers: the file has servers, too, which is another shape; use one of them")
	case inputs != nil && (seed || other != nil):
		r.Problem(inputs, "inputs: belongs to a file whose servers is a mapping")
	}
	whole := raws(data)
	ignore := func(*config.Node) {}
	fields := config.Fields{"$schema": ignore}
	switch {
	case seed:
		fields["servers"] = func(n *config.Node) { r.list(n, jsonx.Elements(whole["servers"])) }
	case servers != nil:
		fields["servers"] = func(n *config.Node) { r.mapping(n, whole["servers"]) }
	}
	if other != nil {
		fields["mcpServers"] = func(n *config.Node) { r.mapping(n, whole["mcpServers"]) }
	}
	if inputs != nil {
		fields["inputs"] = ignore
	}
	r.wide(n, fields)
}

// raws gives the values of an object as they stand in the text, which is known to be JSON.
func raws(object []byte) map[string][]byte {
	object = jsonx.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	values := map[string][]byte{}
	for name, value := range jsonx.Members(object) {
		if _, twice := values[string(name)]; !twice { // as the tree has it
			values[string(name)] = value
		}
	}
	return values
}

func (r *reader) list(n *config.Node, texts []jsonRaw) {
	r.List(n, func(item *config.Node) {
		index := len(r.config.Servers)
		r.server(item, texts[index], nil)
	})
}

func (r *reader) mapping(n *config.Node, text []byte) {
	texts := raws(text)
	r.Map(n, func(f config.Field) { r.server(f.Value, texts[f.Name], &f) })
}

// members is Fields for a mapping of a file that may be another program's.
func (r *reader) members(n *config.Node, fields config.Fields) {
	if !r.open || n.Kind != config.Map {
		r.Fields(n, fields)
		return
	}
	known := *n
	known.Fields = nil
	for _, f := range n.Fields {
		if fields[f.Name] != nil {
			known.Fields = append(known.Fields, f)
			continue
		}
		if config.DidYouMean(f.Name, []string{extrasName}) != "" {
			r.wrong(f.Value, "is unknown; write "+extrasName) // what it has may protect something
			continue
		}
		r.unknown = append(r.unknown, config.Problem{Where: line(f.Where), Message: f.Value.Path})
	}
	r.Fields(&known, fields)
}

// maxTold is how many unknown members are told by their names.
const maxTold = 20

// tellUnknown warns once of all members that are not followed.
func (r *reader) tellUnknown() {
	if len(r.unknown) == 0 {
		return
	}
	slices.SortStableFunc(r.unknown, func(a, b config.Problem) int { return cmp.Compare(a.Where.Line, b.Where.Line) })
	var paths []string
	for _, u := range r.unknown[:min(len(r.unknown), maxTold)] {
		paths = append(paths, fmt.Sprintf("%s (line %d)", u.Message, u.Where.Line))
	}
	if more := len(r.unknown) - len(paths); more > 0 {
		paths = append(paths, fmt.Sprintf("and %d more", more))
	}
	r.warnings.Add(r.unknown[0].Where, "these are ignored: %s", strings.Join(paths, ", "))
}

// need finds the members that are missing in a mapping.
func (r *reader) need(n *config.Node, names ...string) {
	for _, name := range names {
		if n.Kind == config.Map && n.Get(name) == nil {
			r.wrong(n, name+" is missing")
		}
	}
}

// wrong notes what is wrong with the value at n.
func (r *reader) wrong(n *config.Node, what string) { r.Problem(n, "%s: %s", n.Path, what) }

// name takes the name of a server, which no other one has.
func (r *reader) name(written string, n *config.Node, where durward.Position) string {
	name := Fold(written)
	if !nameForm().MatchString(name) {
		r.wrong(n, fmt.Sprintf("the name %.64q is none for a server: 1 to 32 letters, digits, _ and -, the first a letter or digit", written))
		return name
	}
	if first, ok := r.names[name]; ok {
		what := fmt.Sprintf("the name %q is taken (line %d)", written, first.where.Line)
		if first.written != written {
			what = fmt.Sprintf("the name %q is the same as %q (line %d): both are read as %q", written, first.written, first.where.Line, name)
		}
		r.wrong(n, what)
		return name
	}
	r.names[name] = named{written, where}
	return name
}

// Fold puts _ in the place of each character that no name of a server holds.
func Fold(name string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && (c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') {
			return c
		}
		return '_'
	}, name)
}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`) })

func line(p durward.Position) durward.Position { return durward.Position{File: p.File, Line: p.Line} }

// texts reads a list of strings, of each of which check says what is wrong with it.
func (r *reader) texts(into *[]string, check func(string) string) func(*config.Node) {
	return func(n *config.Node) {
		*into = []string{}
		r.List(n, func(item *config.Node) {
			text, ok := r.String(item)
			if !ok {
				return
			}
			if what := check(text); what != "" {
				r.wrong(item, what)
				return
			}
			*into = append(*into, text)
		})
	}
}

// words reads a list of words.
func (r *reader) words(into *[]string, known ...string) func(*config.Node) {
	return func(n *config.Node) {
		list := []string{}
		r.List(n, func(item *config.Node) {
			if word, ok := r.Word(item, known...); ok && !slices.Contains(list, word) {
				list = append(list, word)
			}
		})
		*into = list
	}
}

func (r *reader) word(into *string, known ...string) func(*config.Node) {
	return func(n *config.Node) {
		if word, ok := r.Word(n, known...); ok {
			*into = word
		}
	}
}

func (r *reader) flag(into *bool) func(*config.Node) {
	return func(n *config.Node) { *into, _ = r.Bool(n) }
}
