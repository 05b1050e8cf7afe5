package mcpclient

import (
	"slices"

	"github.com/durward/durward"
)

// mostLate is how many of the calls that were given up are known by their ids.
const mostLate = 1024

// LateCalls are those that were given up and have no answer: the server may work on them all the
// same, for as long as it runs. The zero value has none.
type lateCalls struct {
	callers map[durward.Caller]int   // how many are whose
	ids     map[int64]durward.Caller // whose which is; one that has no room here is never answered
}

func (l *lateCalls) add(id int64, caller durward.Caller) {
	if l.callers == nil {
		l.callers, l.ids = make(map[durward.Caller]int), make(map[int64]durward.Caller)
	}
	l.callers[caller]++
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
	if l.callers[caller]--; l.callers[caller] == 0 {
		delete(l.callers, caller)
	}
}

// giveUp is forget for what the server may work on all the same.
func (c *conn) giveUp(id int64) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.drop(id)
	if q != nil && q.caller != nil {
		c.late.add(id, *q.caller)
	}
	return q
}

// callers lists those of the calls that what the server says may be about: of all that it may be
// working on, unless it says that in the answer to the question of an id, which may be over by now.
func (c *conn) callers(about int64) (list []durward.Caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, one := c.answering(about); one {
		late, isLate := c.late.ids[about]
		switch {
		case q != nil && q.caller != nil:
			list = append(list, *q.caller)
		case isLate:
			list = append(list, late)
		}
		return list
	}
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

// listener gives the call that what the server asks is about, if somebody hears what happens to it:
// the one of an id, in whose answer it asks, or else the only one that it may be working on. A call that was
// given up may be meant whoever made it, for callers who count as one need not be one.
func (c *conn) listener(about int64) *question {
	q := c.meant(about)
	if q == nil || !q.listens() {
		return nil
	}
	return q
}

// answering reports whether what the server says stands in the answer to one question, and gives that
// if it is open. What stands open for as long as the run is no answer to anything. It needs mu.
func (c *conn) answering(about int64) (q *question, one bool) {
	q = c.asked[about]
	return q, about != 0 && (q == nil || !q.stands)
}

func (c *conn) meant(about int64) (only *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, one := c.answering(about); one {
		if q == nil || q.caller == nil {
			return nil
		}
		return q
	}
	if len(c.late.callers) > 0 {
		return nil
	}
	for _, q := range c.asked {
		switch {
		case q.caller == nil:
		case only != nil:
			return nil
		default:
			only = q
		}
	}
	return only
}
