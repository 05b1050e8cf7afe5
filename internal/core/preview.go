package core

import (
	"context"
	"errors"

	"github.com/durward/durward"
)

// A Preview is what would become of a call.
type Preview struct {
	// Call is the call with its id and its trace.
	Call     durward.Call
	Decision durward.Decision
	// Refusal is the error that the call would end with; nil where it would run.
	Refusal error
	// Steps are those of preparing the call. Where that refused, the last one says so.
	Steps []durward.Step
	// Plan is nil for a denial, and where the engine has none to show.
	Plan *Plan
}

// A Plan is what running a call would do: words for a person to read.
type Plan struct {
	// Program is the physical path of what would be executed, Dir that of where.
	Program, Dir string
	// Report is what would hold. It has no end and took no time.
	Report durward.Report
	// Passed are the levels above that of the report, the highest first.
	Passed []PassedLevel
	// Calls are the system calls in their order, a line each, behind the stage that makes
	// them.
	Calls []string
}

// A PassedLevel is a level that a call could not have, and why.
type PassedLevel struct {
	Level durward.Level
	Why   string
}

// Preview takes a call as far as prepare and says what would become of it. Nothing is run
// and nothing is recorded.
func (r *Runtime) Preview(ctx context.Context, c durward.Call) (Preview, error) {
	var p Preview
	c.Explain = func(s durward.Step) { p.Steps = append(p.Steps, s) }
	j := r.newJob(ctx, c)
	defer func() { j.cancel() }()
	p.Call = j.call
	if p.Refusal = j.decide(); p.Refusal != nil {
		p.Decision = j.refusal(p.Refusal)
		if j.decision.Allow {
			p.refuse()
		}
		return p, nil
	}
	p.Decision = j.decision
	plan, err := j.plan()
	p.Plan = plan
	return p, errors.Join(err, j.close())
}

// refuse adds the step that refused, unless who prepared the call told it.
func (p *Preview) refuse() {
	if n := len(p.Steps); n > 0 && p.Steps[n-1].Verdict != durward.Passed {
		return
	}
	s := durward.Step{Rule: "prepare", Verdict: durward.Refused, Note: p.Decision.Reason}
	if e := durward.AsError(p.Refusal); e != nil && e.Rule != "" {
		s.Rule, s.Where = e.Rule, e.Where
	}
	p.Steps = append(p.Steps, s)
}

// plan asks who prepared the call what running it would do.
func (j *job) plan() (_ *Plan, err error) {
	defer caught(&err)
	planner, ok := j.prepared.(Planner)
	if !ok {
		return nil, nil
	}
	plan := planner.Plan(j.ctx)
	plan.Report.PolicyHash = j.decision.PolicyHash
	return &plan, nil
}
