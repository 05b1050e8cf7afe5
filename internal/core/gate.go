package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

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

// enter waits for a slot until ctx ends, or for that long, if it is not zero. A nil error
// gives the slot to the caller, who calls leave when the call is over.
func (g *gate) enter(ctx context.Context, t durward.Tool, most time.Duration) error {
	if err := ctx.Err(); err != nil {
		return waitError(ctx)
	}
	w, err := g.join(t)
	if w == nil || err != nil {
		return err
	}
	wait, cancel := within(ctx, most)
	defer cancel()
	select {
	case <-w.admitted:
	case <-wait.Done():
		if blocked, was := g.withdraw(w); was {
			return g.late(ctx, blocked, most)
		}
	}
	if ctx.Err() != nil { // the slot came at the same moment as the end
		g.leave(w.tool)
		return waitError(ctx)
	}
	return nil
}

// within bounds ctx, unless the time is zero. Most calls find room, and then nobody waits for the
// context that it gives.
func within(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(most)
	if before, ok := ctx.Deadline(); most == 0 || ok && before.Before(end) {
		return ctx, func() {}
	}
	bounded := &lazyContext{Context: ctx, deadline: end}
	return bounded, bounded.stop
}

// late is the error of a call that waited too long.
func (g *gate) late(ctx context.Context, by scope, most time.Duration) error {
	if most == 0 || errors.Is(ctx.Err(), context.Canceled) {
		return waitError(ctx)
	}
	return by.refusal(durward.QueueTimeout, "the call waited for a slot until its time for that was up")
}

// join gives who has to wait, or nil where the slot is there: those who wait already can have
// none.
func (g *gate) join(t durward.Tool) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.take(t.ID, t.Concurrent) {
		return nil, nil
	}
	w := &waiter{tool: t.ID, limit: t.Concurrent, admitted: make(chan struct{})}
	if len(g.waiting) >= g.queue {
		return nil, g.scope(w).refusal(durward.QueueFull, fmt.Sprintf("%d calls run and %d wait", g.running, len(g.waiting)))
	}
	g.waiting = append(g.waiting, w)
	return w, nil
}

// take takes a slot for a tool, if it may have one. The caller holds mu.
func (g *gate) take(tool durward.ToolID, limit int) bool {
	if g.running >= g.slots || (limit > 0 && g.perTool[tool] >= limit) {
		return false
	}
	g.running++
	g.perTool[tool]++
	return true
}

// A scope is the limit that a call waits for: that of its tool, or that of all.
type scope struct {
	of    string
	limit int
}

// scope tells what keeps w from running. The caller holds mu.
func (g *gate) scope(w *waiter) scope {
	if w.limit > 0 && g.perTool[w.tool] >= w.limit {
		return scope{"tool", w.limit}
	}
	return scope{"global", g.slots}
}

func (s scope) refusal(reason durward.Reason, why string) error {
	return &durward.Error{
		Reason: reason, Op: "admit", Retry: true, Hint: "try again later",
		Err: durward.Detail{Limit: int64(s.limit), Members: map[string]any{"scope": s.of, "limit": s.limit}, Err: errors.New(why)},
	}
}

// admit gives free slots to the first waiters that may have one.
func (g *gate) admit() {
	g.waiting = slices.DeleteFunc(g.waiting, func(w *waiter) bool {
		if !g.take(w.tool, w.limit) {
			return false
		}
		close(w.admitted)
		return true
	})
}

// withdraw takes a waiter out of the queue and reports whether it was still in it, and what
// for.
func (g *gate) withdraw(w *waiter) (blocked scope, was bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, w)
	if i < 0 {
		return scope{}, false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return g.scope(w), true
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
