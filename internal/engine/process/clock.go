package process

import (
	"context"
	"time"
)

// sleepWatch tells when a deadline has passed on a clock that goes on while the
// machine sleeps. The timers of a context stand still meanwhile.
func sleepWatch(ctx context.Context, clock func() time.Duration) (passed func() bool) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return func() bool { return false }
	}
	end := clock() + time.Until(deadline)
	return func() bool { return clock() > end }
}
