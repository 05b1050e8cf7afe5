package mcp

import (
	"slices"
	"sync"
)

// A budget is so many bytes, given out in parts: who asks first is served first. One part
// that is larger than all there is gets it all, alone. It is safe for concurrent use.
type budget struct {
	most int64

	mu      sync.Mutex
	used    int64   // guarded by mu
	waiting []*part // guarded by mu; in the order of asking
}

// A part of a budget. Nil is no part of any.
type part struct {
	of    *budget
	bytes int64
	given chan struct{} // closed, under of.mu, when the part is there
	freed bool          // guarded by of.mu
}

// ask asks for a part. It is there when given is closed; free takes the question back, too.
func (b *budget) ask(bytes int64) *part {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &part{of: b, bytes: min(bytes, b.most), given: there}
	if len(b.waiting) == 0 && b.used+p.bytes <= b.most {
		b.used += p.bytes
		return p
	}
	p.given = make(chan struct{})
	b.waiting = append(b.waiting, p)
	return p
}

// there is the channel of parts for which nobody had to wait.
var there = func() chan struct{} {
	given := make(chan struct{})
	close(given)
	return given
}()

// try gives a part that is there at once, or nil.
func (b *budget) try(bytes int64) *part {
	p := b.ask(bytes)
	if p.isThere() {
		return p
	}
	p.free()
	return nil
}

// give serves those who wait; b.mu is held.
func (b *budget) give() {
	for len(b.waiting) > 0 {
		p := b.waiting[0]
		if b.used+p.bytes > b.most {
			return
		}
		b.waiting = slices.Delete(b.waiting, 0, 1)
		b.used += p.bytes
		close(p.given)
	}
}

// weigh has a part that is there weigh so many bytes from now on. What is more than all there is
// has been taken already: others wait until it is freed.
func (p *part) weigh(bytes int64) {
	if p == nil {
		return
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.freed || !p.isThere() {
		return
	}
	p.of.used += bytes - p.bytes
	p.bytes = bytes
	p.of.give()
}

// isThere reports whether nobody waits for the part any more.
func (p *part) isThere() bool {
	select {
	case <-p.given:
		return true
	default:
		return false
	}
}

// free gives a part back, once.
func (p *part) free() {
	if p == nil {
		return
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.freed {
		return
	}
	p.freed = true
	if p.isThere() {
		p.of.used -= p.bytes
	} else {
		p.of.waiting = slices.DeleteFunc(p.of.waiting, func(other *part) bool { return other == p })
	}
	p.of.give()
}
