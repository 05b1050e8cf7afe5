package denyglob

import (
	slashpath "path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// A step is what one name of a path has to be for a pattern to go on.
type step struct {
	kind kind
	// text is the name itself, or what filepath.Match reads.
	text string
	// pattern is the number of the pattern that it belongs to.
	pattern int
}

type kind uint8

const (
	plain kind = iota // this very name
	wild              // a name that matches
	many              // any number of names, of any kind
	end               // the pattern has matched
)

// A machine reads paths name by name, for all patterns at once.
type machine struct {
	patterns []string
	steps    []step
	start    states
	// ends, open and fixed are the steps that have matched, those that need a directory
	// listed, and those for a directory whose path is all plain names.
	ends, open, fixed states
}

func compile(patterns []string) (*machine, error) {
	m := &machine{patterns: patterns}
	var starts []int
	for i, pattern := range patterns {
		starts = append(starts, len(m.steps))
		if err := m.add(i, pattern); err != nil {
			return nil, err
		}
	}
	m.start, m.ends, m.open, m.fixed = m.none(), m.none(), m.none(), m.none()
	for _, at := range starts {
		m.start.add(at)
		m.mark(at)
	}
	m.settle(m.start)
	return m, nil
}

// add takes a pattern apart.
func (m *machine) add(number int, pattern string) error {
	rest, absolute := strings.CutPrefix(pattern, "/")
	if !absolute || strings.Contains(pattern, "\x00") {
		return malformed(pattern, "it is no absolute path")
	}
	for part := range strings.SplitSeq(rest, "/") {
		s, wrong := parse(part)
		if wrong != "" {
			return malformed(pattern, wrong)
		}
		s.pattern = number
		m.steps = append(m.steps, s)
	}
	m.steps = append(m.steps, step{kind: end, pattern: number})
	return nil
}

func malformed(pattern, why string) error {
	return refusal("write an absolute path with *, ?, [a-z], and ** as a whole name", "%s is not a pattern: %s", quoted(pattern), why)
}

// parse reads what stands between two slashes, or says what is wrong with it. What
// could never match is wrong.
func parse(part string) (s step, wrong string) {
	if part == "**" {
		return step{kind: many}, ""
	}
	if _, err := slashpath.Match(part, ""); err != nil { // which reads all of it, as filepath.Match does not
		return step{}, "a [ without its ], or a backslash before nothing"
	}
	if strings.Contains(part, "**") {
		return step{}, "** stands for whole names between two slashes"
	}
	name, ok := literal(part)
	switch {
	case !ok:
		return step{kind: wild, text: part}, ""
	case name == "" || name == "." || name == "..":
		return step{}, "a name in it is empty, or is a dot or two"
	}
	return step{kind: plain, text: name}, ""
}

// literal gives the only name that a well-formed part matches, if it can tell that there
// is one.
func literal(part string) (name string, ok bool) {
	var b strings.Builder
	for part != "" {
		size := 1
		c := part[0]
		switch {
		case c == '*' || c == '?':
			return "", false
		case c == '\\':
			c, size = part[1], 2
		case c == '[':
			if c, size = only(part); size == 0 {
				return "", false
			}
		}
		b.WriteByte(c)
		part = part[size:]
	}
	return b.String(), true
}

// only reads a class of one character, as "[*]", and gives its size, or 0.
func only(class string) (c byte, size int) {
	inner, _, _ := strings.Cut(class[1:], "]")
	switch {
	case len(inner) == 1 && inner[0] < utf8.RuneSelf && inner[0] != '\\':
		return inner[0], 3
	case len(inner) == 2 && inner[0] == '\\' && inner[1] < utf8.RuneSelf:
		return inner[1], 4
	}
	return 0, 0
}

// mark sorts the steps of the pattern that starts at a step.
func (m *machine) mark(at int) {
	fixed := true
	for ; m.steps[at].kind != end; at++ {
		if m.steps[at].kind != plain {
			fixed = false
			m.open.add(at)
		}
		if fixed && m.steps[at+1].kind != end {
			m.fixed.add(at)
		}
	}
	m.ends.add(at)
}

// advance gives in to what the steps in from have become after a name.
func (m *machine) advance(from states, name string, to states) {
	clear(to)
	for i := from.next(0); i >= 0; i = from.next(i + 1) {
		switch s := m.steps[i]; s.kind {
		case many:
			to.add(i)
		case plain:
			if s.text == name {
				to.add(i + 1)
			}
		case wild:
			if ok, err := filepath.Match(s.text, name); ok || err != nil {
				to.add(i + 1)
			}
		}
	}
	m.settle(to)
}

// settle lets each ** stand for no name.
func (m *machine) settle(at states) {
	for i := at.next(0); i >= 0; i = at.next(i + 1) {
		if m.steps[i].kind == many {
			at.add(i + 1)
		}
	}
}

func (m *machine) none() states { return make(states, len(m.steps)/64+1) }
