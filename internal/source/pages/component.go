package pages

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A Component is a block of a page that is replaced by the output of its code: three
// backticks at the start of a line and the word component, up to the next line that
// begins with three backticks.
type Component struct {
	// Start and End are the offsets of the block, its line of closing backticks
	// included and the newline behind it not.
	Start, End int
	// Code has no newlines at its end.
	Code string
}

const fence = "```"

// Components finds the components of a document in their order. One inside another
// code block is an example and none, and neither is one that is commented out; one that
// is not closed is text. A document that is not UTF-8 has none.
func Components(document []byte) []Component {
	if !utf8.Valid(document) {
		return nil
	}
	var found []Component
	var open marker
	commented := false
	for at := BodyOffset(document); at < len(document); {
		line, rest := cutLine(document[at:])
		next := len(document) - len(rest)
		switch {
		case commented:
			commented = !endsComment(line)
		case open != marker{}:
			if open.closedBy(line) {
				open = marker{}
			}
		case isComponent(line):
			c, ok := component(document, at, next)
			if !ok {
				return found
			}
			found = append(found, c)
			_, rest = cutLine(document[c.End:])
			next = len(document) - len(rest)
		case beginsComment(line):
			commented = !endsComment(line)
		default:
			open = opens(line)
		}
		at = next
	}
	return found
}

func isComponent(line []byte) bool {
	info, ok := strings.CutPrefix(string(line), fence)
	return ok && strings.Trim(info, " \t") == "component"
}

// component takes the code that begins at body up to the closing backticks.
func component(document []byte, start, body int) (Component, bool) {
	for at := body; at < len(document); {
		line, rest := cutLine(document[at:])
		if bytes.HasPrefix(line, []byte(fence)) {
			code := strings.TrimRight(string(document[body:at]), "\r\n")
			return Component{Start: start, End: at + len(line), Code: code}, true
		}
		at = len(document) - len(rest)
	}
	return Component{}, false
}

// beginsComment reports whether a line begins a block that is a comment of HTML.
func beginsComment(line []byte) bool {
	trimmed := bytes.TrimLeft(line, " ")
	return len(line)-len(trimmed) <= 3 && bytes.HasPrefix(trimmed, []byte("<!--"))
}

// endsComment reports whether a comment ends with this line, be it its first one.
func endsComment(line []byte) bool { return bytes.Contains(line, []byte("-->")) }

// A marker is what opened a code block, and what will close it.
type marker struct {
	char byte
	size int
}

// opens gives the marker of a line that opens a code block, or none.
func opens(line []byte) marker {
	trimmed := bytes.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 || len(trimmed) == 0 || (trimmed[0] != '`' && trimmed[0] != '~') {
		return marker{}
	}
	m := marker{char: trimmed[0], size: run(trimmed)}
	if m.size < 3 || m.char == '`' && bytes.IndexByte(trimmed[m.size:], '`') >= 0 {
		return marker{}
	}
	return m
}

func (m marker) closedBy(line []byte) bool {
	trimmed := bytes.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 || len(trimmed) == 0 || trimmed[0] != m.char {
		return false
	}
	n := run(trimmed)
	return n >= m.size && len(bytes.TrimRight(trimmed[n:], " \t")) == 0
}

// run counts how often the first byte is repeated.
func run(text []byte) int {
	return len(text) - len(bytes.TrimLeft(text, string(text[:1])))
}
