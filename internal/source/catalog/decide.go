package catalog

import (
	"github.com/durward/durward"
	"github.com/durward/durward/internal/toolcall"
)

// Decide tells whether a call may run, as far as that can be told without looking at files.
func (c *Catalog) Decide(call durward.Call, t durward.Tool) durward.Decision {
	d, err := c.decide(call, t)
	if err != nil {
		d = refusal(err)
	}
	d.PolicyHash = c.policy.Hash
	return d
}

func (c *Catalog) decide(call durward.Call, t durward.Tool) (durward.Decision, error) {
	switch t.ID {
	case toolcall.FSRead, toolcall.FSList:
		return allowed("allowedRoots", c.policy.Document.AllowedRoots.Where, readGrant(c.policy)), nil
	case toolcall.FSWrite:
		return allowed("writeRules", c.policy.Document.Where, writeGrant(c.policy)), nil
	}
	if call.Argv == nil { // its arguments could not be read
		_, err := toolcall.DecodeCmdRun(call.Input)
		return durward.Decision{Code: durward.BadCall}, err
	}
	known, err := c.policy.Command(call.CommandID)
	if err != nil {
		return durward.Decision{}, err
	}
	d, err := c.entries[known.ID].grant(call, t)
	if d.Allow {
		d.Rule, d.Where = "commands."+known.ID, known.Entry.Where
	}
	return d, err
}

func allowed(rule string, where durward.Position, g durward.Grant) durward.Decision {
	return durward.Decision{Allow: true, Rule: rule, Where: where, Grant: g, Reason: "mode " + string(g.Mode)}
}

// refusal gives an error of the policy the form of a decision.
func refusal(err error) durward.Decision {
	d := durward.Decision{Rule: "call.input", Code: durward.ReasonOf(err), Reason: err.Error(), Detail: durward.DetailOf(err)}
	if e := durward.AsError(err); e != nil {
		d.Remedy = e.Hint
		if e.Rule != "" {
			d.Rule, d.Where = e.Rule, e.Where
		}
		if e.Err != nil {
			d.Reason = e.Err.Error()
		}
	}
	return d
}
