package mcpclient

import (
	"errors"
	"time"
)

// mark keeps in mind that a server has others of a kind.
func (p *run) mark(list ...kind) {
	for _, k := range list {
		p.stale.Or(1 << k)
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// followChanges lists anew what the server says is other than before, and all when it is time
// to, until the process ends.
func (p *run) followChanges() {
	p.setLevel(p.talk)
	p.resubscribe()
	for {
		var due <-chan time.Time
		stop := func() {}
		if wait := p.stalesAfter(); wait > 0 {
			due, stop = p.engine.options.clock.timer(wait)
		}
		select {
		case <-p.changed:
		case <-due:
			p.mark(tools, resources, templates, prompts)
			<-p.changed
		case <-p.talk.Done():
			stop()
			return
		}
		stop()
		p.relist()
		pause, stop := p.engine.options.clock.timer(listPause)
		select {
		case <-pause:
		case <-p.talk.Done():
		}
		stop()
	}
}

// stalesAfter is after how long all is listed anew though the server says nothing. Zero is never.
func (p *run) stalesAfter() time.Duration {
	wait := p.engine.options.Refresh
	for _, fresh := range p.fresh {
		if fresh > 0 && (wait == 0 || fresh < wait) {
			wait = fresh
		}
	}
	return wait
}

// relist asks for what has changed. What the server does not tell stays as it was.
func (p *run) relist() {
	stale, changed := p.stale.Swap(0), false
	for k := range kinds {
		if stale&(1<<k) == 0 || !p.has(kind(k)) {
			continue
		}
		items, err := p.list(p.talk, kind(k))
		switch {
		case err == nil:
			changed = p.exchange(kind(k), items) || changed
		case p.talk.Err() != nil || errors.Is(err, errGone):
			return // its end is told elsewhere
		default:
			p.log.Warn("an MCP server did not tell what it has", "error", err)
		}
	}
	if changed {
		p.engine.options.Changed(p.config.Name)
	}
}

// exchange puts a list in the place of the one before, and reports whether it did: not where that
// is the same, nor where there is another process.
func (p *run) exchange(k kind, items []Item) bool {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != p {
		return false
	}
	if s.offer.is(k, items) {
		return false
	}
	s.offer.set(k, items)
	return true
}
