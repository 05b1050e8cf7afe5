package command

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Slots bound the commands that run at once. They go to those who were expected, in the order
// of that; and of others that wait, the call that arrived first is served first.
type Slots struct {
	mu      sync.Mutex
	size    int64     // guarded by mu
	free    int64     // guarded by mu; negative while more run than there are slots now
	waiting []*waiter // guarded by mu; the next one first; none could have a slot now
}

// A waiter has a slot once turn is closed.
type waiter struct {
	arrived time.Time
	here    bool // guarded by mu of the slots; false while somebody is only expected
	turn    chan struct{}
}

func newWaiter(arrived time.Time) *waiter {
	return &waiter{arrived: arrived, turn: make(chan struct{})}
}

// NewSlots gives n of them.
func NewSlots(n int64) *Slots { return &Slots{size: n, free: n} }

// Resize has n of them from now on. Commands that run keep theirs.
func (s *Slots) Resize(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size, s.free = n, s.free+n-s.size
	s.give()
}

// Expect keeps a place for a call that arrived then: until it takes its slot, or forget is called
// because it is over, none that is expected later gets one.
func (s *Slots) Expect(arrived time.Time) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := newWaiter(arrived)
	s.waiting = append(s.waiting, w)
	return func() { s.withdraw(w) }
}

// take waits for a slot. Without an error it is the caller's until release.
func (s *Slots) take(ctx context.Context, arrived time.Time) error {
	w := s.join(arrived)
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	if s.withdraw(w) {
		return ctx.Err()
	}
	return nil // the turn came at the same moment
}

// join has a call wait in the place that was kept for it, or else in that of its arrival.
func (s *Slots) join(arrived time.Time) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.expected(arrived)
	w.here = true
	s.give()
	return w
}

// expected gives who is expected since then, or puts him where he belongs by that. The caller
// holds mu.
func (s *Slots) expected(arrived time.Time) *waiter {
	i := slices.IndexFunc(s.waiting, func(w *waiter) bool { return !w.here && w.arrived.Equal(arrived) })
	if i >= 0 {
		return s.waiting[i]
	}
	w := newWaiter(arrived)
	i, _ = slices.BinarySearchFunc(s.waiting, w, func(other, w *waiter) int {
		if other.arrived.After(w.arrived) {
			return 1
		}
		return -1 // also who came in the same moment was here before
	})
	s.waiting = slices.Insert(s.waiting, i, w)
	return w
}

// give gives what is free to the first in line, up to one who is still expected. The caller
// holds mu.
func (s *Slots) give() {
	for s.free > 0 && len(s.waiting) > 0 && s.waiting[0].here {
		s.free--
		close(s.waiting[0].turn)
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
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
	s.give()
	return true
}

// release gives a slot to who waits for it.
func (s *Slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.give()
}
