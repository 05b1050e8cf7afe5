package changeset

import (
	"fmt"
	"io"
	"strings"
)

// Whole reports whether Show gives every change a line of its own.
func (s *Set) Whole() bool { return len(s.changes) <= maxShown }

// listed gives the changes in the order in which they are listed: that of a walk, but for
// what is too long. Then what is only added comes last: a command can add as much as it
// likes, and is not to hide by it what becomes of that which was there.
func (s *Set) listed() []*change {
	if s.Whole() {
		return s.changes
	}
	return s.addedLast()
}

func (s *Set) addedLast() []*change {
	ordered := make([]*change, 0, len(s.changes))
	for _, added := range []bool{false, true} {
		for _, c := range s.changes {
			if (c.Kind == Added) == added {
				ordered = append(ordered, c)
			}
		}
	}
	return ordered
}

// showList writes a line for each change, as far as there is room.
func (s *Set) showList(w io.Writer) error {
	list := s.listed()
	for _, c := range list[:min(len(list), maxShown)] {
		if _, err := fmt.Fprintln(w, c.line()); err != nil {
			return err
		}
	}
	return s.showUnlisted(w, "")
}

// showUnlisted tells how many changes of which kind have no line, if any has none.
func (s *Set) showUnlisted(w io.Writer, before string) error {
	if s.Whole() {
		return nil
	}
	left := make(map[Kind]int)
	for _, c := range s.listed()[maxShown:] {
		left[c.Kind]++
	}
	var kinds []string
	for _, kind := range []Kind{Modified, TypeChanged, Deleted, Added} {
		if left[kind] > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", left[kind], kind))
		}
	}
	_, err := fmt.Fprintf(w, "%s… and %d more changes that are not listed: %s\n", before, len(s.changes)-maxShown, strings.Join(kinds, ", "))
	return err
}
