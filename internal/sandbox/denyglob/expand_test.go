//go:build linux || darwin

package denyglob

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/durward/durward"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// temp gives a directory by its physical path.
func temp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// plant makes files with the directories they are in, and directories, which end in a
// slash. "a -> b" is a link.
func plant(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, to, isLink := strings.Cut(name, " -> ")
		whole := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(whole), 0o755))
		switch {
		case isLink:
			must(t, os.Symlink(to, whole))
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(whole, 0o755))
		default:
			must(t, os.WriteFile(whole, nil, 0o644))
		}
	}
}

// below gives paths relative to a root; others stay as they are.
func below(root string, paths []string) []string {
	var list []string
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, root); ok {
			path = rest
		}
		list = append(list, path)
	}
	return list
}

func in(root string, names []string) []string {
	var list []string
	for _, name := range names {
		list = append(list, root+name)
	}
	return list
}

func TestExpand(t *testing.T) {
	root := temp(t)
	plant(t, root,
		".env", "a/.env", "a/b/.env", "a/b/.env.d/.env", "a/key.pem", "c/key.pem", "c/deep/er/key.pem", "[x]/*", "[x]/y", "empty/",
		"links/.env -> ../c/key.pem", "links/dir -> ../a", "links/gone -> nowhere", "link -> a", "over -> a/b",
	)
	all := []string{""}
	for _, tt := range []struct {
		name             string
		patterns, within []string
		want             []string
	}{
		{"nothing", nil, all, nil},
		{"nothing, and nothing in view", nil, nil, nil},
		{"at any depth", []string{"/**/.env"}, all, []string{"/.env", "/a/.env", "/a/b/.env", "/a/b/.env.d/.env", "/links/.env"}},
		{"at one depth", []string{"/*/.env"}, all, []string{"/a/.env", "/links/.env"}},
		{"plain names alone", []string{"/a/b/[.]env"}, all, []string{"/a/b/.env"}},
		{"nothing beneath a match", []string{"/**/.env*"}, all, []string{"/.env", "/a/.env", "/a/b/.env", "/a/b/.env.d", "/links/.env"}},
		{"nothing beneath the match of another", []string{"/**/.env", "/*/b"}, all, []string{"/.env", "/a/.env", "/a/b", "/links/.env"}},
		{"each once", []string{"/a/*.pem", "/a/k*", "/a/*.pem"}, all, []string{"/a/key.pem"}},
		{"all beneath is the whole", []string{"/a/**"}, all, []string{"/a"}},
		{"all but the directory itself", []string{"/a/**/*"}, all, []string{"/a/.env", "/a/b", "/a/key.pem"}},
		{"two patterns", []string{"/c/**/*.pem", "/a/*.pem"}, all, []string{"/a/key.pem", "/c/deep/er/key.pem", "/c/key.pem"}},
		{"characters that mean something else", []string{`/\[x\]/[*]`, "/[[]x]/y"}, all, []string{"/[x]/*", "/[x]/y"}},
		{"a plain name that is missing", []string{"/missing/*", "/a/*/missing"}, all, nil},
		{"a name that no directory can hold", []string{"/" + strings.Repeat("n", 300) + "/*"}, all, nil},
		{"a file where a directory would be", []string{"/.env/*", "/*/key.pem/*"}, all, nil},

		{"links by their own paths", []string{"/links/*"}, all, []string{"/links/.env", "/links/dir", "/links/gone"}},
		{"a link by its plain name", []string{"/lin[k]", "/over"}, all, []string{"/link", "/over"}},
		{"nothing beneath links", []string{"/*/*/key.pem", "/**/dir/.env", "/l*/*/.env"}, all, nil},
		{"a plain name behind a wildcard is a link", []string{"/*/dir/key.pem"}, all, nil},

		{"only in view", []string{"/**/.env"}, []string{"/a/b", "/c"}, []string{"/a/b/.env", "/a/b/.env.d/.env"}},
		{"above the view", []string{"/a", "/*/b"}, []string{"/a/b/.env.d", "/c"}, []string{"/a"}},
		{"on the way to the view", []string{"/*/b"}, []string{"/a/b/.env.d"}, []string{"/a/b"}},
		{"the view itself", []string{"/[ac]"}, []string{"/a"}, []string{"/a"}},
		{"a file in view", []string{"/**/*.pem"}, []string{"/c/key.pem"}, []string{"/c/key.pem"}},
		{"a view in another", []string{"/**/key.pem"}, []string{"/c/deep", "/c", "/c/deep/er"}, []string{"/c/deep/er/key.pem", "/c/key.pem"}},
		{"a view that is missing", []string{"/**/key.pem"}, []string{"/gone/x", "/a/b/.env/x", "/c/deep"}, []string{"/c/deep/er/key.pem"}},
		{"names that only begin alike", []string{"/**"}, []string{"/a/b/.env"}, []string{""}},
		{"a view beside the pattern", []string{"/a/**/.env"}, []string{"/c"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Expand(t.Context(), in(root, tt.patterns), in(root, tt.within))
			if diff := cmp.Diff(tt.want, below(root, got)); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestExpandFromTheRoot(t *testing.T) {
	root := temp(t)
	plant(t, root, "a/.env")
	top := "/" + namesOf(root)[0]
	for _, tt := range []struct {
		name            string
		pattern, within string
		want            []string
	}{
		{"everything", "/**", root, []string{"/"}},
		{"all that is in the root", "/*", root, []string{top}},
		{"all in view", root + "/*/.env", "/", []string{root + "/a/.env"}},
		{"from the root, in view", "/**/.env", root, []string{root + "/a/.env"}},
	} {
		got, err := Expand(t.Context(), []string{tt.pattern}, []string{tt.within})
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
	}
}

// refused asks for a refusal that names what a person has to know.
func refused(t *testing.T, paths []string, err error, words ...string) {
	t.Helper()
	e := durward.AsError(err)
	if e == nil || paths != nil {
		t.Fatalf("%d paths, %v", len(paths), err)
	}
	if e.Reason != durward.SandboxError || e.Op != "expand deny" || e.Rule != "filesystem.deny" || e.Hint == "" {
		t.Errorf("%#v", e)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in %q", word, err)
		}
	}
	if len(err.Error()) > 2000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

func TestViewsThatSayNothingAreRefused(t *testing.T) {
	root := temp(t)
	plant(t, root, ".env")
	for _, within := range [][]string{nil, {}, {""}, {durward.PrivateTmp}, {"a"}, {root, "./a"}, {root + "/"}, {root + "/../x"}, {"//"}, {root + "/a\x00"}} {
		paths, err := Expand(t.Context(), []string{root + "/**/.env"}, within)
		refused(t, paths, err)
	}
}

func TestLinksInPhysicalPathsAreRefused(t *testing.T) {
	root := temp(t)
	plant(t, root, "real/keys/a.key", "real/b/c/", "link -> real", "gone -> nowhere", "w/x")
	for _, tt := range []struct{ name, pattern, within string }{
		{"just before the first wildcard", "/link/*", ""},
		{"before the last plain name", "/link/keys/*.key", ""},
		{"before any names", "/link/**", ""},
		{"to nothing", "/gone/*", ""},
		{"in a pattern without wildcards", "/link/[k]eys", ""},
		{"in view of it alone", "/link/keys/*.key", "/link/keys"},
		{"in the view", "/**/*.key", "/link"},
		{"on the way to the view", "/**/*.key", "/link/keys"},
		{"that the pattern matches as well", "/**/l*/**/*.key", "/link/keys"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			paths, err := Expand(t.Context(), []string{root + "/w/*", root + tt.pattern}, []string{root + tt.within, root + "/w"})
			refused(t, paths, err, root+tt.pattern, "symbolic link")
		})
	}
	for _, tt := range []struct{ name, pattern, within string }{
		{"out of view", "/link/*", "/w"},
		{"that nothing is searched for behind", "/w/*", "/link"},
	} {
		if _, err := Expand(t.Context(), []string{root + tt.pattern}, []string{root + tt.within}); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A part is one name of a pattern; name is set where it can match no other.
type part struct{ text, name string }

var (
	treeNames = []string{"a", "b", "ab", ".env", "*", "[a]", "x\ny", `a\`}
	treeParts = []part{
		{"a", "a"},
		{"b", "b"},
		{".env", ".env"},
		{"[.]env", ".env"},
		{"[*]", "*"},
		{`\*`, "*"},
		{`a\\`, `a\`},
		{"[[]a]", "[a]"},
		{"*", ""},
		{"*b", ""},
		{"?", ""},
		{"[ab]", ""},
		{"[^a]", ""},
		{"**", ""},
		{"**", ""},
		{".*", ""},
	}
)

func TestExpandIsWhatThePlainWordsSay(t *testing.T) {
	top := temp(t)
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp(top, "tree")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		known := grow(t, root)
		var patterns [][]part
		for range rapid.IntRange(1, 3).Draw(t, "patterns") {
			patterns = append(patterns, slices.Concat(start(t, root), parts(t, root, known)))
		}
		within := rapid.SliceOfN(rapid.SampledFrom(known), 1, 3).Draw(t, "within")
		within = slices.DeleteFunc(within, func(path string) bool { return isLink(path) })
		if len(within) == 0 {
			within = []string{root}
		}
		want, astray := plainly(root, patterns, within)
		var texts []string
		for _, p := range patterns {
			texts = append(texts, text(p))
		}
		got, err := Expand(context.Background(), texts, within)
		if astray {
			if durward.ReasonOf(err) != durward.SandboxError || got != nil {
				t.Fatalf("%q in %q goes over a link: %q, %v", texts, within, got, err)
			}
			return
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%q in %q: %v\n%s", texts, within, err, diff)
		}
	})
}

// grow makes a tree and gives the paths of all that is in it, and one that is not.
func grow(t *rapid.T, root string) []string {
	dirs, known := []string{root}, []string{root, filepath.Join(root, "missing", "x")}
	for range rapid.IntRange(5, 40).Draw(t, "size") {
		path := filepath.Join(rapid.SampledFrom(dirs).Draw(t, "dir"), rapid.SampledFrom(treeNames).Draw(t, "name"))
		var err error
		switch kind := rapid.SampledFrom([]string{"dir", "dir", "dir", "file", "file", "link"}).Draw(t, "kind"); {
		case exists(path):
			continue
		case kind == "dir":
			err = os.Mkdir(path, 0o755)
			dirs = append(dirs, path)
		case kind == "file":
			err = os.WriteFile(path, nil, 0o644)
		default:
			err = os.Symlink(rapid.SampledFrom(dirs).Draw(t, "to"), path)
		}
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, path)
	}
	return known
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// start gives parts that lead to the tree, or that may.
func start(t *rapid.T, root string) []part {
	if rapid.IntRange(0, 9).Draw(t, "start") == 0 {
		return []part{{"**", ""}}
	}
	var parts []part
	for _, name := range namesOf(root) {
		parts = append(parts, part{name, name})
	}
	return parts
}

// parts gives some at random, or such as fit a path of the tree.
func parts(t *rapid.T, root string, known []string) []part {
	if rapid.Bool().Draw(t, "at random") {
		return rapid.SliceOfN(rapid.SampledFrom(treeParts), 0, 4).Draw(t, "parts")
	}
	var list []part
	for _, name := range namesOf(strings.TrimPrefix(rapid.SampledFrom(known).Draw(t, "path"), root)) {
		plain := part{strings.NewReplacer("*", "[*]", "[", "[[]", `\`, `\\`).Replace(name), name}
		list = append(list, rapid.SampledFrom([]part{plain, plain, {"*", ""}, {"**", ""}}).Draw(t, "part"))
	}
	return append(list, rapid.SliceOfN(rapid.SampledFrom(treeParts), 0, 1).Draw(t, "more")...)
}

func text(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + p.text)
	}
	return b.String()
}

// plainly is a naive Expand of patterns that match in or above a tree.
func plainly(root string, patterns [][]part, within []string) (matches []string, astray bool) {
	var seen []string
	for dir := filepath.Dir(root); ; dir = filepath.Dir(dir) {
		seen = append(seen, dir)
		if dir == "/" {
			break
		}
	}
	links := make(map[string]bool)
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		seen = append(seen, path)
		links[path] = err == nil && e.Type() == fs.ModeSymlink
		return err
	})
	slices.Sort(seen) // a directory before what is in it
	for _, path := range seen {
		visible := slices.ContainsFunc(within, func(w string) bool { return isIn(path, w) || isIn(w, path) })
		if !visible || slices.ContainsFunc(matches, func(m string) bool { return isIn(path, m) }) {
			continue
		}
		if links[path] && slices.ContainsFunc(patterns, func(p []part) bool { return over(p, namesOf(path)) }) {
			return nil, true
		}
		if slices.ContainsFunc(patterns, func(p []part) bool { return refers(texts(p), namesOf(path)) }) {
			matches = append(matches, path)
		}
	}
	return matches, false
}

func isIn(path, dir string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

// over reports whether a pattern goes on behind names that it has before its first
// wildcard.
func over(p []part, names []string) bool {
	if len(p) <= len(names) {
		return false
	}
	for i, name := range names {
		if p[i].name != name {
			return false
		}
	}
	return true
}

func texts(parts []part) []string {
	var list []string
	for _, p := range parts {
		list = append(list, p.text)
	}
	return list
}

func TestEndOfTheContext(t *testing.T) {
	root := temp(t)
	plant(t, root, "a/.env")
	cause := errors.New("no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if paths, err := Expand(ctx, []string{root + "/**/.env"}, []string{root}); err != cause || paths != nil {
		t.Errorf("%q, %v", paths, err)
	}
}
