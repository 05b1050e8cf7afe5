package config

import (
	"slices"

	"github.com/durward/durward"
)

// A Kind is the type of a value.
type Kind int

// The kinds.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
	// Time is a date, a time of day or both; only TOML has it.
	Time
)

// String names the kind as a message for a person does.
func (k Kind) String() string {
	return [...]string{"empty", "a boolean", "an integer", "a number", "a string", "a list", "a mapping", "a date or time"}[k]
}

// A Node is one value of a document.
type Node struct {
	Kind  Kind
	Where durward.Position
	// Path is the way from the top of the document: "limits.wallMs", "read[2]". It is
	// empty for the document itself, and cut off where it would be very long.
	Path string
	// Text is a scalar as written, without quotes and escapes.
	Text string
	// Items are the values of a list.
	Items []*Node
	// Fields are the members of a mapping in their order; no name occurs twice.
	Fields []Field
}

// A Field is one member of a mapping.
type Field struct {
	Name  string
	Where durward.Position
	Value *Node
}

// Get gives the value of the member called name, or nil.
func (n *Node) Get(name string) *Node {
	for _, f := range n.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Equal reports whether two documents say the same, in the same order, wherever it stands. Neither may be nil.
func Equal(a, b *Node) bool {
	return a.Kind == b.Kind && a.Text == b.Text && slices.EqualFunc(a.Items, b.Items, Equal) &&
		slices.EqualFunc(a.Fields, b.Fields, func(a, b Field) bool { return a.Name == b.Name && Equal(a.Value, b.Value) })
}

// name is what a message calls the node.
func (n *Node) name() string {
	if n.Path == "" {
		return "the document"
	}
	return n.Path
}
