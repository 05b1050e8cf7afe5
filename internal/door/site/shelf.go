package site

import "sync"

// What is kept of files that have been read.
const (
	maxShelf      = 8 << 20
	maxShelfEntry = 64 << 10
	// shelfOverhead is what a reading takes beside its body and its key: its headers.
	shelfOverhead = 1 << 10
)

// A shelf keeps what was read of files whose keys tell when it has become old. It may
// be used from any goroutine.
type shelf struct {
	mu    sync.Mutex
	size  int                // guarded by mu; bytes of all entries
	byKey map[string]reading // guarded by mu
}

// take gives what is kept under a key.
func (s *shelf) take(key string) (reading, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, ok := s.byKey[key]
	return in, ok
}

// put keeps what was read. When there is no room all else goes. Bodies are not all that
// counts: links can give one empty page any number of long names.
func (s *shelf) put(key string, in reading) {
	size := shelfOverhead + len(key) + len(in.body)
	if size > maxShelfEntry {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += size; s.byKey == nil || s.size > maxShelf {
		s.byKey, s.size = map[string]reading{}, size
	}
	s.byKey[key] = in
}
