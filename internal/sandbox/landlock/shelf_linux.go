package landlock

import (
	"os"
	"slices"
	"sync"

	"github.com/durward/durward/internal/fsroot"
)

// A Shelf keeps rulesets for calls that want the same again. The zero Shelf is ready to
// use; it may be used concurrently.
type Shelf struct {
	// Most is how many are kept, those that were wanted last. Zero means 64.
	Most int

	mounts fsroot.MountTable

	mu   sync.Mutex
	kept []shelved // guarded by mu; the one that was wanted last comes last
	shut bool      // guarded by mu
}

// A ruleset loses its rules for a file system when that is unmounted, even if it is mounted
// again: one is kept no longer than the mounts are what they were.
type shelved struct {
	key    string
	rules  *Ruleset
	mounts uint64 // the version that they were made under
}

const usuallyKept = 64

// Take gives a hold on a ruleset of the rules, for the files that have their names now.
// Whoever takes it closes it, and adds nothing to it.
func (s *Shelf) Take(r Rules) (*Ruleset, error) {
	r = r.normal()
	key, mounts := r.key(), s.mounts.Version()
	if found := s.find(key, mounts); found != nil {
		if found.Current() {
			return found, nil
		}
		found.Close()
	}
	made, err := New(r)
	if err != nil {
		return nil, err
	}
	if err := s.keep(key, made, mounts); err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

// find gives a hold, or nil.
func (s *Shelf) find(key string, mounts uint64) *Ruleset {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.place(key)
	if i < 0 || s.kept[i].mounts != mounts {
		return nil
	}
	item := s.kept[i]
	s.kept = append(slices.Delete(s.kept, i, i+1), item)
	hold, _ := item.rules.Share() // ours is open as long as it is kept
	return hold
}

// keep puts a hold of our own in the place of what had the key, if anything did.
func (s *Shelf) keep(key string, made *Ruleset, mounts uint64) error {
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
	s.kept = append(s.kept, shelved{key, hold, mounts})
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
	s.mounts.Close()
	return nil
}
