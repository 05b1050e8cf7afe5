package core

import (
	"context"
	"errors"

	"github.com/durward/durward"
)

// A Preview is what would become of a call.
type Preview struct {
	Decision durward.Decision
	// Refusal is the error that the call would end with; nil where it would run.
	Refusal error
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
	j := r.newJob(ctx, c)
	defer func() { j.cancel() }()
	if err := j.decide(); err != nil {
		return Preview{Decision: j.refusal(err), Refusal: err}, nil
	}
	plan, err := j.plan()
	return Preview{Decision: j.decision, Plan: plan}, errors.Join(err, j.close())
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
