package denyglob

import (
	"slices"
	"strings"
)

// Patterns are patterns that have been read. They may be used concurrently.
type Patterns struct{ machine *machine }

// Compile reads patterns. An error has reason SandboxError.
func Compile(patterns []string) (*Patterns, error) {
	m, err := compile(patterns)
	if err != nil {
		return nil, err
	}
	return &Patterns{m}, nil
}

// Match reports whether a pattern matches a path or a directory that it lies in, as
// [Expand] would find it. The path is absolute and physical; nothing is looked up.
func (p *Patterns) Match(path string) bool {
	m := p.machine
	at, next := slices.Clone(m.start), m.none()
	if at.meets(m.ends) {
		return true
	}
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		m.advance(at, name, next)
		if next.meets(m.ends) {
			return true
		}
		at, next = next, at
	}
	return false
}
