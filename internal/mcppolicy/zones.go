package mcppolicy

import (
	"fmt"

	"github.com/durward/durward"
)

// A zone is a place where files may be written: by clients and commands where a write rule says so,
// by a command where the sandbox that was written for it does.
type zone struct {
	path string
	by   string // what lets files be written, with its place
	at   durward.Position
}

// ruleZones gives those of the write rules. What lies deeper than a rule reaches counts too: a
// command that may write a directory may write all of it.
func (c *compiler) ruleZones() (zones []zone) {
	for _, rule := range c.p.WriteRules {
		zones = append(zones, zone{path: rule.Path, by: "the write rule at " + rule.Where.String(), at: rule.Where})
	}
	return zones
}

// sandboxZones gives those of the sandboxes that were written.
func (c *compiler) sandboxZones() (zones []zone) {
	add := func(files *durward.Files, written Sandbox) {
		if files == nil || files.CopyOnWrite { // nothing is written in place then
			return
		}
		at := written.Document.Where
		for _, path := range files.Write {
			zones = append(zones, zone{path, "the sandbox at " + at.String(), at})
		}
	}
	add(c.p.files, c.doc.Sandbox)
	for _, cmd := range c.p.Commands {
		add(cmd.files, cmd.Entry.Sandbox)
	}
	return zones
}

// over gives the zone that a place lies in, or nil.
func (c *compiler) over(place string, zones []zone) *zone {
	for i := range zones {
		if contains(c.fold(zones[i].path), c.fold(place)) {
			return &zones[i]
		}
	}
	return nil
}

// refuseInZone refuses a path if somebody could put another file in its place: if the file, or a
// name that it is reached by, lies in a zone.
func (c *compiler) refuseInZone(name string, t Text, path string, zones []zone) {
	places := []string{path}
	if physical, _, err := c.physical(path); err == nil {
		places = append(places, physical)
	}
	for _, place := range append(places, c.passed(path)...) {
		z := c.over(place, zones)
		if z == nil {
			continue
		}
		what := t.Value
		if place != path {
			what += " leads to " + place + ", which"
		}
		c.problems.Add(t.Where, "%s: %s lies where %s lets files be written", name, what, z.by)
		return
	}
}

// keepLinks refuses a zone in which a link on the way to the policy could be made to lead elsewhere.
// The file that it leads to no call writes.
func (c *compiler) keepLinks(zones []zone) {
	for _, place := range c.passed(c.host.Named) {
		if _, err := c.host.Readlink(place); err != nil {
			continue
		}
		if z := c.over(place, zones); z != nil {
			c.problems.Add(z.at, "files may be written in %s, and so may %s, a link that leads to this policy; name the policy by the file itself", z.path, place)
			return
		}
	}
}

// keepFromSandboxes is refuseInZone and keepLinks for what commands may write in sandboxes that
// were written for them.
func (c *compiler) keepFromSandboxes() {
	zones := c.sandboxZones()
	c.keepLinks(zones)
	if c.p.LogFile != "" {
		c.refuseInZone("logging.file", c.doc.Logging.File, c.p.LogFile, zones)
	}
	for i := range c.doc.Commands {
		for _, cmd := range c.p.Commands {
			if cmd.Entry == &c.doc.Commands[i] && cmd.Exec != "" {
				c.refuseInZone(fmt.Sprintf("commands[%d].exec", i), cmd.Entry.Exec, cmd.Exec, zones)
			}
		}
	}
}
