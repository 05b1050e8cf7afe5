package mcpserve

import (
	"container/list"
	"sync"
)

// maxShelfBytes bounds what all sessions together keep of streams that are over: an answer may be
// large, and who came for it seldom says that it has it.
const maxShelfBytes = 64 << 20

// A shelf knows the streams that are over and kept, of all sessions. The zero value has none.
type shelf struct {
	mu    sync.Mutex
	bytes int       // guarded by mu
	order list.List // guarded by mu; of *place, the oldest first
}

// A place is that of one stream. Its bytes are 0 when it is there no more.
type place struct {
	of    *streams
	name  uint64
	bytes int
}

// put takes a stream in, and gives the places of those for which there is no room any more. The one
// that came last stays, however large it is.
func (s *shelf) put(p *place) (at *list.Element, gone []*place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = s.order.PushBack(p)
	for s.bytes += p.bytes; s.bytes > maxShelfBytes && s.order.Front() != at; {
		gone = append(gone, s.removed(s.order.Front()))
	}
	return at, gone
}

// remove gives up a place, if that was not done.
func (s *shelf) remove(at *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed(at)
}

// removed is remove; s.mu is held.
func (s *shelf) removed(at *list.Element) *place {
	p := at.Value.(*place)
	s.bytes -= p.bytes
	p.bytes = 0
	s.order.Remove(at)
	return p
}
