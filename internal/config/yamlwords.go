package config

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// syntax says of a mistake in the syntax of YAML what is wrong and what to do, where the library
// says what it was about to find.
func (p *parser) syntax(e *yaml.LoadError) string {
	switch e.Message {
	case "mapping values are not allowed in this context":
		return "a colon stands where none can; put a text that holds one into quotes, or indent the line as those beside it"
	case "did not find expected ',' or ']'":
		return "the list that " + p.begins(e) + " does not end; close it with ]"
	case "did not find expected ',' or '}'":
		return "the mapping that " + p.begins(e) + " does not end; close it with }"
	case "found unexpected end of stream":
		return "the text in quotes that " + p.begins(e) + " does not end; close it with a quote"
	case "did not find expected node content":
		return "a value is missing"
	case "did not find expected key", "did not find expected '-' indicator":
		return "this does not belong to what " + p.begins(e) + "; indent it as the lines that it belongs to"
	case "could not find expected ':'":
		return "a field has no colon behind its name; write name: value"
	case "block sequence entries are not allowed in this context":
		return "a list cannot begin here; begin it on a line of its own"
	case "found character that cannot start any token":
		return "no value begins with this character; put the value into quotes"
	case "found a tab character that violates indentation", "found a tab character where an indentation space is expected":
		return "a tab indents this line; use spaces"
	case "found unknown escape character":
		return `this escape is not known; write \\ for a backslash, or use single quotes`
	}
	return e.Message
}

// begins says in which line begins what does not end as it should.
func (p *parser) begins(e *yaml.LoadError) string {
	return fmt.Sprintf("begins in line %d", p.line(max(e.ContextMark.Line, 1)))
}
