package mcpserve

import (
	"container/list"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// maxFinished and maxFinishedBytes bound the streams of a session that are over and kept, for a
	// client that comes back for what it missed.
	maxFinished      = 16
	maxFinishedBytes = 4 << 20
)

// Streams are those of a session that a client can take up again, by their names from 1.
type streams struct {
	shelf *shelf

	mu     sync.Mutex
	last   uint64             // guarded by mu
	byName map[uint64]*stream // guarded by mu
	over   []over             // guarded by mu; the oldest first
	closed bool               // guarded by mu; nothing is kept any more
}

// An over is a stream that is over.
type over struct {
	name  uint64
	bytes int
	at    *list.Element // of the shelf
}

// add gives a stream a name. It may have ended already.
func (s *streams) add(one *stream) uint64 {
	s.mu.Lock()
	if s.byName == nil {
		s.byName = map[uint64]*stream{}
	}
	s.last++
	name := s.last
	one.name = name
	s.byName[name] = one
	s.mu.Unlock()
	if one.hasEnded() {
		s.finished(one)
	}
	return name
}

func (s *streams) find(name uint64) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// finished keeps a stream that has ended for a while, if it has a name. Others make room for it, of
// this session and of all.
func (s *streams) finished(one *stream) {
	for _, p := range s.keep(one) {
		p.of.forget(p.name)
	}
}

// keep makes room in this session, and gives what has to go from others.
func (s *streams) keep(one *stream) (gone []*place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.name == 0 || s.closed || slices.ContainsFunc(s.over, func(o over) bool { return o.name == one.name }) {
		return nil
	}
	o := over{name: one.name, bytes: one.size()}
	o.at, gone = s.shelf.put(&place{s, o.name, o.bytes})
	s.over = append(s.over, o)
	size := 0
	for _, o := range s.over {
		size += o.bytes
	}
	for len(s.over) > maxFinished || len(s.over) > 1 && size > maxFinishedBytes {
		oldest := s.over[0]
		size -= oldest.bytes
		s.drop(oldest)
		s.over = s.over[1:]
	}
	return gone
}

// drop lets go of a stream; s.mu is held.
func (s *streams) drop(o over) {
	delete(s.byName, o.name)
	s.shelf.remove(o.at)
}

// forget lets go of a stream that has lost its place.
func (s *streams) forget(name uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
	s.over = slices.DeleteFunc(s.over, func(o over) bool { return o.name == name })
}

// close lets go of all streams that are over, and keeps none any more.
func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.over {
		s.drop(o)
	}
	s.over, s.closed = nil, true
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
