//go:build linux || darwin

package denyglob

import "slices"

// plainNames gives the names that any of the steps waits for, of those that wait for one.
func (m *machine) plainNames(at states) []string {
	var list []string
	for i := at.next(0); i >= 0; i = at.next(i + 1) {
		if s := m.steps[i]; s.kind == plain && !slices.Contains(list, s.text) {
			list = append(list, s.text)
		}
	}
	return list
}

// through gives the first fixed step that a name is for, or -1.
func (m *machine) through(at states, name string) int {
	for i := at.next(0); i >= 0; i = at.next(i + 1) {
		if m.fixed.has(i) && m.steps[i].text == name {
			return i
		}
	}
	return -1
}

// first gives the first step that both have, or else the first of at, which has one.
func (m *machine) first(at, of states) int {
	for i := at.next(0); i >= 0; i = at.next(i + 1) {
		if of.has(i) {
			return i
		}
	}
	return at.next(0)
}
