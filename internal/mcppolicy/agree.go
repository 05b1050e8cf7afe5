package mcppolicy

import (
	"fmt"

	"github.com/durward/durward"
)

// agree finds members that are right by themselves and not beside the others.
func (r *reader) agree(d *Document) {
	ids := map[string]durward.Position{}
	for i, c := range d.Commands {
		r.unique(ids, fmt.Sprintf("commands[%d].id", i), c.ID)
		if c.Cwd.Value != "" && c.CwdPolicy.Value != fixedCwd {
			r.problem(c.Cwd.Where, "commands[%d].cwd has no effect without cwdPolicy: %s", i, fixedCwd)
		}
	}
	names := map[string]durward.Position{}
	for i, p := range d.Profiles {
		path := fmt.Sprintf("profiles[%d]", i)
		r.unique(names, path+".name", p.Name)
		for j, id := range p.Commands.Value {
			if _, ok := ids[id.Value]; !ok && id.Value != "" {
				r.problem(id.Where, "%s.commands[%d]: there is no command %q", path, j, id.Value)
			}
		}
		r.narrows(path, p.Limits, d.Limits)
	}
}

func (r *reader) unique(seen map[string]durward.Position, path string, t Text) {
	if t.Value == "" {
		return // was refused
	}
	if first, ok := seen[t.Value]; ok {
		r.problem(t.Where, "%s: %q is taken (on line %d)", path, t.Value, first.Line)
		return
	}
	seen[t.Value] = t.Where
}

// narrows finds the limits of a profile that are above those of the policy.
func (r *reader) narrows(path string, inner, outer LimitsEntry) {
	outers := outer.fields()
	for i, f := range inner.fields() {
		mine, bound := f.holds.(*count).into, outers[i].holds.(*count).into
		if bound.Value > 0 && mine.Value > bound.Value {
			r.problem(mine.Where, "%s.limits.%s is above the %d of the policy; a profile can only narrow", path, f.name, bound.Value)
		}
	}
}
