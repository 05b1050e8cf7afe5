package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/durward/durward/internal/config/replace"
	"github.com/durward/durward/internal/dirlock"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/smallfile"
)

// A Store is the folder that the list is kept in. It is safe for concurrent use, also by
// several programs.
type Store struct{ Dir string }

const (
	listName = "trusted.json"
	// maxBytes is room for some ten thousand files.
	maxBytes = 4 << 20
	// lockTime bounds the wait for another change, which takes as long as a disk.
	lockTime = 5 * time.Second
)

// list is the file as it is kept.
type list struct {
	Files []Entry `json:"files"`
}

// Entries lists what was trusted, by path.
func (s Store) Entries() ([]Entry, error) {
	entries, _, err := s.read()
	return entries, err
}

// State says how a file that was read is beside what was trusted: Trusted, Changed or Untrusted.
func (s Store) State(f File) (State, error) {
	entries, err := s.Entries()
	if err != nil {
		return Untrusted, err
	}
	return stateOf(entries, f), nil
}

func stateOf(entries []Entry, f File) State {
	at, known := find(entries, f.Path)
	switch {
	case !known:
		return Untrusted
	case entries[at].SHA256 != f.SHA256():
		return Changed
	}
	return Trusted
}

// Read reads a file if something was trusted at its place; any other is not even opened. Only a
// Trusted one comes with its text.
func (s Store) Read(path string) (File, State, error) {
	entries, err := s.Entries()
	if err != nil {
		return File{}, Untrusted, err
	}
	physical, err := smallfile.Physical(path)
	if err != nil {
		return File{}, Untrusted, nil // nothing that is there was trusted
	}
	if _, known := find(entries, physical); !known {
		return File{}, Untrusted, nil
	}
	f, err := Read(path)
	if err != nil {
		return File{}, Changed, nil
	}
	if state := stateOf(entries, f); state != Trusted { // perhaps moved at this moment
		return File{}, state, nil
	}
	return f, Trusted, nil
}

// Add trusts a file as it was read, in place of what was trusted there before.
func (s Store) Add(f File, at time.Time) error {
	if !utf8.ValidString(f.Path) {
		return fmt.Errorf("the path %q is no text, and could not be told from others", f.Path)
	}
	return s.change(func(entries []Entry) []Entry { return put(entries, f, at) })
}

// Follow trusts what has taken the place of a file at the hand of who trusted it. It does nothing
// where that file is not trusted any more.
func (s Store) Follow(was File, text []byte, at time.Time) error {
	return s.change(func(entries []Entry) []Entry {
		if i, known := find(entries, was.Path); !known || entries[i].SHA256 != was.SHA256() {
			return entries
		}
		return put(entries, File{Path: was.Path, Text: text}, at)
	})
}

// Remove ends the trust in what is at a physical path, and reports whether there was any.
func (s Store) Remove(path string) (was bool, err error) {
	err = s.change(func(entries []Entry) []Entry {
		at, known := find(entries, path)
		if was = known; !known {
			return entries
		}
		return slices.Delete(slices.Clone(entries), at, at+1)
	})
	return was, err
}

func put(entries []Entry, f File, at time.Time) []Entry {
	entry := Entry{Path: f.Path, SHA256: f.SHA256(), At: at.UTC().Truncate(time.Second)}
	i, known := find(entries, f.Path)
	entries = slices.Clone(entries)
	if known {
		entries[i] = entry
		return entries
	}
	return slices.Insert(entries, i, entry)
}

// find gives the place of a path, or where it belongs.
func find(entries []Entry, path string) (at int, known bool) {
	return slices.BinarySearchFunc(entries, path, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
}

// read gives the list, and the text that it is. A list that nobody has made is empty.
func (s Store) read() (entries []Entry, text []byte, err error) {
	file := filepath.Join(s.Dir, listName)
	text, err = smallfile.Read(file, maxBytes, smallfile.OwnerOnly(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var l list
	if err == nil {
		err = jsonx.Decode(text, &l, jsonx.Options{Limits: jsonx.Limits{Bytes: maxBytes}})
	}
	for i := 1; err == nil && i < len(l.Files); i++ {
		if l.Files[i-1].Path >= l.Files[i].Path {
			err = errors.New("its paths are not in order")
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the list of trusted files %s: %w", file, err)
	}
	return l.Files, text, nil
}

// change puts another list in the place of the one there is. Of changes at once one after the
// other is made.
func (s Store) change(edit func([]Entry) []Entry) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	lock, err := dirlock.Await(s.Dir, lockTime)
	if err != nil {
		return err
	}
	defer lock.Close()
	was, text, err := s.read()
	if err != nil {
		return err
	}
	now := edit(was)
	if slices.Equal(was, now) {
		return nil
	}
	next, err := json.MarshalIndent(list{now}, "", "  ")
	if err != nil {
		return err
	}
	file, next := filepath.Join(s.Dir, listName), append(next, '\n')
	if len(next) > maxBytes {
		return fmt.Errorf("the list of trusted files %s is full; see durward trust list, and remove what is missing", file)
	}
	if text == nil {
		return replace.First(file, next)
	}
	return replace.File(file, text, next)
}
