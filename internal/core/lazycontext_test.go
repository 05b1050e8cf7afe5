package core

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The end of a lazy context is that of any other, whether somebody waits for it or only asks.
func TestLazyContext(t *testing.T) {
	past, future := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	why := errors.New("why")
	ended, end := context.WithCancelCause(t.Context())
	end(why)
	for name, c := range map[string]struct {
		above      context.Context
		deadline   time.Time
		stop       bool
		err, cause error
	}{
		"goes on":         {above: t.Context(), deadline: future},
		"late":            {above: t.Context(), deadline: past, err: context.DeadlineExceeded, cause: context.DeadlineExceeded},
		"stopped":         {above: t.Context(), deadline: future, stop: true, err: context.Canceled, cause: context.Canceled},
		"ended above":     {above: ended, err: context.Canceled, cause: why},
		"ended before it": {above: ended, deadline: future, err: context.Canceled, cause: why},
	} {
		for _, waits := range []bool{true, false} {
			lazy := &lazyContext{Context: c.above}
			if !c.deadline.IsZero() && !lazy.expire(c.deadline) {
				t.Errorf("%s: it takes no deadline", name)
			}
			if at, ok := lazy.Deadline(); ok == c.deadline.IsZero() || !at.Equal(c.deadline) {
				t.Errorf("%s: the deadline is %v, %t", name, at, ok)
			}
			if c.stop {
				lazy.stop()
			}
			if waits && c.err != nil {
				<-lazy.Done()
			} else if waits {
				lazy.Done()
			}
			if err, cause := lazy.Err(), context.Cause(lazy); err != c.err || cause != c.cause {
				t.Errorf("%s, %t: %v, because of %v", name, waits, err, cause)
			}
			if waits && lazy.expire(past) {
				t.Errorf("%s: it takes a deadline that who waits does not see", name)
			}
			lazy.stop()
			<-lazy.Done()
		}
	}
}
