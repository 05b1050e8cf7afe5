package httpedge

// A connection is at rest while no request of it is being answered: it has sent none yet, or not
// all of its head, or is kept for another one. What is at rest can be had again at any time, so it
// gives way where there is no room.

// A rest is that of one connection. The zero value is of one that was never at rest.
type rest struct {
	since uint64 // the listener's count when it began; 0 while a request is answered
	over  bool   // it gave way
}

// wake has a request be answered. A connection that gave way has nobody to answer.
func (c *conn) wake() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest.since = 0
	return !c.rest.over
}

// lieDown has a connection be at rest from now on.
func (c *conn) lieDown() {
	now := c.listener.rests.Add(1)
	c.mu.Lock()
	c.rest.since = now
	c.mu.Unlock()
	select {
	case c.listener.rested <- struct{}{}:
	default:
	}
}

// restsSince is when the rest began; it is 0 for none, and for one that gave way already.
func (c *conn) restsSince() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rest.over {
		return 0
	}
	return c.rest.since
}

// giveWay has the connection end, unless a request has come meanwhile.
func (c *conn) giveWay() {
	c.mu.Lock()
	c.rest.over = c.rest.since > 0
	over := c.rest.over
	c.mu.Unlock()
	if over {
		c.cut()
	}
}

// makeRoom takes a slot, when there is one: what is at rest for the longest time gives way. It
// reports false when the listener was closed.
func (l *listener) makeRoom() bool {
	for {
		select {
		case l.slots <- struct{}{}:
			return true
		default:
		}
		if c := l.longestAtRest(); c != nil {
			c.giveWay()
			continue
		}
		select {
		case l.slots <- struct{}{}:
			return true
		case <-l.rested:
		case <-l.closed:
			return false
		}
	}
}

// longestAtRest gives nil where none is.
func (l *listener) longestAtRest() (longest *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := uint64(0)
	for c := range l.open {
		if since := c.restsSince(); since > 0 && (least == 0 || since < least) {
			longest, least = c, since
		}
	}
	return longest
}
