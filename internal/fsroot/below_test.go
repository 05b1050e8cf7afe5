//go:build linux || darwin

package fsroot

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBelow(t *testing.T) {
	for _, tt := range []struct {
		dir, path, rel string
		ok             bool
	}{
		{"/a", "/a", ".", true},
		{"/a", "/a/", ".", true},
		{"/a", "/a/b", "b", true},
		{"/a", "/a/b/c", "b/c", true},
		{"/a/", "/a/b", "b", true},
		{"/a", "//a//b/.", "b", true},
		{"/a", "/a/b/../c", "c", true},
		{"/a", "/b/../a/c", "c", true},
		{"/", "/", ".", true},
		{"/", "/a/b", "a/b", true},
		{"/", "/../a", "a", true},
		{"/a", "/a/..b", "..b", true},
		{"/a", "/a/...", "...", true},
		{"/a", "/a/b\\..\\..\n", "b\\..\\..\n", true},

		{"/a", "/", "", false},
		{"/a", "/b", "", false},
		{"/a", "/ab", "", false},
		{"/a", "/a-old/b", "", false},
		{"/a/b", "/a", "", false},
		{"/a/b", "/a/c", "", false},
		{"/a", "/a/..", "", false},
		{"/a", "/a/../b", "", false},
		{"/a", "/A/b", "", false},

		{"", "", "", false},
		{"", "/a", "", false},
		{"", "a", "", false},
		{".", "a", "", false},
		{"a", "a/b", "", false},
		{"/a", "", "", false},
		{"/a", "b", "", false},
		{"/a", "a/b", "", false},
		{"/", "a", "", false},
	} {
		if rel, ok := Below(tt.dir, tt.path); rel != tt.rel || ok != tt.ok {
			t.Errorf("Below(%q, %q) = %q, %v; want %q, %v", tt.dir, tt.path, rel, ok, tt.rel, tt.ok)
		}
		plain := func(path string) bool { return filepath.IsAbs(path) && filepath.Clean(path) == path }
		if ok := Contains(tt.dir, tt.path); plain(tt.dir) && plain(tt.path) && ok != tt.ok || ok && tt.dir == "" {
			t.Errorf("Contains(%q, %q) = %v", tt.dir, tt.path, ok)
		}
	}
}

// What is below a directory has the directory's name before its own, and is found again
// by what Below gives.
func TestBelowGivesTheWay(t *testing.T) {
	path := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"", ".", "..", "a", "b", "ab", "..a"}), 0, 6), func(names []string) string {
		return "/" + strings.Join(names, "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		dir, path := path.Draw(t, "dir"), path.Draw(t, "path")
		rel, ok := Below(dir, path)
		dir, path = filepath.Clean(dir), filepath.Clean(path)
		if want := dir == "/" || path == dir || strings.HasPrefix(path, dir+"/"); ok != want {
			t.Fatalf("below: %v, want %v", ok, want)
		}
		if ok && filepath.Join(dir, rel) != path {
			t.Fatalf("%q leads to %q", rel, filepath.Join(dir, rel))
		}
	})
}
