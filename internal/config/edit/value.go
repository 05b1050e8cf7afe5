package edit

import (
	"strconv"

	"github.com/durward/durward/internal/config"
)

// A Value is what an edit writes: a String, an Int, a Bool, a List or a Map.
type Value interface {
	node() *config.Node // without places
}

type (
	// String is a text.
	String string
	// Int is a whole number.
	Int int64
	// Bool is true or false.
	Bool bool
	// List holds values in their order.
	List []Value
	// Map holds members in their order; no name may occur twice.
	Map []Entry
)

// An Entry is a member of a [Map].
type Entry struct {
	Name  string
	Value Value
}

// Strings is a list of texts.
func Strings(texts ...string) List {
	list := List{}
	for _, text := range texts {
		list = append(list, String(text))
	}
	return list
}

func (s String) node() *config.Node { return &config.Node{Kind: config.String, Text: string(s)} }
func (i Int) node() *config.Node    { return &config.Node{Kind: config.Int, Text: i.text()} }
func (b Bool) node() *config.Node   { return &config.Node{Kind: config.Bool, Text: b.text()} }

func (l List) node() *config.Node {
	n := &config.Node{Kind: config.List}
	for _, item := range l {
		n.Items = append(n.Items, item.node())
	}
	return n
}

func (m Map) node() *config.Node {
	n := &config.Node{Kind: config.Map}
	for _, e := range m {
		n.Fields = append(n.Fields, config.Field{Name: e.Name, Value: e.Value.node()})
	}
	return n
}

func (i Int) text() string  { return strconv.FormatInt(int64(i), 10) }
func (b Bool) text() string { return strconv.FormatBool(bool(b)) }

// wrap puts a value into mappings of one member each, the outermost first.
func wrap(names []string, v Value) Value {
	for i := len(names) - 1; i >= 0; i-- {
		v = Map{{names[i], v}}
	}
	return v
}

// children gives the values within a list or a mapping, with their names.
func children(v Value) []Entry {
	switch v := v.(type) {
	case Map:
		return v
	case List:
		entries := make([]Entry, len(v))
		for i, item := range v {
			entries[i].Value = item
		}
		return entries
	}
	return nil
}

// isCollection reports whether a value holds others.
func isCollection(v Value) bool { return len(children(v)) > 0 }

// eachText calls f with every text and name within a value, and for whatever is
// missing.
func eachText(v Value, f func(text string, nothing bool)) {
	if v == nil {
		f("", true)
	}
	if text, ok := v.(String); ok {
		f(string(text), false)
	}
	for _, e := range children(v) {
		f(e.Name, false)
		eachText(e.Value, f)
	}
}

// with gives the tree in which another node stands at s.
func (s *spot) with(n *config.Node) *config.Node {
	if s.parent == nil {
		return n
	}
	above := *s.parent.node
	if above.Kind == config.List {
		above.Items = append([]*config.Node{}, above.Items...)
		above.Items[s.index] = n
	} else {
		above.Fields = append([]config.Field{}, above.Fields...)
		above.Fields[s.index].Value = n
	}
	return s.parent.with(&above)
}
