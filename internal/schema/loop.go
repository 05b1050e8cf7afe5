package schema

// maxInPlace bounds how many schemas one value can be led through by references and the like.
const maxInPlace = 512

// walking marks a rule that is being looked at.
const walking = -1

// refuseLoops notes the schemas that lead back to themselves without going into a value, and
// ways that are too long: a value would never be done with.
func (f *Folder) refuseLoops() {
	for _, r := range f.order {
		f.length(r)
	}
}

// length gives how many rules the longest way from r leads through.
func (f *Folder) length(r *rule) int {
	switch n := f.lengths[r]; {
	case n == walking:
		f.wrong(r.resource.doc, r.node, "the schema refers to itself without going into a value")
		return 0
	case n > 0:
		return n
	}
	f.lengths[r] = walking
	longest := 0
	for _, next := range r.inPlace() {
		longest = max(longest, f.length(next))
	}
	if longest == maxInPlace {
		f.wrong(r.resource.doc, r.node, "one value is led through more than %d schemas", maxInPlace)
	}
	f.lengths[r] = longest + 1
	return longest + 1
}
