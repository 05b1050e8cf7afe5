package worker

import (
	"sync"
	"time"
)

const (
	// idleTime is how long a free connection is kept. The servers that workers are made with
	// keep theirs for five seconds at least: a call that comes as they close is lost.
	idleTime = 4 * time.Second
	// maxIdle bounds the free connections to one worker.
	maxIdle = 64
)

// A pool keeps the free connections to one worker. Its zero value is empty.
type pool struct {
	mu     sync.Mutex
	free   []*conn     // guarded by mu; the one that became free last stands last
	sweep  *time.Timer // guarded by mu; set while there is a free one
	closed bool        // guarded by mu
}

// take gives the connection that became free last and that the worker has not closed, or nil.
func (p *pool) take() *conn {
	for {
		c := p.pop()
		if c == nil || c.isQuiet() {
			return c
		}
		c.close()
	}
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	if last < 0 {
		return nil
	}
	c := p.free[last]
	p.free[last] = nil
	p.free = p.free[:last]
	return c
}

// put keeps a connection, or closes it where there are enough.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.free) == maxIdle {
		c.close()
		return
	}
	c.since = time.Now()
	p.free = append(p.free, c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleTime, p.expire)
	}
}

// expire closes those that have been free for too long; the oldest stand first.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.free) > 0 && time.Since(p.free[0].since) >= idleTime {
		p.free[0].close()
		p.free[0] = nil
		p.free = p.free[1:]
	}
	if p.sweep = nil; len(p.free) > 0 && !p.closed {
		p.sweep = time.AfterFunc(idleTime-time.Since(p.free[0].since), p.expire)
	}
}

// close closes the free connections, and from now on those that become free.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = true; p.sweep != nil {
		p.sweep.Stop()
	}
	for _, c := range p.free {
		c.close()
	}
	p.free = nil
	return nil
}
