package config

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward"
)

// MaxBytes is the size of the largest document.
const MaxBytes = 1 << 20

// maxDepth is far beyond any configuration and far below any stack.
const maxDepth = 64

// maxPathBytes bounds the way to a value, which every value below it repeats.
const maxPathBytes = 256

// maxNodes bounds what the aliases of a document expand to: a value is a node, and one
// more for every nodeBytes of its text.
const (
	maxNodes  = 1 << 16
	nodeBytes = 16
)

// Parse reads the document data; file stands in every place and tells the formats
// apart.
//
// The error is of type [Problems]. When the document can be read in spite of them, its
// tree comes with the error, so that a [Decoder] that includes it finds the rest. Parse
// keeps nothing of data and may be called concurrently.
func Parse(file string, data []byte) (*Node, error) { return ParseWith(file, data, Options{}) }

// ParseWith is [Parse] for a document that is read in another way than a file of its
// own.
func ParseWith(file string, data []byte, o Options) (*Node, error) {
	p := &parser{file: file, first: max(o.FirstLine, 1), aliases: o.Aliases, most: o.Expanded, core: o.CoreScalars, depth: maxDepth}
	if o.Depth > 0 {
		p.depth = min(o.Depth, maxDepth)
	}
	if len(data) > MaxBytes {
		p.problems.Add(durward.Position{File: file}, "the document is over %d bytes", MaxBytes)
		return nil, p.problems.Err()
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !p.checkText(data) {
		return nil, p.problems.Err()
	}
	if o.Format == AnyFormat {
		o.Format = formatOf(file, data)
	}
	n := p.parse(data, o.Format)
	return n, p.problems.Err()
}

// A parser reads one document.
type parser struct {
	file     string
	first    int // number of the first line
	depth    int // how deep it may be nested
	aliases  bool
	core     bool // no underscores in numbers of YAML
	nodes    int  // counted so far, where aliases could make many
	behind   int  // how many aliases stand above the value that is read
	expanded int  // values of nodes, without what their text counts for
	most     int  // of them; zero where only nodes are bounded
	problems Problems
}

func (p *parser) parse(data []byte, f Format) *Node {
	switch f {
	case JSON:
		return p.json(data)
	case TOML:
		return p.toml(data)
	}
	return p.yaml(data)
}

// line gives the number in the file of a line of the document.
func (p *parser) line(n int) int { return p.first - 1 + max(n, 1) }

// checkText refuses what no document may hold anywhere: bytes that are not UTF-8, and
// characters that make an editor show something else than what is read.
func (p *parser) checkText(data []byte) bool {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			p.problems.Add(p.at(data, i), "not UTF-8: byte 0x%02x", data[i])
			return false
		case unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t':
			p.problems.Add(p.at(data, i), "control character U+%04X", r)
			return false
		case r == '\r' && !bytes.HasPrefix(data[i:], []byte("\r\n")):
			p.problems.Add(p.at(data, i), "carriage return without a newline, which not every editor shows as a new line")
			return false
		case deceives(r):
			p.problems.Add(p.at(data, i), "character U+%04X, which breaks a line or reorders text unseen", r)
			return false
		}
		i += size
	}
	return true
}

// deceives reports whether a character ends a line for YAML and not for an editor, or
// changes the order in which text is shown.
func deceives(r rune) bool {
	switch {
	case r == 0x2028, r == 0x2029: // line and paragraph separator
	case r == 0x061c, r == 0x200e, r == 0x200f, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069: // bidirectional controls
	default:
		return false
	}
	return true
}

// at gives the place of the byte at offset; columns count characters.
func (p *parser) at(data []byte, offset int) durward.Position {
	before := data[:min(offset, len(data))]
	return durward.Position{
		File:   p.file,
		Line:   p.line(1 + bytes.Count(before, []byte("\n"))),
		Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]),
	}
}

// addField puts a member into the mapping n, unless its name is taken.
func (p *parser) addField(n *Node, f Field, seen map[string]durward.Position) {
	if first, ok := seen[f.Name]; ok {
		p.problems.Add(f.Where, "duplicate field %q (first on line %d)", f.Name, first.Line)
		return
	}
	seen[f.Name] = f.Where
	n.Fields = append(n.Fields, f)
}

func (p *parser) tooDeep(where durward.Position) {
	p.problems.Add(where, "nested deeper than %d levels", p.depth)
}

func childPath(parent, name string) string {
	if parent == "" {
		return clip(name, maxPathBytes)
	}
	return clip(parent+"."+clip(name, maxPathBytes), maxPathBytes)
}

func itemPath(parent string, i int) string {
	return clip(parent+"["+strconv.Itoa(i)+"]", maxPathBytes)
}

// clip gives text that is too long without its end.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
