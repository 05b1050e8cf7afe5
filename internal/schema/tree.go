package schema

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/durward/durward/internal/jsonx"
)

// A kind is the type of a JSON value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// A node is one value of a tree. Nodes stand in the order of the text: what is inside one
// follows it directly, up to the node at past.
type node struct {
	kind kind
	// escaped is set for a text with a backslash in it, and oddName for such a name.
	escaped, oddName bool
	// The value is text[from:to] of the tree.
	from, to int32
	past     int32
	// parent is the node of the array or object that this one is in, and place counts those
	// before it there. The parent of the first node is none.
	parent, place int32
	// count is how many values an array or object has.
	count int32
	// The name of a member is text[nameFrom:nameTo], with its quotes.
	nameFrom, nameTo int32
}

const none = -1

// A tree is a JSON text that was checked, taken apart.
type tree struct {
	text  []byte
	nodes []node
	at    int // of what is read next, while it is taken apart
}

// maxValues is how many values are taken apart: they take many times the memory of their text.
const maxValues = 1 << 19

// spare are trees whose memory can be used again.
var spare = sync.Pool{New: func() any { return new(tree) }}

// parse takes a text apart that is known to be strict JSON. The tree keeps it.
func parse(checked []byte) *tree {
	t := &tree{}
	t.parse(checked)
	return t
}

// parse reports whether that could be done: there may be too many values in the text.
func (t *tree) parse(checked []byte) bool {
	t.text, t.at, t.nodes = checked, 0, t.nodes[:0]
	t.skip()
	return t.value(node{parent: none})
}

// release gives the memory of a tree back; nothing of it is used any more.
func (t *tree) release() {
	if cap(t.nodes) <= 1<<12 {
		t.text = nil
		spare.Put(t)
	}
}

// value reads one value, of which n says where it belongs.
func (t *tree) value(n node) bool {
	self := int32(len(t.nodes))
	if self == maxValues {
		return false
	}
	n.from = int32(t.at)
	switch t.text[t.at] {
	case '{':
		n.kind = object
	case '[':
		n.kind = array
	case '"':
		n.kind = text
		n.escaped = t.passText()
	case 't':
		n.kind = boolean
		t.at += len("true")
	case 'f':
		n.kind = boolean
		t.at += len("false")
	case 'n':
		t.at += len("null")
	default:
		n.kind = number
		for t.at < len(t.text) && isNumeric(t.text[t.at]) {
			t.at++
		}
	}
	n.to, n.past = int32(t.at), self+1
	t.nodes = append(t.nodes, n)
	return n.kind < array || t.inside(self, n.kind)
}

// inside reads the values of an array or object.
func (t *tree) inside(self int32, k kind) bool {
	t.at++
	for n := (node{parent: self}); ; n.place++ {
		t.skip()
		switch t.text[t.at] {
		case ']', '}':
			t.at++
			whole := &t.nodes[self]
			whole.to, whole.past, whole.count = int32(t.at), int32(len(t.nodes)), n.place
			return true
		case ',':
			t.at++
			t.skip()
		}
		if k == object {
			n.nameFrom = int32(t.at)
			n.oddName = t.passText()
			n.nameTo = int32(t.at)
			t.skip()
			t.at++ // the colon
			t.skip()
		}
		if !t.value(n) {
			return false
		}
	}
}

func (t *tree) skip() {
	for t.at < len(t.text) {
		switch t.text[t.at] {
		case ' ', '\t', '\r', '\n':
			t.at++
		default:
			return
		}
	}
}

// passText goes behind a string, and reports whether it has escapes.
func (t *tree) passText() (escaped bool) {
	for t.at++; ; t.at++ {
		switch t.text[t.at] {
		case '"':
			t.at++
			return escaped
		case '\\':
			escaped = true
			t.at++
		}
	}
}

func isNumeric(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func (t *tree) decode(from, to int, escaped bool) []byte {
	if !escaped {
		return t.text[from+1 : to-1]
	}
	said, _ := jsonx.Unquote(t.text[from:to])
	return said
}

// raw gives a value as it was written.
func (t *tree) raw(n int32) []byte { return t.text[t.nodes[n].from:t.nodes[n].to] }

// name gives the name of a member as it reads; it is empty for other values.
func (t *tree) name(n int32) []byte {
	at := &t.nodes[n]
	if at.nameTo == 0 {
		return nil
	}
	return t.decode(int(at.nameFrom), int(at.nameTo), at.oddName)
}

// says gives what a text says.
func (t *tree) says(n int32) []byte {
	at := &t.nodes[n]
	return t.decode(int(at.from), int(at.to), at.escaped)
}

// member gives the member of an object with that name, or none.
func (t *tree) member(n int32, name string) int32 {
	if t.nodes[n].kind != object {
		return none
	}
	for at := n + 1; at < t.nodes[n].past; at = t.nodes[at].past {
		if string(t.name(at)) == name {
			return at
		}
	}
	return none
}

// item gives an item of an array, or none.
func (t *tree) item(n, index int32) int32 {
	if index >= t.nodes[n].count {
		return none
	}
	at := n + 1
	for range index {
		at = t.nodes[at].past
	}
	return at
}

// line counts the lines up to a node, from 1.
func (t *tree) line(n int32) int {
	return 1 + bytes.Count(t.text[:t.nodes[n].from], []byte{'\n'})
}

// A pointer is longer than this only if somebody wants it to be.
const maxPointerBytes = 1 << 10

// pointer gives the JSON Pointer of a node; a very long one is cut.
func (t *tree) pointer(n int32) string {
	var names [][]byte
	for ; t.nodes[n].parent != none; n = t.nodes[n].parent {
		names = append(names, t.token(n))
	}
	var out []byte
	for i := len(names) - 1; i >= 0; i-- {
		out = append(append(out, '/'), names[i]...)
		if len(out) > maxPointerBytes {
			return cut(string(out), maxPointerBytes)
		}
	}
	return string(out)
}

// token gives the part of a pointer that leads from a node's parent to it.
func (t *tree) token(n int32) []byte {
	at := &t.nodes[n]
	if t.nodes[at.parent].kind == array {
		return appendInt(nil, int(at.place))
	}
	return escapeToken(t.name(n))
}

func escapeToken(name []byte) []byte {
	if !bytes.ContainsAny(name, "~/") {
		return name
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(name, []byte("~"), []byte("~0")), []byte("/"), []byte("~1"))
}

// cut shortens what is longer than so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
