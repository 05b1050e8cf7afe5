package command

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// Slots bound the commands that run at once; who came first is served first.
type Slots struct{ free *semaphore.Weighted }

// NewSlots gives n of them.
func NewSlots(n int64) *Slots { return &Slots{semaphore.NewWeighted(n)} }

// A prepared call waits for a slot as long as it may then run.
type prepared struct {
	core.Prepared
	slots   *Slots
	timeout time.Duration
}

// Run waits for a slot and then runs the command.
func (p prepared) Run(ctx context.Context) (durward.Result, error) {
	waiting, cancel := context.WithTimeout(ctx, p.timeout)
	err := p.slots.free.Acquire(waiting, 1)
	cancel()
	switch {
	case ctx.Err() != nil:
		if err == nil {
			p.slots.free.Release(1)
		}
		return durward.Result{}, durward.Ended(ctx, "admit")
	case err != nil:
		return durward.Result{}, &durward.Error{
			Reason: durward.DeadlineExceeded, Op: "admit", Rule: "concurrency", Retry: true, Hint: "try again later",
			Err: errors.New("no slot was free in time"),
		}
	}
	defer p.slots.free.Release(1)
	ctx, cancel = context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.Prepared.Run(ctx)
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
