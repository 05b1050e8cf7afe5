package core

import (
	"context"
	"sync"
)

// A lazyContext is a context that can be cancelled, and that asks the one above it for
// its end only when somebody asks for its own. Most calls that are refused end before
// that, and to ask can be dear: a server then begins to watch its client.
type lazyContext struct {
	context.Context // above

	mu      sync.Mutex
	inner   context.Context    // guarded by mu; nil until somebody asks
	cancel  context.CancelFunc // guarded by mu; of inner
	stopped bool               // guarded by mu
}

func withLazyCancel(above context.Context) (context.Context, context.CancelFunc) {
	c := &lazyContext{Context: above}
	return c, c.stop
}

func (c *lazyContext) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *lazyContext) asked() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancel(c.Context)
		if c.stopped {
			c.cancel()
		}
	}
	return c.inner
}

func (c *lazyContext) Done() <-chan struct{} { return c.asked().Done() }

func (c *lazyContext) Err() error { return c.asked().Err() }

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
