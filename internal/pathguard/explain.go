package pathguard

import (
	"fmt"

	"github.com/durward/durward"
)

// Explaining gives a guard that tells each of its steps from the goroutine that asks. The
// rules of steps are "path", "allowedRoots", "writeRules", both with a number where one
// of them decides, and "file" or "directory". What is told shows where a path leads, and
// so is not for the caller. With nil it gives g; g is the one to close in any case.
func (g *Guard) Explaining(tell func(durward.Step)) *Guard {
	if tell == nil {
		return g
	}
	telling := *g
	telling.tell = tell
	return &telling
}

func (g *Guard) passed(rule, format string, args ...any) {
	if g.tell != nil {
		g.tell(durward.Step{Rule: rule, Verdict: durward.Passed, Note: fmt.Sprintf(format, args...)})
	}
}

func (g *Guard) denied(rule, format string, args ...any) {
	if g.tell != nil {
		g.tell(durward.Step{Rule: rule, Verdict: durward.Refused, Note: fmt.Sprintf(format, args...)})
	}
}

// tellPlace tells where a path leads, and which root holds that; a negative number is
// none.
func (g *Guard) tellPlace(path string, e end, root int) {
	if g.tell == nil || e.path == "" {
		return
	}
	there := ""
	if e.missing > 0 {
		there = ", which is not there"
	}
	g.passed("path", "%q leads to %q%s", path, e.path, there)
	if root < 0 {
		g.denied("allowedRoots", "none of %d holds it", len(g.roots))
		return
	}
	g.passed(fmt.Sprintf("allowedRoots[%d]", root), "holds it")
}

// tellZone tells which zone holds a file; a negative number is none.
func (g *Guard) tellZone(zone int) {
	if zone < 0 {
		g.denied("writeRules", "none of %d holds it", len(g.o.Zones))
		return
	}
	g.passed(fmt.Sprintf("writeRules[%d]", zone), "holds it, for files of at most %d bytes", g.o.Zones[zone].MaxFileBytes)
}
