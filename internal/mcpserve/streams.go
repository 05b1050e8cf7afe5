package mcpserve

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// maxFinished and maxFinishedBytes bound the streams that are over and kept, for a client that
	// comes back for what it missed.
	maxFinished      = 16
	maxFinishedBytes = 4 << 20
)

// Streams are those of a session that a client can take up again, by their names from 1. The zero
// value has none.
type streams struct {
	mu     sync.Mutex
	last   uint64             // guarded by mu
	byName map[uint64]*stream // guarded by mu
	over   []uint64           // guarded by mu; the oldest first
}

// add gives a stream a name. It may have ended already.
func (s *streams) add(one *stream) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = map[uint64]*stream{}
	}
	s.last++
	one.name = s.last
	s.byName[one.name] = one
	if one.hasEnded() {
		s.keep(one)
	}
	return one.name
}

func (s *streams) find(name uint64) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// finished keeps a stream that has ended for a while, if it has a name.
func (s *streams) finished(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.name != 0 && !slices.Contains(s.over, one.name) {
		s.keep(one)
	}
}

// keep makes room for a stream that has ended; s.mu is held.
func (s *streams) keep(one *stream) {
	s.over = append(s.over, one.name)
	size := 0
	for _, name := range s.over {
		size += s.byName[name].size()
	}
	for len(s.over) > maxFinished || len(s.over) > 1 && size > maxFinishedBytes {
		size -= s.byName[s.over[0]].size()
		delete(s.byName, s.over[0])
		s.over = s.over[1:]
	}
}

// resume finds the stream of an event, and the number of that.
func (s *session) resume(id string) (one *stream, name, after uint64, ok bool) {
	before, behind, _ := strings.Cut(id, "-")
	name, err := strconv.ParseUint(before, 10, 64)
	if err != nil {
		return nil, 0, 0, false
	}
	if after, err = strconv.ParseUint(behind, 10, 64); err != nil {
		return nil, 0, 0, false
	}
	if one = s.general; name != 0 {
		one = s.streams.find(name)
	}
	return one, name, after, one != nil
}
