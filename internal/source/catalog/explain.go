package catalog

import (
	"fmt"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/toolcall"
)

// Explain decides like [Catalog.Decide], by the same steps, and tells how. What engines
// look at is not told.
func (c *Catalog) Explain(call durward.Call, t durward.Tool) policy.Explanation {
	e := policy.Explanation{Decision: c.Decide(call, t)}
	known, ok := c.entries[call.CommandID]
	switch {
	case e.Decision.Allow && t.ID != toolcall.CommandRun: // engines look at files
		return e
	case t.ID != toolcall.CommandRun || !ok || call.Argv == nil:
		e.Steps = []durward.Step{denied(e.Decision)}
		return e
	}
	name := "commands." + known.ID
	e.Steps = []durward.Step{{Rule: name, Where: known.Entry.Where, Verdict: durward.Passed, Note: "is " + known.Exec}}
	if _, err := known.Environ(call.Env); err != nil {
		e.Steps = append(e.Steps, denied(e.Decision))
		return e
	}
	e.Steps = append(e.Steps, durward.Step{
		Rule: name + ".envAllowlist", Where: known.Entry.EnvAllowlist.Where, Verdict: durward.Passed,
		Note: fmt.Sprintf("%d variables of the call", len(call.Env)),
	})
	held, err := known.held()
	if err != nil {
		e.Steps = append(e.Steps, denied(e.Decision))
		return e
	}
	inner := held.Explain(confined(call), t)
	e.Steps, e.Paths, e.Grant = append(e.Steps, inner.Steps...), inner.Paths, inner.Grant
	return e
}

func denied(d durward.Decision) durward.Step {
	return durward.Step{Rule: d.Rule, Where: d.Where, Verdict: durward.Refused, Note: d.Reason}
}
