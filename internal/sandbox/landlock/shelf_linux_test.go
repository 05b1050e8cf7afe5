package landlock

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// The same rules for the same files are one ruleset; once a name leads to another file
// there is a new one, and the old one gives nothing of the new file.
func TestAShelfKeeps(t *testing.T) {
	w := newWorld(t)
	before := descriptors(t)
	t.Cleanup(func() { // after the holds are closed
		if after := descriptors(t); after != before {
			t.Errorf("%d descriptors, %d before", after, before)
		}
	})
	shelf := new(Shelf)
	defer shelf.Close()
	r := w.rules(t)
	first := takenFrom(t, shelf, r)
	if again := takenFrom(t, shelf, r); again.FD() != first.FD() {
		t.Error("the same rules are built twice")
	}
	less := Rules{Paths: r.Paths[1:]}
	if other := takenFrom(t, shelf, less); other.FD() == first.FD() {
		t.Error("other rules are the same ruleset")
	}
	must(t, os.Rename(w.Readable, w.Top+"/was"))
	must(t, os.Mkdir(w.Readable, 0o755))
	must(t, os.WriteFile(w.Readable+"/file", []byte(secret), 0o666))
	now := takenFrom(t, shelf, r)
	if now.FD() == first.FD() {
		t.Error("the ruleset is for another directory")
	}
	for rules, want := range map[*Ruleset]string{first: "EACCES", now: "ok"} {
		if got := w.attempt(t, rules, "read readable")["read readable"]; got != want {
			t.Errorf("the new directory: %s, want %s", got, want)
		}
	}
}

func takenFrom(t *testing.T, s *Shelf, r Rules) *Ruleset {
	t.Helper()
	rules, err := s.Take(r)
	must(t, err)
	t.Cleanup(func() { rules.Close() })
	return rules
}

// Order and repetition of rules mean nothing; each other difference does.
func TestKeys(t *testing.T) {
	a, b := Rule{Path: "/a", Rights: Read}, Rule{Path: "/b", Rights: Write}
	same := []Rules{{Paths: []Rule{a, b}}, {Paths: []Rule{b, a}}, {Paths: []Rule{a, b, a}}}
	others := []Rules{
		{},
		{Paths: []Rule{a}},
		{Paths: []Rule{a, {Path: "/b", Rights: Read}}},
		{Paths: []Rule{a, {Path: "/b", Rights: Write, Optional: true}}},
		{Paths: []Rule{a, b}, Network: true},
		{Paths: []Rule{a, b}, FilesOnly: true},
		{Paths: []Rule{{Path: "/a/b", Rights: Read}}},
	}
	key := same[0].normal().key()
	for _, r := range same {
		if r.normal().key() != key {
			t.Errorf("%v has another key", r)
		}
	}
	seen := map[string]Rules{key: same[0]}
	for _, r := range others {
		k := r.normal().key()
		if other, ok := seen[k]; ok {
			t.Errorf("%v and %v have one key", r, other)
		}
		seen[k] = r
	}
}

// A hold outlives what the shelf gave up; the shelf itself keeps no more than it may.
func TestAShelfIsBounded(t *testing.T) {
	before := descriptors(t)
	shelf := &Shelf{Most: 2}
	var holds []*Ruleset
	dir := t.TempDir()
	for i := range 5 {
		path := filepath.Join(dir, strconv.Itoa(i))
		must(t, os.Mkdir(path, 0o700))
		rules, err := shelf.Take(Rules{Paths: []Rule{{Path: path, Rights: Read}}})
		must(t, err)
		holds = append(holds, rules)
	}
	for _, rules := range holds {
		if _, err := unix.FcntlInt(uintptr(rules.FD()), unix.F_GETFD, 0); err != nil {
			t.Errorf("a hold: %v", err)
		}
		must(t, rules.Close())
	}
	if after := descriptors(t); after != before+3 { // the table of mounts is one
		t.Errorf("%d descriptors, %d before", after, before)
	}
	must(t, shelf.Close())
	must(t, shelf.Close())
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors at the end, %d before", after, before)
	}
	if _, err := shelf.Take(Rules{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed shelf: %v", err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors after the end, %d before", after, before)
	}
}

func TestAShelfForMany(t *testing.T) {
	before := descriptors(t)
	shelf := &Shelf{Most: 2}
	dir := t.TempDir()
	rules := make([]Rules, 4)
	for i := range rules {
		path := filepath.Join(dir, strconv.Itoa(i))
		must(t, os.Mkdir(path, 0o700))
		rules[i] = Rules{Paths: []Rule{{Path: path, Rights: Read}}}
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				r, err := shelf.Take(rules[(i+j)%len(rules)])
				if err != nil {
					t.Error(err)
					return
				}
				if !r.Current() || r.made.given[0].path != rules[(i+j)%len(rules)].Paths[0].Path {
					t.Error("another ruleset than was asked for")
				}
				r.Close()
			}
		})
	}
	all.Wait()
	must(t, shelf.Close())
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
