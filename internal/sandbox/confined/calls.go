package confined

import "sync"

// calls counts the operations in progress.
type calls struct {
	mu     sync.Mutex
	closed bool           // guarded by mu
	going  sync.WaitGroup // added to under mu, and not once closed
}

// begin lets an operation begin, which calls end when it has ended.
func (c *calls) begin(op string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return closed(op)
	}
	c.going.Add(1)
	return nil
}

func (c *calls) end() { c.going.Done() }

// shut lets no other begin. It reports whether it is the first to do so.
func (c *calls) shut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.closed
	c.closed = true
	return !was
}

func (c *calls) wait() { c.going.Wait() }
