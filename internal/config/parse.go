package config

import (
	"bytes"
	"path/filepath"
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

// Parse reads the document data; file stands in every place and tells JSON from YAML.
//
// The error is of type [Problems]. When the document can be read in spite of them, its
// tree comes with the error, so that a [Decoder] that includes it finds the rest. Parse
// keeps nothing of data and may be called concurrently.
func Parse(file string, data []byte) (*Node, error) {
	p := &parser{file: file}
	if len(data) > MaxBytes {
		p.problems.Add(durward.Position{File: file}, "the document is over %d bytes", MaxBytes)
		return nil, p.problems.Err()
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !p.checkText(data) {
		return nil, p.problems.Err()
	}
	n := p.parse(data)
	return n, p.problems.Err()
}

// A parser reads one document.
type parser struct {
	file     string
	problems Problems
}

func (p *parser) parse(data []byte) *Node {
	if isJSON(p.file, data) {
		return p.json(data)
	}
	return p.yaml(data)
}

func isJSON(file string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json":
		return true
	case ".yaml", ".yml":
		return false
	}
	start := bytes.TrimLeft(data, " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[')
}

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
		Line:   1 + bytes.Count(before, []byte("\n")),
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
	p.problems.Add(where, "nested deeper than %d levels", maxDepth)
}

func childPath(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func itemPath(parent string, i int) string { return parent + "[" + strconv.Itoa(i) + "]" }
