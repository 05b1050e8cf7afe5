package mcpclient

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// mostWaiting bounds the calls that wait for one server.
const mostWaiting = 1024

// errCrowd is for who comes when so many wait.
var errCrowd = errors.New("too many wait")

// Slots let so many in at once, the others in the order in which they came.
type slots struct {
	mu      sync.Mutex
	free    int             // guarded by mu
	waiting []chan struct{} // guarded by mu; each gets one element when it has a slot
}

// take waits for a slot, unless so many do already. Without an error it is the caller's until give.
func (s *slots) take(ctx context.Context, most int) error {
	turn, err := s.enter(most)
	if turn == nil {
		return err
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if s.withdraw(turn) {
		return ctx.Err()
	}
	<-turn // it had come meanwhile
	s.give()
	return ctx.Err()
}

// enter gives nil to who has a slot, and else where to wait for it.
func (s *slots) enter(most int) (turn chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.free > 0:
		s.free--
		return nil, nil
	case len(s.waiting) >= most:
		return nil, errCrowd
	}
	turn = make(chan struct{}, 1)
	s.waiting = append(s.waiting, turn)
	return turn, nil
}

func (s *slots) withdraw(turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.waiting, turn)
	if at < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, at, at+1)
	return true
}

func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.free++
		return
	}
	s.waiting[0] <- struct{}{}
	s.waiting = slices.Delete(s.waiting, 0, 1)
}
