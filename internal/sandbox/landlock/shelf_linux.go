package landlock

import (
	"os"
	"slices"
	"sync"
)

// A Shelf keeps rulesets for calls that want the same again. The zero Shelf is ready to
// use; it may be used concurrently.
type Shelf struct {
	// Most is how many are kept, those that were wanted last. Zero means 64.
	Most int

	mu   sync.Mutex
	kept []shelved // guarded by mu; the one that was wanted last comes last
	shut bool      // guarded by mu
}

type shelved struct {
	key   string
	rules *Ruleset
}

const usuallyKept = 64

// Take gives a hold on a ruleset of the rules, for the files that have their names now.
// Whoever takes it closes it, and adds nothing to it.
func (s *Shelf) Take(r Rules) (*Ruleset, error) {
	r = r.normal()
	key := r.key()
	if found := s.find(key); found != nil {
		if found.Current() {
			return found, nil
		}
		found.Close()
	}
	made, err := New(r)
	if err != nil {
		return nil, err
	}
	if err := s.keep(key, made); err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

// find gives a hold, or nil.
func (s *Shelf) find(key string) *Ruleset {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.place(key)
	if i < 0 {
		return nil
	}
	item := s.kept[i]
	s.kept = append(slices.Delete(s.kept, i, i+1), item)
	hold, _ := item.rules.Share() // ours is open as long as it is kept
	return hold
}

// keep puts a hold of our own in the place of what had the key, if anything did.
func (s *Shelf) keep(key string, made *Ruleset) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return os.ErrClosed
	}
	hold, err := made.Share()
	if err != nil {
		return err
	}
	if i := s.place(key); i >= 0 {
		s.drop(i)
	}
	s.kept = append(s.kept, shelved{key, hold})
	for len(s.kept) > s.most() {
		s.drop(0)
	}
	return nil
}

func (s *Shelf) most() int {
	if s.Most > 0 {
		return s.Most
	}
	return usuallyKept
}

func (s *Shelf) place(key string) int {
	return slices.IndexFunc(s.kept, func(k shelved) bool { return k.key == key })
}

func (s *Shelf) drop(i int) {
	s.kept[i].rules.Close()
	s.kept = slices.Delete(s.kept, i, i+1)
}

// Close gives up all that is kept, and keeps nothing more: Take fails. It may be called
// again.
func (s *Shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	for len(s.kept) > 0 {
		s.drop(0)
	}
	return nil
}
