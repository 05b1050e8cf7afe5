//go:build linux || darwin

package fsroot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"pgregory.net/rapid"
)

// FuzzOpen asks, of any name: no panic, nothing from outside, and one answer from every
// way to open.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{
		"a.txt", "sub/../a.txt", "../outside/secret", "out", "outdir/secret", "outdeep/../secret", "abs",
		"slash/etc/passwd", "indir/../../outside/secret", "a.txt/..", "sub//./b.txt/", "loop/x", "fifo", "..",
		"a\x00b", "", "/", "%2e%2e/outside/secret", "..\\outside\\secret", "\xff\xfe", "andback", "absin/.",
	} {
		f.Add(name)
	}
	tr := newTree(f)
	roots := rootsOf(f, tr)
	f.Fuzz(func(t *testing.T, name string) { sameAnswers(t, roots, name) })
}

func rootsOf(t testing.TB, tr tree) map[string]*Root {
	roots := map[string]*Root{}
	for name, by := range openers() {
		roots[name] = open(t, tr.root, by)
	}
	return roots
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func sameAnswers(t failer, roots map[string]*Root, name string) {
	t.Helper()
	type answer struct {
		text   string
		reason durward.Reason
	}
	answers := map[string]answer{}
	for by, r := range roots {
		text, err := read(r, name, Rules{})
		if strings.Contains(text, secret) {
			t.Fatalf("%s read the secret by %q", by, name)
		}
		answers[by] = answer{text, durward.ReasonOf(err)}
	}
	for _, a := range answers {
		if a != answers["walk"] {
			t.Fatalf("%q: %v", name, answers)
		}
	}
}

// TestNamesMadeOfParts goes where random bytes seldom get: names made of the components
// that lead somewhere.
func TestNamesMadeOfParts(t *testing.T) {
	tr := newTree(t)
	roots := rootsOf(t, tr)
	parts := append(names(t, tr.root), ".", "..", "", "b.txt", "deep", "x", "secret", "outside", "root")
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 8).Draw(t, "parts"), "/")
		sameAnswers(t, roots, name)
	})
}

// TestRandomTrees makes links at random and asks the kernel's own resolution, outside
// of any root, whether what was read is truly inside.
func TestRandomTrees(t *testing.T) {
	top := t.TempDir()
	parts := []string{"a", "b", "c", "f", "..", ".", "", "root", "outside"}
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(t, "parts"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(top, "t")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		tr := tree{top: dir, root: filepath.Join(dir, "root"), outside: filepath.Join(dir, "outside")}
		for _, d := range []string{tr.at("a/b"), tr.at("b"), tr.outside} {
			os.MkdirAll(d, 0o755)
		}
		for _, file := range []string{tr.at("f"), tr.at("a/f"), tr.at("a/b/f")} {
			os.WriteFile(file, []byte("inside"), 0o644)
		}
		for _, file := range []string{filepath.Join(tr.outside, "f"), filepath.Join(dir, "f")} {
			os.WriteFile(file, []byte(secret), 0o644)
		}
		for _, link := range []string{"c", "a/c", "a/b/c"} {
			os.Symlink(path.Draw(t, link), tr.at(link))
		}
		roots := map[string]*Root{}
		for name, by := range openers() {
			r, err := Open(tr.root)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			r.by = by
			roots[name] = r
		}
		for range 8 {
			sameAnswers(t, roots, path.Draw(t, "name"))
		}
	})
}
