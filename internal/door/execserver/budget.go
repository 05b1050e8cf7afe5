package execserver

import (
	"context"
	"sync"
)

// A budget is an amount that is taken and given back.
type budget struct {
	mu    sync.Mutex
	left  int           // guarded by mu
	more  chan struct{} // guarded by mu; closed and replaced when something is given back
	whole int
}

func newBudget(n int) budget { return budget{left: n, whole: n, more: make(chan struct{})} }

// take waits until there is enough, or all of it, which lets the largest pass.
func (b *budget) take(ctx context.Context, n int) bool {
	for {
		b.mu.Lock()
		if b.left >= n || b.left == b.whole {
			b.left -= n
			b.mu.Unlock()
			return true
		}
		more := b.more
		b.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// tryTake takes what is there at once.
func (b *budget) tryTake(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < n {
		return false
	}
	b.left -= n
	return true
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	close(b.more)
	b.more = make(chan struct{})
}
