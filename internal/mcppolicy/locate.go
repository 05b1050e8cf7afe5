package mcppolicy

import (
	"fmt"

	"github.com/durward/durward"
)

// Locate gives the place of what the rule "allowedRoots[0]", "writeRules[2]" or a name
// without a number stands for. It is zero for what is no rule of files, and for what was
// not written. The numbers are those of Roots and WriteRules.
func (p *Policy) Locate(rule string) durward.Position {
	d := p.Document
	switch rule {
	case "allowedRoots":
		return d.AllowedRoots.Where
	case "writeRules":
		if len(d.WriteRules) > 0 {
			return d.WriteRules[0].Where // where the list begins
		}
		return d.Where
	case "denyNetworkFS":
		return d.DenyNetworkFS.Where
	case "denyHardLinks":
		return d.DenyHardLinks.Where
	case "strictVirtual":
		return d.StrictVirtual.Where
	}
	for i, r := range p.Roots {
		if rule == fmt.Sprintf("allowedRoots[%d]", i) {
			return r.Where
		}
	}
	for i, r := range p.WriteRules {
		if rule == fmt.Sprintf("writeRules[%d]", i) {
			return r.Where
		}
	}
	return durward.Position{}
}
