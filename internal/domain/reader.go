package domain

import (
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// A reader fills one of the two documents. Its problems name lines and paths.
type reader struct{ config.Decoder }

// read parses a document; nothing is decoded where it gives nil.
func read(file string, data []byte) (*reader, *config.Node) {
	r := &reader{config.Decoder{Colon: true}}
	n, err := config.ParseWith(file, data, config.Options{Format: config.YAML, Aliases: true, Expanded: maxExpanded})
	r.Include(err)
	return r, n
}

// maxExpanded bounds what the aliases of a document stand for.
const maxExpanded = 10_000

// problems gives the mistakes in the order of their lines; a line and a path say enough.
func (r *reader) problems() config.Problems {
	all := config.ProblemsOf(r.Err())
	for i := range all {
		all[i].Where = line(all[i].Where)
	}
	return all
}

func line(p durward.Position) durward.Position { return durward.Position{File: p.File, Line: p.Line} }

// open is Fields for a mapping that may hold members of somebody else's.
func (r *reader) open(n *config.Node, fields config.Fields) {
	for _, f := range n.Fields {
		if strings.HasPrefix(f.Name, "x-") {
			fields[f.Name] = func(*config.Node) {}
		}
	}
	r.Fields(n, fields)
}

// need finds the members that are missing in a mapping.
func (r *reader) need(n *config.Node, names ...string) {
	if n.Kind != config.Map {
		return
	}
	for _, name := range names {
		if n.Get(name) == nil {
			r.Problem(n, "%s: is missing", strings.TrimPrefix(n.Path+"."+name, "."))
		}
	}
}

// wrong notes what is wrong with the value at n.
func (r *reader) wrong(n *config.Node, what string) { r.Problem(n, "%s: %s", n.Path, what) }

// text fills in a string.
func (r *reader) text(into *string) func(*config.Node) {
	return func(n *config.Node) { *into, _ = r.String(n) }
}

// checked fills in a string that check makes of the one that is written, unless it refuses.
func (r *reader) checked(into *string, check func(string) (string, error)) func(*config.Node) {
	return func(n *config.Node) {
		text, ok := r.String(n)
		if !ok {
			return
		}
		value, err := check(text)
		if err != nil {
			r.wrong(n, err.Error())
		}
		*into = value
	}
}

// number fills in an integer.
func number[N int | int64](r *reader, into *N, low, high int64) func(*config.Node) {
	return func(n *config.Node) {
		if value, ok := r.Int(n, low, high); ok {
			*into = N(value)
		}
	}
}

// maxSeconds is the longest time that may be written.
const maxSeconds = 3600

// seconds fills in a time, which may have a fraction, and its place.
func (r *reader) seconds(into *time.Duration, where *durward.Position) func(*config.Node) {
	return func(n *config.Node) {
		if value, ok := r.Seconds(n, maxSeconds); ok {
			*into, *where = value, line(n.Where)
		}
	}
}
