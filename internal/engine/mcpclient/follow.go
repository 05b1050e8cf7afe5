package mcpclient

import (
	"context"
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

// followChanges lists anew what the server says is other than before, and what is old by now, until
// the process ends.
func (p *run) followChanges() {
	p.setLevel(p.talk)
	p.resubscribe()
	for {
		var due <-chan time.Time
		stop := func() {}
		wait, old := p.stalesNext()
		if len(old) > 0 {
			due, stop = p.engine.options.clock.timer(wait)
		}
		select {
		case <-p.changed:
		case <-due:
			p.mark(old...)
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

// stalesNext gives what is listed anew next though the server says nothing, and after how long: all
// that is old by then, or nearly so. There may be nothing.
func (p *run) stalesNext() (wait time.Duration, old []kind) {
	now := p.engine.options.clock.now()
	for k := range kinds {
		after := p.stalesAfter(kind(k))
		if after == 0 || !p.has(kind(k)) {
			continue
		}
		left := max(p.listed[k].Add(after).Sub(now), listPause)
		switch {
		case len(old) == 0 || left < wait-listPause:
			wait, old = left, []kind{kind(k)}
		case left <= wait+listPause:
			wait, old = min(wait, left), append(old, kind(k))
		}
	}
	return wait, old
}

// stalesAfter is for how long a list is good. Zero is for ever.
func (p *run) stalesAfter(k kind) time.Duration {
	every, fresh := p.engine.options.Refresh, p.fresh[k]
	if every == 0 || fresh > 0 && fresh < every {
		return fresh
	}
	return every
}

// relist asks for what has changed. What the server does not tell stays as it was. What it did not tell
// before comes last, and nothing that changes meanwhile waits for that.
func (p *run) relist() {
	stale := p.stale.Swap(0)
	var these, untold [len(kinds)]bool
	for k := range kinds {
		asked := stale&(1<<k) != 0
		these[k], untold[k] = asked && !p.untold[k], asked && p.untold[k]
	}
	p.relistThese(p.talk, these)
	ctx, over := p.untilMarked()
	defer over()
	p.relistThese(ctx, untold)
}

func (p *run) relistThese(ctx context.Context, these [len(kinds)]bool) {
	lists := p.listThese(ctx, these, func(k kind, items []Item) {
		if p.exchange(k, items) {
			p.engine.options.Changed(p.config.Name)
		}
	})
	for k, l := range lists {
		if l.asked {
			p.untold[k] = l.err != nil
		}
		if l.err == nil || p.talk.Err() != nil || errors.Is(l.err, errGone) {
			continue // its end is told elsewhere
		}
		p.stale.Or(1 << k) // it is asked again when it has something else to tell, or is asked anyway
		p.log.Warn("an MCP server did not tell what it has", "list", kinds[k].method, "error", l.err)
	}
}

// untilMarked gives a context that ends when there is something else to ask for.
func (p *run) untilMarked() (_ context.Context, over func()) {
	ctx, cancel := context.WithCancelCause(p.talk)
	go func() {
		select {
		case <-p.changed:
			cancel(errors.New("it has something else to tell"))
			signal(p.changed)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
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
