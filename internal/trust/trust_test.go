package trust_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward/internal/trust"
)

var when = time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder gives a folder by its physical path.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noError(t, err)
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	noError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	noError(t, os.WriteFile(file, []byte(text), 0o644))
}

func add(t *testing.T, s trust.Store, file string) trust.File {
	t.Helper()
	f, err := trust.Read(file)
	noError(t, err)
	noError(t, s.Add(f, when))
	return f
}

func stateOf(t *testing.T, s trust.Store, file string) trust.State {
	t.Helper()
	f, state, err := s.Read(file)
	noError(t, err)
	if (state == trust.Trusted) != (f.Path != "") {
		t.Errorf("a file that is %s comes with %q", state, f.Text)
	}
	return state
}

// Trust is lost with any edit, comes back with the very text, and does not go along to another place.
func TestTrustIsInAContentAtAPlace(t *testing.T) {
	dir := folder(t)
	s, file := trust.Store{Dir: filepath.Join(dir, "state", "trust")}, filepath.Join(dir, "p", "durward.yaml")
	write(t, file, "audit: {}\n")
	if got := stateOf(t, s, file); got != trust.Untrusted {
		t.Errorf("before: %s", got)
	}
	add(t, s, file)
	for _, test := range []struct {
		text string
		want trust.State
	}{
		{"audit: {}\n", trust.Trusted},
		{"audit: {}", trust.Changed},
		{"audit: {} \n", trust.Changed},
		{"", trust.Changed},
		{"audit: {}\n", trust.Trusted},
	} {
		write(t, file, test.text)
		if got := stateOf(t, s, file); got != test.want {
			t.Errorf("%q: %s, want %s", test.text, got, test.want)
		}
	}
	other := filepath.Join(dir, "q", "durward.yaml")
	write(t, other, "audit: {}\n")
	if got := stateOf(t, s, other); got != trust.Untrusted {
		t.Errorf("the same text elsewhere: %s", got)
	}
	entries, err := s.Entries()
	noError(t, err)
	if len(entries) != 1 || entries[0].Path != file || entries[0].At != when.Truncate(time.Second) || entries[0].State() != trust.Trusted {
		t.Errorf("the list: %+v", entries)
	}
	noError(t, os.Rename(filepath.Join(dir, "p"), filepath.Join(dir, "moved")))
	if got := entries[0].State(); got != trust.Missing {
		t.Errorf("after a move: %s", got)
	}
	if got := stateOf(t, s, filepath.Join(dir, "moved", "durward.yaml")); got != trust.Untrusted {
		t.Errorf("at the new place: %s", got)
	}
}

// A link leads to the file that was trusted, and stands for no other one.
func TestLinksAreFollowedToTheFile(t *testing.T) {
	dir := folder(t)
	s := trust.Store{Dir: filepath.Join(dir, "state")}
	file, other, link := filepath.Join(dir, "p", "a"), filepath.Join(dir, "q", "a"), filepath.Join(dir, "link")
	write(t, file, "one")
	write(t, other, "one")
	noError(t, os.Symlink("p", link))
	if f := add(t, s, filepath.Join(link, "a")); f.Path != file {
		t.Fatalf("it was trusted at %s", f.Path)
	}
	if got := stateOf(t, s, filepath.Join(link, "a")); got != trust.Trusted {
		t.Errorf("by the link: %s", got)
	}
	noError(t, os.Remove(link))
	noError(t, os.Symlink("q", link))
	if got := stateOf(t, s, filepath.Join(link, "a")); got != trust.Untrusted {
		t.Errorf("by a link that leads elsewhere now: %s", got)
	}
	entries, err := s.Entries()
	noError(t, err)
	noError(t, os.Remove(file))
	noError(t, os.Symlink(other, file))
	if got := entries[0].State(); got != trust.Missing {
		t.Errorf("with a link in its place: %s", got)
	}
}

// What is no regular file, or too long, is trusted by nobody.
func TestOnlyFilesAreRead(t *testing.T) {
	dir := folder(t)
	long := filepath.Join(dir, "long")
	write(t, long, strings.Repeat("x", 1<<20+1))
	for _, file := range []string{dir, long, filepath.Join(dir, "none"), os.DevNull} {
		if f, err := trust.Read(file); err == nil {
			t.Errorf("%s was read: %.20q", file, f.Text)
		}
	}
	s := trust.Store{Dir: filepath.Join(dir, "state")}
	if err := s.Add(trust.File{Path: "/\xff"}, when); err == nil {
		t.Error("a path that is no text was trusted")
	}
}

// Follow is for a file that is trusted at that moment, and for no other one.
func TestTrustFollowsWhoHadIt(t *testing.T) {
	dir := folder(t)
	s, file := trust.Store{Dir: filepath.Join(dir, "state")}, filepath.Join(dir, "f")
	write(t, file, "one")
	was, err := trust.Read(file)
	noError(t, err)
	write(t, file, "two")
	noError(t, s.Follow(was, []byte("two"), when))
	if got := stateOf(t, s, file); got != trust.Untrusted {
		t.Errorf("after an edit of what nobody trusts: %s", got)
	}
	noError(t, s.Add(was, when))
	noError(t, s.Follow(was, []byte("two"), when))
	if got := stateOf(t, s, file); got != trust.Trusted {
		t.Errorf("after an edit of what was trusted: %s", got)
	}
	noError(t, s.Follow(was, []byte("three"), when))
	if got := stateOf(t, s, file); got != trust.Trusted {
		t.Errorf("after an edit of what was trusted once: %s", got)
	}
}

func TestRemove(t *testing.T) {
	dir := folder(t)
	s := trust.Store{Dir: filepath.Join(dir, "state")}
	for _, name := range []string{"b", "a", "c"} {
		write(t, filepath.Join(dir, name), name)
		add(t, s, filepath.Join(dir, name))
	}
	for _, want := range []bool{true, false} {
		was, err := s.Remove(filepath.Join(dir, "b"))
		noError(t, err)
		if was != want {
			t.Errorf("it was there: %v, want %v", was, want)
		}
	}
	entries, err := s.Entries()
	noError(t, err)
	if len(entries) != 2 || entries[0].Path != filepath.Join(dir, "a") || entries[1].Path != filepath.Join(dir, "c") {
		t.Errorf("left are %+v", entries)
	}
}

// Of many who trust at once none is forgotten.
func TestManyAtOnce(t *testing.T) {
	dir := folder(t)
	s := trust.Store{Dir: filepath.Join(dir, "state")}
	var all sync.WaitGroup
	failed := make(chan error, 30)
	for i := range 30 {
		all.Go(func() { failed <- s.Add(trust.File{Path: fmt.Sprintf("/p/%02d", i)}, when) })
	}
	all.Wait()
	close(failed)
	for err := range failed {
		noError(t, err)
	}
	entries, err := s.Entries()
	noError(t, err)
	if len(entries) != 30 || !slices.IsSortedFunc(entries, func(a, b trust.Entry) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("%d are trusted: %+v", len(entries), entries)
	}
}

// A list that others can read or that is none trusts nothing, and says so; it is not replaced.
func TestAListThatIsNoneIsNotTakenForAnEmptyOne(t *testing.T) {
	const good = `{"files":[{"path":"/a","sha256":"","at":"2026-02-03T04:05:06Z"},{"path":"/b","sha256":"","at":"2026-02-03T04:05:06Z"}]}`
	for _, test := range []struct {
		name, text string
		mode       os.FileMode
		ok         bool
	}{
		{"a good one", good, 0o600, true},
		{"empty", "", 0o600, false},
		{"half of one", good[:40], 0o600, false},
		{"an unknown member", `{"file":[]}`, 0o600, false},
		{"out of order", strings.Replace(good, "/a", "/c", 1), 0o600, false},
		{"twice the same", strings.Replace(good, "/a", "/b", 1), 0o600, false},
		{"open to others", good, 0o644, runtime.GOOS == "windows"},
	} {
		s := trust.Store{Dir: folder(t)}
		file := filepath.Join(s.Dir, "trusted.json")
		write(t, file, test.text)
		noError(t, os.Chmod(file, test.mode))
		_, err := s.Entries()
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.ok {
			continue
		}
		for what, err := range map[string]error{
			"Add": s.Add(trust.File{Path: "/x"}, when), "Remove": errorOf(s.Remove("/x")), "State": errorOf(s.State(trust.File{Path: "/x"})),
		} {
			if err == nil {
				t.Errorf("%s: %s worked", test.name, what)
			}
		}
		if text, err := os.ReadFile(file); string(text) != test.text {
			t.Errorf("%s: it became %q, %v", test.name, text, err)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }
