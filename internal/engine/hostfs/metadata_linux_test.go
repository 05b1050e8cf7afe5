package hostfs

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

func TestMetadata(t *testing.T) {
	s := newScene(t)
	s.put(t, "f", "12345")
	must(t, os.Symlink("f", s.path("lf")))
	must(t, os.Symlink("ws", s.path("ld")))
	must(t, os.Symlink("gone", s.path("lx")))
	must(t, unix.Mkfifo(s.path("fifo"), 0o600))
	changed := time.UnixMilli(1_700_000_000_123)
	must(t, os.Chtimes(s.path("f"), changed, changed))
	type answer struct {
		IsDirectory, IsFile, IsSymlink bool
		Size                           uint64
		CreatedAtMs, ModifiedAtMs      *int64
	}
	for path, want := range map[string]answer{
		"$/f":       {IsFile: true, Size: 5},
		"$/lf":      {IsFile: true, IsSymlink: true, Size: 5},
		"$/ws":      {IsDirectory: true},
		"$/ld":      {IsDirectory: true, IsSymlink: true},
		"$/fifo":    {},
		"/dev/null": {},
	} {
		result, err := s.do(t.Context(), "getMetadata", `{"path":"`+path+`"}`)
		must(t, err)
		var got answer
		must(t, json.Unmarshal(result.Output, &got))
		if got.CreatedAtMs == nil || got.ModifiedAtMs == nil || want.Size == 5 && *got.ModifiedAtMs != changed.UnixMilli() {
			t.Errorf("%s: %s", path, result.Output)
		}
		if got.CreatedAtMs, got.ModifiedAtMs = nil, nil; want.IsDirectory {
			got.Size = 0 // whatever a file system says
		}
		if got != want {
			t.Errorf("%s: %s", path, result.Output)
		}
	}
	s.run(t, []step{
		{method: "getMetadata", input: `{"path":"$/lx"}`, reason: durward.FileNotFound},
		{method: "getMetadata", input: `{"path":"$/f/x"}`, reason: durward.NotADirectory},
		{method: "canonicalize", input: `{"path":"file://$/ld/a.txt"}`, want: `{"path":"file://$/ws/a.txt"}`},
		{method: "canonicalize", input: `{"path":"$/lf"}`, want: `{"path":"$/f"}`},
		{method: "canonicalize", input: `{"path":"$/lx"}`, reason: durward.FileNotFound},
	})
	s.put(t, "a b.txt", "")
	s.run(t, []step{{method: "canonicalize", input: `{"path":"file://$/a b.txt"}`, want: `{"path":"file://$/a%20b.txt"}`}})
}

func TestListing(t *testing.T) {
	s := newScene(t)
	must(t, os.Symlink("gone", s.path("ws/lx")))
	must(t, os.WriteFile(s.path("ws")+"/\xff", nil, 0o600))
	result, err := s.do(t.Context(), "readDirectory", `{"path":"$/ws"}`)
	must(t, err)
	type entry struct {
		FileName            string
		IsDirectory, IsFile bool
	}
	var got struct{ Entries []entry }
	must(t, json.Unmarshal(result.Output, &got))
	for _, want := range []entry{
		{".git", true, false},
		{"a.txt", false, true},
		{"dirlink", true, false},
		{"filelink", false, true},
		{"\ufffd", false, true},
	} {
		if !slices.Contains(got.Entries, want) {
			t.Errorf("%v is missing in %s", want, result.Output)
		}
	}
	if len(got.Entries) != 5 {
		t.Errorf("%s", result.Output)
	}
	s.run(t, []step{
		{method: "readDirectory", input: `{"path":"$/ws/a.txt"}`, reason: durward.NotADirectory},
		{method: "readDirectory", input: `{"path":"$/ws/lx"}`, reason: durward.FileNotFound},
	})
}
