//go:build unix

package policy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

// ranks are the accesses by what wins among entries of one path; what they let be done is
// in can.
var (
	ranks = []durward.Access{durward.AccessRead, durward.AccessWrite, durward.AccessProtect, durward.AccessDeny}
	can   = map[durward.Access]int{durward.AccessRead: 1, durward.AccessWrite: 2, durward.AccessProtect: 1, durward.AccessDeny: 0, "": 0}
)

func lies(dir, path string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

// asked tells what a confinement says of a physical path, by nothing but its words.
func asked(files tree, c durward.Confinement, path string) int {
	best, length := durward.Access(""), -1
	protected := false
	for _, e := range c.Entries {
		at := e.Path
		if physical, err := files.resolve(at); err == nil {
			at = physical
		} else if e.IfThere {
			continue
		}
		if !lies(at, path) {
			continue
		}
		protected = protected || e.Access == durward.AccessProtect
		if e.Access == durward.AccessProtect {
			continue
		}
		if len(at) > length || len(at) == length && slices.Index(ranks, e.Access) > slices.Index(ranks, best) {
			best, length = e.Access, len(at)
		}
	}
	if protected {
		return min(can[best], 1)
	}
	return can[best]
}

// granted tells what the sets of a grant give.
func granted(f durward.Files, path string) int {
	gives, length := 0, -1
	for i, set := range [][]string{f.Read, f.Write} {
		for _, p := range set {
			if lies(p, path) && len(p) >= length {
				gives, length = i+1, len(p)
			}
		}
	}
	in := func(set []string) bool { return slices.ContainsFunc(set, func(p string) bool { return lies(p, path) }) }
	switch {
	case in(f.Deny):
		return 0
	case in(f.Protect):
		return min(gives, 1)
	}
	return gives
}

// TestNoGrantIsWiderThanWhatWasAsked has random entries over a small machine with links. A
// confinement may come to less where a link could have been planted, and nowhere else.
func TestNoGrantIsWiderThanWhatWasAsked(t *testing.T) {
	files := tree{"/": "/", "/l": "/a/b", "/a/out": "/c", "/a/b/in": "/a"}
	for _, path := range []string{"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/x", "/c", "/c/d", "/c/d/e"} {
		files[path] = path
	}
	var paths []string
	for path, to := range files {
		if path == to {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	names := append(slices.Clone(paths), "/l", "/l/c", "/a/out", "/a/out/d", "/a/b/in", "/a/b/in/x", "/a/none", "/none", "/c/d/none/x")
	host := policy.Host{GOOS: "linux", Resolve: files.resolve}
	rapid.Check(t, func(t *rapid.T) {
		c := durward.Confinement{Mode: durward.ReadOnly, Network: durward.NetNone}
		links := false
		for range rapid.IntRange(0, 6).Draw(t, "entries") {
			e := durward.Entry{
				Path: rapid.SampledFrom(names).Draw(t, "path"), Access: rapid.SampledFrom(ranks).Draw(t, "access"),
				IfThere: rapid.Bool().Draw(t, "if there"),
			}
			if e.Access == durward.AccessWrite {
				c.Mode = durward.WorkspaceWrite
			}
			links = links || strings.HasPrefix(e.Path, "/a/out") || strings.HasPrefix(e.Path, "/a/b/in")
			c.Entries = append(c.Entries, e)
		}
		p, err := policy.Confined(c, host, policy.OfCaller)
		if err != nil {
			if r := durward.ReasonOf(err); r != durward.OutsideRoot && r != durward.SandboxUnavailable {
				t.Fatal(err)
			}
			return
		}
		f := p.Apart(false).Files
		for _, path := range paths {
			if plain := granted(p.Grant().Files, path); plain != granted(f, path) {
				t.Fatalf("%+v\n%+v\ngives %d at %s, and %d", c.Entries, f, granted(f, path), path, plain)
			}
		}
		for _, path := range append(slices.Clone(paths), "/a/none", "/a/none/x", "/c/d/none/x", "/c/new") {
			_, there := files[path]
			switch got, want := granted(f, path), asked(files, c, path); {
			case got > want:
				t.Fatalf("%+v\n%+v\ngives %d at %s, asked for was %d", c.Entries, f, got, path, want)
			case got < want && there && !links:
				t.Fatalf("%+v\n%+v\ngives only %d at %s, asked for was %d", c.Entries, f, got, path, want)
			}
		}
		for _, set := range [][]string{f.Read, f.Write, f.Exec} {
			for _, path := range set {
				if files[path] != path || filepath.Clean(path) != path {
					t.Fatalf("%s is in a set, and is not there", path)
				}
			}
		}
	})
}
