package firecrawl

import (
	"context"
	"errors"
	"time"
)

// A clock is what tells the time and waits; tests have one that need not wait.
type clock interface {
	Now() time.Time
	// Sleep waits for so long, or until ctx ends, whose error it then gives.
	Sleep(ctx context.Context, d time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// errTooLate says that what is left of the time is not enough.
var errTooLate = errors.New("too little time is left")

// longest is how long a call may take that has no deadline.
const longest = time.Hour

// A budget is the time that a call has.
type budget struct {
	clock
	deadline time.Time
	// stated is set when the caller gave the deadline.
	stated bool
}

func newBudget(deadline time.Time, by clock) budget {
	if deadline.IsZero() {
		return budget{by, by.Now().Add(longest), false}
	}
	return budget{by, deadline, true}
}

func (b budget) left() time.Duration { return b.deadline.Sub(b.Now()) }

// pause sleeps, unless that would take all that is left; then the error is errTooLate.
func (b budget) pause(ctx context.Context, d time.Duration) error {
	if d >= b.left() {
		return errTooLate
	}
	return b.Sleep(ctx, d)
}
