// Package schema holds JSON texts to a JSON Schema, of draft 2020-12 or draft-07, and never
// fetches one.
//
// A schema is read from a [Folder] with all files that it refers to. Nothing leads out of the
// folder but the names of the schemas of schemas, which are built in. Of the formats uri,
// date-time, email and uuid are asserted. Patterns are those of package regexp, which take
// time in proportion to the text. Numbers are exact: 1.0 is an integer, 1e400 a number.
// Defaults are not filled in.
package schema

import "encoding/json"

// A Schema is compiled. It may be used from any goroutine.
type Schema struct {
	document json.RawMessage
	root     *rule
}

// Document is the schema as it was written; nil for no schema.
func (s *Schema) Document() json.RawMessage {
	if s == nil {
		return nil
	}
	return s.document
}

// A Violation is one place that does not fit.
type Violation struct {
	// Path is a JSON Pointer into the text that was checked; Keyword the one of the schema
	// that it does not fit.
	Path    string `json:"path"`
	Keyword string `json:"keyword"`
	// Message says what is wrong without any value of the text.
	Message string `json:"message"`
}

// largeText is the size in bytes from which on texts are checked two at a time: what is made
// of one takes many times its memory.
const largeText = 16 << 10

var large = make(chan struct{}, 2)

// Check gives what does not fit, in the order of the text, and no more than 20 of it; nil
// where all fits. The text is one that was checked to be strict JSON. Everything fits no schema
// that is nil.
func (s *Schema) Check(text json.RawMessage) []Violation {
	if s == nil {
		return nil
	}
	if len(text) > largeText {
		large <- struct{}{}
		defer func() { <-large }()
	}
	t := spare.Get().(*tree)
	defer t.release()
	var list []Violation
	if !t.parse(text) {
		return append(list, Violation{Message: sayTooLarge})
	}
	for _, v := range s.violations(t) {
		list = append(list, Violation{t.pointer(v.node), v.keyword, v.message})
	}
	return list
}
