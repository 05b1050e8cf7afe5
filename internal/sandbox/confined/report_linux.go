package confined

import (
	"fmt"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// mostLines bounds what a report says of gaps.
const mostLines = 8

// byDescriptor is what we hold ourselves: by looking at what was opened.
const byDescriptor = "descriptor"

// report says what holds an operation under the terms, or refuses a grant that requires
// more. What the rules leave open durward holds; that an operation looks at nothing else
// and changes no other file's mode, owner or times is its own doing, too.
func (t *terms) report(g durward.Grant, abi landlock.ABI, gaps []landlock.Gap) (durward.Report, error) {
	r := newReport(g.Mode, durward.LevelRestrict)
	kernel := durward.Held{Held: durward.HeldKernel, By: []string{abi.String()}}
	r.Guarantees[durward.FSRead], r.Guarantees[durward.FSWrite] = kernel, kernel
	r.Guarantees[durward.FSMeta] = durward.Held{Held: durward.HeldRuntime, By: []string{byDescriptor}}
	var lines []string
	for _, gap := range gaps {
		for _, guarantee := range gap.Breaks {
			if guarantee != durward.FSRead && guarantee != durward.FSWrite {
				continue
			}
			r.Guarantees[guarantee] = durward.Held{Held: durward.HeldRuntime, By: []string{abi.String(), byDescriptor}}
			lines = append(lines, fmt.Sprintf("%s: %s is held by durward, not by the kernel", guarantee, gap.What))
		}
	}
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("%d more of the policy's paths are held by durward, not by the kernel", more))
	}
	r.Weak = slices.Concat(r.Weak, lines)
	return r, require(g, &r)
}
