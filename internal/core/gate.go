package core

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/durward/durward"
)

// A gate admits calls: so many at once, so many of one tool, and the rest in a queue,
// first come first served. A call that waits for its tool does not hold up one behind
// it that waits for another.
type gate struct {
	slots, queue int

	mu      sync.Mutex
	running int                    // guarded by mu
	perTool map[durward.ToolID]int // guarded by mu; running calls of a tool
	waiting []*waiter              // guarded by mu; in order of arrival
}

type waiter struct {
	tool     durward.ToolID
	limit    int
	admitted chan struct{} // closed, under mu, when the slot is the waiter's
}

func newGate(slots, queue int) *gate {
	return &gate{slots: slots, queue: queue, perTool: make(map[durward.ToolID]int)}
}

// enter waits for a slot until ctx ends. A nil error gives the slot to the caller,
// who calls leave when the call is over.
func (g *gate) enter(ctx context.Context, t durward.Tool) error {
	if err := ctx.Err(); err != nil {
		return waitError(ctx)
	}
	w, err := g.join(t)
	if err != nil {
		return err
	}
	select {
	case <-w.admitted:
	case <-ctx.Done():
		if g.withdraw(w) {
			return waitError(ctx)
		}
	}
	if ctx.Err() != nil { // the slot came at the same moment as the end
		g.leave(w.tool)
		return waitError(ctx)
	}
	return nil
}

func (g *gate) join(t durward.Tool) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &waiter{tool: t.ID, limit: t.Concurrent, admitted: make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.admit()
	if len(g.waiting) > g.queue {
		g.waiting = g.waiting[:len(g.waiting)-1]
		return nil, &durward.Error{
			Reason: durward.QueueFull, Op: "admit", Retry: true, Hint: "try again later",
			Err: fmt.Errorf("%d calls run and %d wait", g.running, len(g.waiting)),
		}
	}
	return w, nil
}

// admit gives free slots to the first waiters that may have one.
func (g *gate) admit() {
	g.waiting = slices.DeleteFunc(g.waiting, func(w *waiter) bool {
		if g.running >= g.slots || (w.limit > 0 && g.perTool[w.tool] >= w.limit) {
			return false
		}
		g.running++
		g.perTool[w.tool]++
		close(w.admitted)
		return true
	})
}

// withdraw takes a waiter out of the queue and reports whether it was still in it.
func (g *gate) withdraw(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, w)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

func (g *gate) leave(tool durward.ToolID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.perTool[tool]--; g.perTool[tool] == 0 {
		delete(g.perTool, tool)
	}
	g.admit()
}

func waitError(ctx context.Context) error {
	return endError(ctx, "admit", "the call waited for a slot until its time was up")
}
