package command

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Slots bound the commands that run at once. Of those that wait, the call that arrived
// first is served first.
type Slots struct {
	mu      sync.Mutex
	free    int64     // guarded by mu; zero while somebody waits
	waiting []*waiter // guarded by mu; in the order of their arrival
}

// A waiter has a slot once turn is closed.
type waiter struct {
	arrived time.Time
	turn    chan struct{}
}

// NewSlots gives n of them.
func NewSlots(n int64) *Slots { return &Slots{free: n} }

// take waits for a slot. Without an error it is the caller's until release.
func (s *Slots) take(ctx context.Context, arrived time.Time) error {
	w := s.join(arrived)
	if w == nil {
		return nil
	}
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	if !s.withdraw(w) {
		s.release() // the turn came at the same moment
	}
	return ctx.Err()
}

// join takes a free slot, or gives somebody who waits for one.
func (s *Slots) join(arrived time.Time) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free > 0 {
		s.free--
		return nil
	}
	w := &waiter{arrived, make(chan struct{})}
	i, _ := slices.BinarySearchFunc(s.waiting, w, func(other, w *waiter) int {
		if other.arrived.After(w.arrived) {
			return 1
		}
		return -1 // also who came in the same moment was here before
	})
	s.waiting = slices.Insert(s.waiting, i, w)
	return w
}

// withdraw ends the waiting, and reports whether it had not ended.
func (s *Slots) withdraw(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, w)
	if i < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return true
}

// release gives a slot to who waits for it.
func (s *Slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.free++
		return
	}
	close(s.waiting[0].turn)
	s.waiting = slices.Delete(s.waiting, 0, 1)
}
