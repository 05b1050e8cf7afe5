package mcppolicy

import (
	"fmt"
	"slices"

	"github.com/durward/durward"
)

// A zone is a place where files may be written: by clients and commands where a write rule says so,
// by a command where the sandbox that was written for it does.
type zone struct {
	path  string
	by    string // what lets files be written, with its place
	at    durward.Position
	files *durward.Files // of the sandbox; nil for a write rule
}

// ruleZones gives those of the write rules. What lies deeper than a rule reaches counts too: a
// command that may write a directory may write all of it.
func (p *Policy) ruleZones() (zones []zone) {
	for _, rule := range p.WriteRules {
		zones = append(zones, zone{path: rule.Path, by: "the write rule at " + rule.Where.String(), at: rule.Where})
	}
	return zones
}

// sandboxZones gives those of the sandboxes that were written.
func (p *Policy) sandboxZones() (zones []zone) {
	add := func(files *durward.Files, written Sandbox) {
		if files == nil || files.CopyOnWrite { // nothing is written in place then
			return
		}
		at := written.Document.Where
		for _, path := range files.Write {
			zones = append(zones, zone{path, "the sandbox at " + at.String(), at, files})
		}
	}
	add(p.files, p.Document.Sandbox)
	for _, cmd := range p.Commands {
		add(cmd.files, cmd.Entry.Sandbox)
	}
	return zones
}

// ZoneAround gives the place where calls may write files that a physical path lies in, and what of
// the policy says so.
func (p *Policy) ZoneAround(path string) (dir string, at durward.Position, ok bool) {
	for _, z := range append(p.ruleZones(), p.sandboxZones()...) {
		if contains(z.path, path) {
			return z.path, z.at, true
		}
	}
	return "", durward.Position{}, false
}

// Writable reports whether a recursive write rule takes a path in.
func (p *Policy) Writable(path string) bool {
	return slices.ContainsFunc(p.WriteRules, func(r WriteRule) bool { return r.Recursive && contains(r.Path, path) })
}

// over gives the zone in which a place lies and is not kept as it is, or nil.
func (c *compiler) over(place string, zones []zone) *zone {
	for i, z := range zones {
		if contains(c.fold(z.path), c.fold(place)) && !c.keeps(z, place) {
			return &zones[i]
		}
	}
	return nil
}

// overStep is over for a name on the way to something, in the place of which something else would
// have to be put: that of a zone itself is held by what lies around it.
func (c *compiler) overStep(s step, zones []zone) *zone {
	return c.over(s.place, slices.DeleteFunc(slices.Clone(zones), func(z zone) bool { return c.fold(z.path) == c.fold(s.place) }))
}

// keeps reports whether the sandbox of a zone keeps a place in it as it is: it protects or denies it,
// or names it more closely as something to be read. What such a place lies in keeps its name, too.
func (c *compiler) keeps(z zone, place string) bool {
	if z.files == nil {
		return false
	}
	on := c.fold(place)
	kept := func(path string) bool { path = c.fold(path); return contains(path, on) || contains(on, path) }
	return slices.ContainsFunc(z.files.Protect, kept) || slices.ContainsFunc(z.files.Deny, kept) ||
		slices.ContainsFunc(z.files.Read, func(path string) bool { return len(path) > len(z.path) && kept(path) })
}

// refuseInZone refuses a path if somebody could put another file in its place: if the file, or a
// name that it is reached by, lies in a zone.
func (c *compiler) refuseInZone(name string, t Text, path string, zones []zone) {
	place, z := path, c.over(path, zones)
	if physical, _, err := c.physical(path); err == nil && z == nil {
		place, z = physical, c.over(physical, zones)
	}
	for _, s := range c.passed(path) {
		if z == nil {
			place, z = s.place, c.overStep(s, zones)
		}
	}
	if z == nil {
		return
	}
	what := t.Value
	if place != path {
		what += " leads to " + place + ", which"
	}
	c.problems.Add(t.Where, "%s: %s lies where %s lets files be written", name, what, z.by)
}

// keepWay refuses a zone in which something on the way to the policy could be exchanged so that it
// leads elsewhere: a link, or a directory that ".." leaves again. The file that the way leads to no
// call writes.
func (c *compiler) keepWay(zones []zone) {
	for _, step := range c.passed(c.host.Named) {
		if step.turn == "" {
			continue
		}
		if z := c.overStep(step, zones); z != nil {
			c.problems.Add(z.at, "files may be written in %s, and so may %s, %s; name the policy by the file itself", z.path, step.place, step.turn)
			return
		}
	}
}

// keepFromSandboxes is refuseInZone and keepWay for what commands may write in sandboxes that were
// written for them. A log is refused also where its file is protected: its closed segments lie
// beside it.
func (c *compiler) keepFromSandboxes() {
	zones := c.p.sandboxZones()
	c.keepWay(zones)
	for i := range c.doc.Commands {
		for _, cmd := range c.p.Commands {
			if cmd.Entry == &c.doc.Commands[i] && cmd.Exec != "" {
				c.refuseInZone(fmt.Sprintf("commands[%d].exec", i), cmd.Entry.Exec, cmd.Exec, zones)
			}
		}
	}
	if c.p.LogFile == "" {
		return
	}
	for i := range zones {
		zones[i].files = nil
	}
	c.refuseInZone("logging.file", c.doc.Logging.File, c.p.LogFile, zones)
}
