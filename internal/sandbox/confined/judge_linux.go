package confined

import (
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// A judge says of a place whether the grant takes it back.
type judge struct {
	op    string
	to    access
	terms *terms
	noted [2]*noted // at the policy's first use, and now
}

// admit is for [fsroot.Rules]. Of an operation's errors it gives those that come of what
// the grant takes back, and those of not being able to tell.
func (j judge) admit(p fsroot.Place) error {
	l, err := lineageOf(p)
	if err != nil {
		return untold(j.op, err)
	}
	return j.verdict(l, j.to)
}

// verdict says whether the grant takes back a place whose whereabouts are known.
func (j judge) verdict(l *lineage, to access) error {
	steps := j.steps(l, to)
	var all standing
	for _, stands := range steps {
		all |= stands
	}
	switch {
	case all&denied != 0 || j.terms.patterns.Match(l.path(len(l.names))):
		return refused(j.op, durward.OutsideRoot, "filesystem.deny", "use another path; the policy denies this one")
	case to == reading:
		return nil
	case all&protected != 0:
		return refused(j.op, durward.FilePermission, "filesystem.protect", "write elsewhere; the policy protects this path")
	case readOnly(steps):
		return refused(j.op, durward.FilePermission, "filesystem.read", "name the path in filesystem.write, too, if it is to be written")
	}
	return nil
}

// steps gives what is said of the root, of each directory on the way down, and of the place
// itself: by the path that it has now, or because it is what stands or stood at another.
func (j judge) steps(l *lineage, to access) []standing {
	steps := make([]standing, len(l.names)+1)
	for i := range steps {
		steps[i] = j.terms.said[l.path(i)]
		if i >= len(l.ids) {
			continue // it is still to be made
		}
		for _, n := range j.noted {
			steps[i] |= n.stands[l.ids[i]] | n.absent(l.ids[i], l.names[i:], to)
		}
	}
	return steps
}

// readOnly reports whether the innermost path around a place that the grant names is one
// that may only be read.
func readOnly(steps []standing) bool {
	for _, stands := range slices.Backward(steps) {
		if stands&(readable|writable) != 0 {
			return stands&readable != 0
		}
	}
	return false
}

// absent gives what stands for the first of what is missing beneath a directory, if these
// names beneath it lead there. A file that is made on the way there bars the way, and what
// it says may stand for what is missing. Some file systems take names of another case for
// the same.
func (n *noted) absent(dir identity, names []string, to access) standing {
	var all standing
	for _, a := range n.missing {
		if a.in == dir && (leads(names, a.names) || to == writing && len(names) > 0 && leads(a.names, names)) {
			all |= a.stands
		}
	}
	return all
}

func leads(names, to []string) bool {
	if len(names) < len(to) {
		return false
	}
	for i := range to {
		if !strings.EqualFold(names[i], to[i]) {
			return false
		}
	}
	return true
}
