package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// A Problem is one mistake in a document.
type Problem struct {
	Where   durward.Position
	Message string
}

// Error gives "file:line:column: message", or the message where there is no place.
func (p Problem) Error() string {
	if p.Where == (durward.Position{}) {
		return p.Message
	}
	return p.Where.String() + ": " + p.Message
}

// Problems are the mistakes found in a document, but for those beyond any that somebody
// would read. As an error they are one line each; [ProblemsOf] finds them behind any
// wrapping.
type Problems []Problem

// What is told of a document. It may repeat what it has a thousand times.
const (
	maxProblems     = 100
	maxMessageBytes = 1 << 10
)

// Error gives every problem on a line of its own.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Add notes a mistake.
func (p *Problems) Add(where durward.Position, format string, args ...any) {
	if len(*p) < maxProblems {
		*p = append(*p, Problem{Where: where, Message: clip(fmt.Sprintf(format, args...), maxMessageBytes)})
	}
}

// Err gives the problems in the order of their places, or nil when there are none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Where.File, b.Where.File),
			cmp.Compare(a.Where.Line, b.Where.Line),
			cmp.Compare(a.Where.Column, b.Where.Column),
		)
	})
	return sorted
}

// ProblemsOf gives the problems err was made of, or nil.
func ProblemsOf(err error) Problems {
	var p Problems
	errors.As(err, &p)
	return p
}
