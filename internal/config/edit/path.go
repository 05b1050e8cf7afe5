package edit

import (
	"slices"
	"strconv"
)

// A Path is the way from the top of a document to a value in it. The zero value is the
// document itself.
type Path struct{ steps []step }

type step struct {
	name  string
	index int // of an item; -1 for a member
}

// Member is the path to a member of the document, or, with more than one name, to a
// member of that.
func Member(names ...string) Path { return Path{}.Member(names...) }

// Member is the path to a member of what p leads to.
func (p Path) Member(names ...string) Path {
	steps := slices.Clip(p.steps)
	for _, name := range names {
		steps = append(steps, step{name, -1})
	}
	return Path{steps}
}

// Item is the path to an item of what p leads to; the first is 0.
func (p Path) Item(i int) Path { return Path{append(slices.Clip(p.steps), step{index: i})} }

// String gives the path as the tree of package config does: "commands[2].args".
func (p Path) String() string {
	text := ""
	for _, s := range p.steps {
		switch {
		case s.index >= 0:
			text += "[" + strconv.Itoa(s.index) + "]"
		case text == "":
			text = s.name
		default:
			text += "." + s.name
		}
	}
	if text == "" {
		return "the document"
	}
	return text
}

// names gives the names of steps that are members all.
func names(steps []step) ([]string, bool) {
	var all []string
	for _, s := range steps {
		if s.index >= 0 {
			return nil, false
		}
		all = append(all, s.name)
	}
	return all, true
}
