package mcpserve

import (
	"cmp"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcpspec"
)

// idleLimit is after how long without a request a session is over.
const idleLimit = time.Hour

// Sessions are all that are open. The zero value has none.
type sessions struct {
	most  int
	shelf shelf

	mu   sync.Mutex
	byID map[string]*session   // guarded by mu
	all  map[*session]struct{} // guarded by mu; those of byte streams, too
}

// begin makes a session, or gives nil where the caller has too many that are in use.
func (s *sessions) begin(caller durward.Caller) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.makeRoom(caller) {
		return nil
	}
	one := newSession(rand.Text(), caller)
	one.general.keeps = maxUnread
	one.streams.shelf = &s.shelf
	if s.byID == nil {
		s.byID = map[string]*session{}
	}
	s.byID[one.id] = one
	s.enlist(one)
	return one
}

// add takes in the session of a byte stream; remove takes it out.
func (s *sessions) add(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enlist(one)
}

// enlist keeps a session; s.mu is held.
func (s *sessions) enlist(one *session) {
	if s.all == nil {
		s.all = map[*session]struct{}{}
	}
	s.all[one] = struct{}{}
}

// makeRoom ends sessions that were idle for too long. Where there are too many all the same, the
// caller who would have the most of them loses the one that it did not use for the longest time. What
// is in use gives way only to somebody who has fewer; s.mu is held.
func (s *sessions) makeRoom(caller durward.Caller) bool {
	count := s.expire()
	if len(s.byID) < s.most {
		return true
	}
	count[caller]++
	var victim *session
	for _, one := range s.byID {
		if victim == nil || cmp.Or(count[one.caller]-count[victim.caller], own(one, caller)-own(victim, caller), cmp.Compare(one.idle(), victim.idle())) > 0 {
			victim = one
		}
	}
	if victim.caller == caller && victim.idle() == 0 {
		return false
	}
	s.drop(victim)
	return true
}

// own is 1 for a session of a caller, and 0 for all others.
func own(one *session, caller durward.Caller) int {
	if one.caller == caller {
		return 1
	}
	return 0
}

// expire ends sessions that were idle for too long, and counts those of each caller that are left;
// s.mu is held.
func (s *sessions) expire() map[durward.Caller]int {
	count := map[durward.Caller]int{}
	for _, one := range s.byID {
		if one.idle() > idleLimit {
			s.drop(one)
			continue
		}
		count[one.caller]++
	}
	return count
}

// drop ends a session; s.mu is held.
func (s *sessions) drop(one *session) {
	delete(s.byID, one.id)
	delete(s.all, one)
	one.end()
	one.streams.close()
}

// find gives the session of an id, which is in use until leave, or nil if it is not the caller's.
func (s *sessions) find(id string, caller durward.Caller) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byID[strings.TrimSpace(id)]
	if one == nil || one.caller != caller {
		return nil
	}
	one.use(1)
	return one
}

func (s *sessions) leave(one *session) { one.use(-1) }

// end ends a session.
func (s *sessions) end(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(one)
}

// each calls f with each session.
func (s *sessions) each(f func(*session)) {
	s.mu.Lock()
	all := make([]*session, 0, len(s.all))
	for one := range s.all {
		all = append(all, one)
	}
	s.mu.Unlock()
	for _, one := range all {
		f(one)
	}
}

// lowest is the least urgent level that a session wants.
func (s *sessions) lowest() mcpspec.Level {
	lowest := mcpspec.Silent
	s.each(func(one *session) { lowest = min(lowest, one.wanted()) })
	return lowest
}
