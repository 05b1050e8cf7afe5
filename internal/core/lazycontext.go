package core

import (
	"context"
	"sync"
	"time"
)

// A lazyContext is a context that can be cancelled and may have a deadline. It asks the one
// above it for its end, and sets a timer, only when somebody waits for its own. Most calls that
// are short or refused end before that, and to ask can be dear: a server then begins to watch
// its client.
type lazyContext struct {
	context.Context // above

	mu       sync.Mutex
	deadline time.Time          // guarded by mu; zero if it has none of its own
	inner    context.Context    // guarded by mu; nil until somebody waits
	cancel   context.CancelFunc // guarded by mu; of inner
	stopped  bool               // guarded by mu
}

// expire puts the context under a deadline, an earlier one than it had. It reports false when
// somebody waits already.
func (c *lazyContext) expire(deadline time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.deadline = deadline
	}
	return c.inner == nil
}

func (c *lazyContext) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.cancel != nil {
		c.cancel()
	}
}

// asked gives the context that who waits for this one waits for. It needs mu.
func (c *lazyContext) asked() context.Context {
	if c.inner != nil {
		return c.inner
	}
	if c.deadline.IsZero() {
		c.inner, c.cancel = context.WithCancel(c.Context)
	} else {
		c.inner, c.cancel = context.WithDeadline(c.Context, c.deadline)
	}
	if c.stopped {
		c.cancel()
	}
	return c.inner
}

func (c *lazyContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.deadline.IsZero() {
		return c.deadline, true
	}
	return c.Context.Deadline()
}

func (c *lazyContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked().Done()
}

func (c *lazyContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := !c.deadline.IsZero() && !time.Now().Before(c.deadline)
	if c.inner != nil || c.stopped || late {
		return c.asked().Err()
	}
	return c.Context.Err()
}

// Value leads to the cause of the end, too, once there can be one.
func (c *lazyContext) Value(key any) any {
	c.mu.Lock()
	inner := c.inner
	c.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return c.Context.Value(key)
}
