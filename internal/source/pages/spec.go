package pages

import (
	"regexp"

	"github.com/durward/durward"
)

// A Frontmatter is what a page allows. The zero value allows nothing.
type Frontmatter struct {
	Tools []ToolSpec
	// Env names the reserved variables that a request may set nevertheless.
	Env []string
}

// A ToolSpec allows commands of one form.
type ToolSpec struct {
	Parts []ToolPart
	// Locked forbids words behind the last part.
	Locked bool
	// Where is the place of the list in its file.
	Where durward.Position
}

// A PartKind says how a part is compared with a word.
type PartKind int

// The kinds of parts.
const (
	// Literal matches the word that is equal to its text.
	Literal PartKind = iota + 1
	// Placeholder matches any word, also an empty one.
	Placeholder
	// Pattern matches a word in which its expression is found.
	Pattern
)

// A ToolPart is one element of a spec.
type ToolPart struct {
	Kind PartKind
	// Text is the literal, the pattern, or the name of the placeholder, which may be
	// empty.
	Text string

	pattern *regexp.Regexp // of a Pattern
	// bounded is set for a pattern that is anchored on both sides, so that it alone says
	// what a word may be.
	bounded bool
}

// matches reports whether the part allows a word.
func (p ToolPart) matches(word string) bool {
	switch p.Kind {
	case Literal:
		return word == p.Text
	case Pattern:
		return p.pattern != nil && p.pattern.MatchString(word)
	}
	return p.Kind == Placeholder
}

// Matches reports whether the spec allows a command.
func (s ToolSpec) Matches(command []string) bool {
	if len(s.Parts) == 0 || len(command) < len(s.Parts) || s.Locked && len(command) > len(s.Parts) {
		return false
	}
	for i, part := range s.Parts {
		if !part.matches(command[i]) {
			return false
		}
	}
	return true
}

// Match gives the index of the first spec that allows the command. No command at all
// is an error with reason ArgvEmpty, one that nothing allows has CommandNotAllowed.
func (f Frontmatter) Match(command []string) (int, error) {
	if len(command) == 0 {
		return 0, &durward.Error{Reason: durward.ArgvEmpty, Op: "match", Hint: `send {"command": ["program", "argument", …]}`}
	}
	for i, s := range f.Tools {
		if s.Matches(command) {
			return i, nil
		}
	}
	return 0, &durward.Error{Reason: durward.CommandNotAllowed, Op: "match", Rule: "tools", Hint: "send a command that the page's tools allow (GET the page to read them)"}
}
