package mcpclient

import (
	"maps"
	"slices"
	"time"

	"github.com/durward/durward"
)

const (
	// mostLate is how many of the calls that were given up are known by their ids.
	mostLate = 1024
	// lateTime is how long a server is thought to work on calls of somebody that were given up: few answer
	// what was cancelled, and others are not to be kept waiting for that.
	lateTime = time.Minute
)

// LateCalls are those that were given up and have no answer: the server may work on them all the
// same. The zero value has none.
type lateCalls struct {
	callers map[durward.Caller]late
	ids     map[int64]durward.Caller // whose which is; one that has no room here goes by the time alone
}

// Late are the calls of one caller.
type late struct {
	calls int
	until time.Time
}

func (l *lateCalls) add(id int64, caller durward.Caller, now time.Time) {
	if l.callers == nil {
		l.callers, l.ids = make(map[durward.Caller]late), make(map[int64]durward.Caller)
	}
	l.callers[caller] = late{l.callers[caller].calls + 1, now.Add(lateTime)}
	if len(l.ids) < mostLate {
		l.ids[id] = caller
	}
}

// answered is for an answer to whatever has that id.
func (l *lateCalls) answered(id int64) {
	caller, ok := l.ids[id]
	if !ok {
		return
	}
	delete(l.ids, id)
	of := l.callers[caller]
	if of.calls--; of.calls > 0 {
		l.callers[caller] = of
	} else {
		delete(l.callers, caller)
	}
}

// expire forgets the callers whose time is over, and their calls.
func (l *lateCalls) expire(now time.Time) {
	for caller, of := range l.callers {
		if of.until.After(now) {
			continue
		}
		delete(l.callers, caller)
		maps.DeleteFunc(l.ids, func(_ int64, of durward.Caller) bool { return of == caller })
	}
}

// giveUp is forget for what the server may work on all the same.
func (c *conn) giveUp(id int64) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.drop(id)
	if q != nil && q.caller != nil {
		c.late.add(id, *q.caller, c.of.engine.options.clock.now())
	}
	return q
}

// callers lists those of the calls that the server may be working on.
func (c *conn) callers() (list []durward.Caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late.expire(c.of.engine.options.clock.now())
	for caller := range c.late.callers {
		list = append(list, caller)
	}
	for _, q := range c.asked {
		if q.caller != nil && !slices.Contains(list, *q.caller) {
			list = append(list, *q.caller)
		}
	}
	return list
}

// listener gives the one call that waits for its answer, if somebody hears what happens to it; nil
// where what the server says may be about somebody else's call.
func (c *conn) listener() (only *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.asked {
		switch {
		case q.caller == nil:
		case only != nil:
			return nil
		default:
			only = q
		}
	}
	if only == nil || !only.listens() {
		return nil
	}
	c.late.expire(c.of.engine.options.clock.now())
	for caller := range c.late.callers {
		if caller != *only.caller {
			return nil
		}
	}
	return only
}
