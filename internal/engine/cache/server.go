package cache

import (
	"bytes"
	"container/list"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
)

// entryBytes is what an entry takes beside its result, about.
const entryBytes = 256

// A server is what is kept of one.
type server struct {
	config   hubconfig.Cache
	now      func() time.Time
	maxBytes int64
	shared   *shelf            // of the tools that are not named; nil where none is kept
	own      map[string]*shelf // of those that are, by their names

	mu         sync.Mutex
	generation uint64          // guarded by mu; another one after each clear
	entries    map[key]*entry  // guarded by mu
	bytes      int64           // guarded by mu; that entries take
	uses       uint64          // guarded by mu; counts them
	flights    map[key]*flight // guarded by mu; what is being done and may be shared
}

// A shelf is where results with the same bounds are kept.
type shelf struct {
	hubconfig.Keep
	byUse list.List // of *entry, guarded by the server's mu; the last used first
}

// An entry is a result that is kept.
type entry struct {
	key    key
	result durward.Result
	until  time.Time
	used   uint64
	shelf  *shelf
	place  *list.Element
}

func (e *entry) size() int64 { return int64(len(e.result.Output)) + entryBytes }

func newServer(c hubconfig.Cache, o Options) *server {
	s := &server{config: c, now: o.Now, maxBytes: o.MaxBytes, own: map[string]*shelf{}, entries: map[key]*entry{}, flights: map[key]*flight{}}
	if c.TTL > 0 {
		s.shared = &shelf{Keep: c.Keep}
	}
	for name, keep := range c.Tools {
		s.own[name] = &shelf{Keep: keep}
	}
	return s
}

// shelfOf tells where the results of a tool are kept, nil for nowhere, and whether the
// configuration names it.
func (s *server) shelfOf(tool string, effect durward.Effect) (_ *shelf, named bool) {
	if own := s.own[tool]; own != nil {
		return own, true
	}
	if effect.ReadOnly && effect.Idempotent {
		return s.shared, false
	}
	return nil, false
}

// clear forgets everything. What is being done goes on for those who wait for it, and is not kept.
func (s *server) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	for _, e := range s.entries {
		s.drop(e)
	}
	clear(s.flights)
}

// find gives what is kept for a key. It needs mu.
func (s *server) find(k key) (durward.Result, bool) {
	e := s.entries[k]
	if e == nil {
		return durward.Result{}, false
	}
	if !s.now().Before(e.until) {
		s.drop(e)
		return durward.Result{}, false
	}
	s.uses++
	e.used = s.uses
	e.shelf.byUse.MoveToFront(e.place)
	return e.result, true
}

// keep keeps a result, and drops what was not used for the longest time where there is no room.
// It needs mu, and nothing is kept for the key.
func (s *server) keep(k key, on *shelf, r durward.Result) {
	e := &entry{key: k, until: s.now().Add(on.TTL), shelf: on}
	e.result = durward.Result{Output: bytes.Clone(r.Output)} // a part of it would hold the whole of what was read
	if e.size() > s.maxBytes {
		return
	}
	s.uses++
	e.used = s.uses
	e.place = on.byUse.PushFront(e)
	s.entries[k] = e
	s.bytes += e.size()
	for on.byUse.Len() > on.MaxEntries {
		s.drop(on.byUse.Back().Value.(*entry))
	}
	for s.bytes > s.maxBytes {
		s.drop(s.oldest())
	}
}

// oldest gives the entry that was not used for the longest time. It needs mu, and that there is
// one.
func (s *server) oldest() *entry {
	var oldest *entry
	look := func(at *shelf) {
		if at == nil || at.byUse.Len() == 0 {
			return
		}
		if e := at.byUse.Back().Value.(*entry); oldest == nil || e.used < oldest.used {
			oldest = e
		}
	}
	look(s.shared)
	for _, at := range s.own {
		look(at)
	}
	return oldest
}

// drop forgets an entry. It needs mu.
func (s *server) drop(e *entry) {
	delete(s.entries, e.key)
	e.shelf.byUse.Remove(e.place)
	s.bytes -= e.size()
}
