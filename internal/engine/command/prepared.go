package command

import (
	"context"
	"errors"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A prepared call waits for a slot, from its arrival on, as long as it may then run.
type prepared struct {
	core.Prepared
	slots   *Slots
	arrived time.Time
	timeout time.Duration
}

// Run waits for a slot and then runs the command.
func (p prepared) Run(ctx context.Context) (durward.Result, error) {
	began := time.Now()
	if err := p.wait(ctx); err != nil {
		return durward.Result{Queued: time.Since(began)}, err
	}
	defer p.slots.release()
	queued := time.Since(began)
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	result, err := p.Prepared.Run(ctx)
	result.Queued = queued
	return result, err
}

// wait waits for a slot.
func (p prepared) wait(ctx context.Context) error {
	waiting, cancel := context.WithDeadline(ctx, p.arrived.Add(p.timeout))
	defer cancel()
	err := p.slots.take(waiting, p.arrived)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			p.slots.release()
		}
		return durward.Ended(ctx, "admit")
	case err != nil:
		return &durward.Error{
			Reason: durward.DeadlineExceeded, Op: "admit", Rule: "concurrency", Retry: true, Hint: "try again later",
			Err: errors.New("no slot was free in time"),
		}
	}
	return nil
}

// Plan passes it on; without one there is nothing to tell.
func (p prepared) Plan(ctx context.Context) core.Plan {
	if planner, ok := p.Prepared.(core.Planner); ok {
		return planner.Plan(ctx)
	}
	return core.Plan{}
}

// OnRefused passes it on.
func (p prepared) OnRefused(tell func(to durward.Contact)) {
	if refuser, ok := p.Prepared.(core.Refuser); ok {
		refuser.OnRefused(tell)
	}
}
