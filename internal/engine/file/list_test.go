//go:build linux || darwin

package file

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
)

func (s *shelf) list(t testing.TB, input string) (answer listAnswer, err error) {
	t.Helper()
	result, err := call(t, s.keeper, Spec{Guard: s.guard, Does: Lists}, free, input)
	if err == nil {
		must(t, json.Unmarshal(result.Output, &answer))
	}
	return answer, err
}

func TestList(t *testing.T) {
	s := newShelf(t)
	s.put(t, "b", "")
	s.put(t, "a\nb", "")
	must(t, os.Mkdir(filepath.Join(s.dir, "sub"), 0o755))
	must(t, os.Symlink("/etc", filepath.Join(s.dir, "out")))
	got, err := s.list(t, `{"path":"."}`)
	must(t, err)
	want := listAnswer{Entries: []Entry{{"a\nb", "file"}, {"b", "file"}, {"out", "link"}, {"sub", "directory"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err = s.list(t, `{"path":"sub"}`); err != nil || got.Entries == nil || len(got.Entries) != 0 {
		t.Errorf("an empty directory: %+v, %v", got, err)
	}
	for input, want := range map[string]durward.Reason{
		`{"path":"out"}`:         durward.OutsideRoot,
		`{"path":".."}`:          durward.OutsideRoot,
		`{"path":"/nowhere"}`:    durward.OutsideRoot,
		`{"path":"none"}`:        durward.FileNotFound,
		`{"path":"b"}`:           durward.NotADirectory,
		`{"path":""}`:            durward.EmptyPath,
		`{}`:                     durward.MissingField,
		`{"path":".","depth":2}`: durward.UnknownField,
		`{"path":["."]}`:         durward.WrongType,
	} {
		if got, err := s.list(t, input); durward.ReasonOf(err) != want {
			t.Errorf("%s: %+v, %v", input, got, err)
		}
	}
}

func TestAListIsBounded(t *testing.T) {
	s := newShelf(t)
	for i := range MaxEntries + 1 {
		s.put(t, fmt.Sprint(i), "")
	}
	if got, err := s.list(t, `{"path":"."}`); err != nil || len(got.Entries) != MaxEntries || !got.Truncated {
		t.Errorf("%d entries, %v, %v", len(got.Entries), got.Truncated, err)
	}
	must(t, os.Remove(filepath.Join(s.dir, "0")))
	if got, err := s.list(t, `{"path":"."}`); err != nil || len(got.Entries) != MaxEntries || got.Truncated {
		t.Errorf("%d entries, %v, %v", len(got.Entries), got.Truncated, err)
	}
}
