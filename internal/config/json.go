package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/durward/durward"
)

// json reads one JSON document. It gives nil after a mistake in the syntax.
func (p *parser) json(data []byte) *Node {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		p.jsonError(data, err)
		return nil
	}
	r := &jsonReader{parser: p, data: data, tokens: json.NewDecoder(bytes.NewReader(data)), place: p.at(nil, 0)}
	r.tokens.UseNumber()
	return r.value("", 0)
}

func (p *parser) jsonError(data []byte, err error) {
	offset := len(data)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = int(syntax.Offset) - 1 // of the byte that was one too many
	}
	p.problems.Add(p.at(data, max(offset, 0)), "not JSON: %s", err)
}

// A jsonReader walks over the tokens of a document that is known to be JSON.
type jsonReader struct {
	*parser
	data   []byte
	tokens *json.Decoder
	// The place of the byte at seen, from which the next one is counted.
	seen  int
	place durward.Position
}

// next gives the next token, its first byte and its place.
func (r *jsonReader) next() (json.Token, durward.Position) {
	from := int(r.tokens.InputOffset())
	from += len(r.data[from:]) - len(bytes.TrimLeft(r.data[from:], " \t\r\n,:"))
	token, err := r.tokens.Token()
	where := r.advance(from)
	if err != nil {
		r.problems.Add(where, "not JSON: %s", err)
	} else if raw := r.data[from:r.tokens.InputOffset()]; loneSurrogate(raw) {
		r.problems.Add(where, "half of a surrogate pair is not a character")
	}
	return token, where
}

// advance gives the place of the byte at offset, counting on from the last one.
func (r *jsonReader) advance(offset int) durward.Position {
	step := r.at(r.data[r.seen:offset], offset-r.seen)
	if down := step.Line - r.line(1); down > 0 {
		r.place.Line += down
		r.place.Column = 1
	}
	r.place.Column += step.Column - 1
	r.seen = offset
	return r.place
}

func (r *jsonReader) value(path string, depth int) *Node {
	token, where := r.next()
	n := &Node{Where: where, Path: path}
	switch t := token.(type) {
	case json.Delim:
		r.collection(n, t, depth)
	case string:
		n.Kind, n.Text = String, t
	case bool:
		n.Kind, n.Text = Bool, fmt.Sprint(t)
	case json.Number:
		n.Kind, n.Text = Int, t.String()
		if strings.ContainsAny(n.Text, ".eE") {
			n.Kind = Float
		}
	}
	return n
}

func (r *jsonReader) collection(n *Node, open json.Delim, depth int) {
	if depth >= r.depth {
		r.tooDeep(n.Where)
		r.skip()
		return
	}
	seen := map[string]durward.Position{}
	for n.Kind = List; r.tokens.More(); {
		if open == '[' {
			n.Items = append(n.Items, r.value(itemPath(n.Path, len(n.Items)), depth+1))
			continue
		}
		key, where := r.next()
		name, _ := key.(string)
		value := r.value(childPath(n.Path, name), depth+1)
		r.addField(n, Field{Name: name, Where: where, Value: value}, seen)
	}
	if open == '{' {
		n.Kind = Map
	}
	r.next()
}

// skip passes over the rest of a collection that has been opened.
func (r *jsonReader) skip() {
	for open := 1; open > 0; {
		token, err := r.tokens.Token()
		if err != nil {
			return
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			open++
		case json.Delim(']'), json.Delim('}'):
			open--
		}
	}
}

// loneSurrogate reports whether the string token raw names half a surrogate pair, which
// the standard decoder turns into a replacement character that nobody wrote.
func loneSurrogate(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '"' {
		return false
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit := escapedUnit(raw[i:])
		switch i++; {
		case !utf16.IsSurrogate(unit):
		case utf16.DecodeRune(unit, escapedUnit(raw[min(i+5, len(raw)):])) == utf8.RuneError:
			return true
		default:
			i += 10 // the rest of this escape and the other half
		}
	}
	return false
}

// escapedUnit gives the code unit of an escape \uXXXX that raw begins with, or 0.
func escapedUnit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(raw[2:6]), 16, 32) // known to be four digits
	return rune(unit)
}
