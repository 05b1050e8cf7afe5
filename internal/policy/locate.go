package policy

import "github.com/durward/durward"

// Locate gives the rule, with its place, behind a part of a grant that an engine cannot
// hold: a [durward.GrantField], "require", or a member that was written. The place is zero where it was the call
// that asked, and where the policy was not written down.
func (p *Policy) Locate(rule string) (string, durward.Position) {
	member := p.asking(rule)
	if member == "" || p.source == (durward.Position{}) {
		return rule, durward.Position{}
	}
	return "sandbox." + member, p.place("sandbox." + member)
}

// asking names the member that asks for it, or gives "".
func (p *Policy) asking(rule string) string {
	switch durward.GrantField(rule) {
	case durward.FieldLevel:
		return p.askingLevel()
	case durward.FieldFiles, durward.FieldNetwork, "require":
		return p.askingConfinement(rule)
	case durward.FieldIdentity, durward.FieldEnv, durward.FieldLimits:
		return rule
	}
	if _, written := p.places[rule]; written {
		return rule
	}
	return ""
}

func (p *Policy) askingLevel() string {
	switch g := p.grant; {
	case g.Level > durward.LevelNone && g.Level >= g.MinLevel:
		return "level"
	case g.MinLevel > durward.LevelNone:
		return "minLevel"
	}
	return ""
}

// askingConfinement names what was written about it, the nearest first; a mode that
// confines asks by itself.
func (p *Policy) askingConfinement(rule string) string {
	wrote := func(member string) bool { _, ok := p.places[member]; return ok }
	switch {
	case rule == "require" && wrote("require"):
		return "require"
	case p.grant.Mode.Confines():
		return "mode"
	case wrote("network.mode"):
		return "network.mode"
	}
	return ""
}
