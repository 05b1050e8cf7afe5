// Package kin finds in a listing of all processes those that belong to one call.
//
// It is for systems whose kernel holds no tree of processes together. It is best effort:
// a process that leaves its group, and whose parent ends between two looks, is lost.
package kin

// A Process is one line of a listing. Zombies are to be left out.
type Process struct {
	ID, Parent, Group int
	// Born is when it began, in any unit. An id is given again; both together are not.
	Born int64
}

// A Family is a process that leads a group of its own, and what descends from it. It is
// not safe for concurrent use.
type Family struct {
	first int
	ended bool
	known map[int]int64 // when each member that was seen was born
}

// Of gives the family of a process that has not been waited for yet.
func Of(first int) *Family { return &Family{first: first, known: make(map[int]int64)} }

// End says that the first process was waited for: its id may be somebody else's now.
func (f *Family) End() { f.ended = true }

// Look gives the ids of all members that a listing shows, and remembers them. A process
// is a member once it was seen in the group or as the child of a member.
func (f *Family) Look(listing []Process) []int {
	born := make(map[int]int64, len(f.known))
	for _, p := range listing {
		was, known := f.known[p.ID]
		if known && was == p.Born || p.Group == f.first && !f.reused(listing) || p.ID == f.first && !f.ended {
			born[p.ID] = p.Born
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range listing {
			_, child := born[p.Parent]
			if _, member := born[p.ID]; child && !member {
				born[p.ID], grown = p.Born, true
			}
		}
	}
	f.known = born
	ids := make([]int, 0, len(born))
	for _, p := range listing {
		if _, member := born[p.ID]; member {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// reused reports whether the id of the first process belongs to somebody else, and so
// does the group of that name. While a member of the old group lives, no kernel gives its
// number to a process.
func (f *Family) reused(listing []Process) bool {
	if !f.ended {
		return false
	}
	for _, p := range listing {
		if p.ID == f.first {
			return true
		}
	}
	return false
}
