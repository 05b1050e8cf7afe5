//go:build linux || darwin

package content

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/durward/durward"
)

// tree makes a directory of files; "a -> b" is a link, and a name that ends in a slash
// a directory.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		plant(t, root, name)
	}
	return root
}

func plant(t *testing.T, root, name string) {
	t.Helper()
	name, target, link := strings.Cut(name, " -> ")
	path := filepath.Join(root, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	switch {
	case err != nil:
	case link:
		err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), path)
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(path, 0o755)
	default:
		err = os.WriteFile(path, []byte(name), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, root string, hidden ...string) *Local {
	t.Helper()
	l, err := OpenLocal(root, hidden...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// found gives the text of the file that a path names, which is the file's own name, or
// the reason of the refusal.
func found(t *testing.T, l *Local, path string) string {
	t.Helper()
	c, err := l.Resolve(t.Context(), path)
	if err != nil {
		return string(durward.ReasonOf(err))
	}
	defer c.Body.Close()
	text, err := io.ReadAll(c.Body)
	if err != nil {
		t.Fatal(err)
	}
	if int(c.Size) != len(text) {
		t.Errorf("%s has %d bytes and says %d", path, len(text), c.Size)
	}
	return string(text)
}

func TestResolve(t *testing.T) {
	root := tree(
		t, "README.md", "docs/README.md", "file.md", "data/x.csv", "v1.2.md", "v1.md", "bare/", "bare.md", "both.md", "both/README.md",
		"Upper/readme.md", "notes.md", "inner.md -> docs/README.md", "absolute.md -> ROOT/docs/README.md", "linked -> docs",
		"dangling -> nowhere", "out -> /etc/passwd", "outside -> /etc", "up -> ../x", "loop -> loop", "odd/README.md/",
	)
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, root)
	for path, want := range map[string]string{
		"":                "README.md",
		"docs":            "docs/README.md",
		"file":            "file.md",
		"file.md":         "file.md",
		"file.md.md":      "notFound",
		"file.md/x":       "notFound",
		"data":            "notFound",
		"data/x.csv":      "data/x.csv",
		"v1.2":            "v1.2.md",
		"notes.v1":        "notFound",
		"bare":            "notFound",
		"both":            "both/README.md",
		"Upper":           "notFound",
		"inner":           "docs/README.md",
		"absolute":        "docs/README.md",
		"linked":          "docs/README.md",
		"dangling":        "notFound",
		"out":             "outsideAllowedRoots",
		"outside/passwd":  "outsideAllowedRoots",
		"outside/missing": "outsideAllowedRoots",
		"up":              "outsideAllowedRoots",
		"loop":            "notFound",
		"fifo":            "notFound",
		"odd":             "notFound",
		"missing":         "notFound",

		strings.Repeat("x", 300): "notFound",
	} {
		if got := found(t, l, path); got != want {
			t.Errorf("%q: %s; want %s", path, got, want)
		}
	}
}

func TestCommandsRunWhereTheFileTrulyLies(t *testing.T) {
	root := tree(t, "README.md", "docs/a.md", "b.md -> docs/a.md")
	l := open(t, root)
	for path, want := range map[string]string{"": root, "docs/a": root + "/docs", "b": root + "/docs"} {
		c, err := l.Resolve(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := c.WorkingDir()
		c.Body.Close()
		if err != nil || dir != want {
			t.Errorf("%q runs in %s, %v; want %s", path, dir, err, want)
		}
	}
}

func TestHiddenFilesHaveNoName(t *testing.T) {
	root := tree(t, "README.md", "site.toml", "link -> site.toml", "other.toml", "site.toml.md", "link.md")
	if err := os.Link(root+"/site.toml", root+"/hard.toml"); err != nil {
		t.Fatal(err)
	}
	elsewhere := tree(t, "vars", "other")
	for _, name := range []string{"vars", "other"} {
		if err := os.Symlink(elsewhere+"/"+name, root+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, root, root+"/site.toml", elsewhere+"/vars")
	for path, want := range map[string]string{
		"site.toml": "notFound", "link": "notFound", "hard.toml": "notFound", "vars": "notFound",
		"other.toml": "other.toml", "other": "outsideAllowedRoots", "none": "notFound",
	} {
		if got := found(t, l, path); got != want {
			t.Errorf("%q: %s; want %s", path, got, want)
		}
		if hidden := want == "notFound" && path != "none"; l.Hides(path) != hidden {
			t.Errorf("%q: hidden is %v", path, !hidden)
		}
	}
}

// What lies in a hidden directory is hidden by every name, and no page stands in for it.
func TestHiddenDirectoriesHoldNothing(t *testing.T) {
	root := tree(
		t, "README.md -> state/README.md", "state/README.md", "state/log", "state/log.md", "state/page.md", "state.md", "log -> state/log", "log.md",
		"absolute -> ROOT/state/log", "absolute.md", "linked -> state", "linked.md", "page -> state/page.md", "states/log",
	)
	l := open(t, root, root+"/state")
	for path, want := range map[string]string{
		"": "notFound", "state": "notFound", "state/README.md": "notFound", "state/log": "notFound", "state/page": "notFound", "state/none": "notFound",
		"log": "notFound", "absolute": "notFound", "linked": "notFound", "linked/log": "notFound", "page": "notFound",
		"log.md": "log.md", "states/log": "states/log", "none": "notFound",
	} {
		if got := found(t, l, path); got != want {
			t.Errorf("%q: %s; want %s", path, got, want)
		}
	}
	_, missing := l.Resolve(t.Context(), "none")
	for _, path := range []string{"", "state", "log"} {
		if _, hidden := l.Resolve(t.Context(), path); !reflect.DeepEqual(hidden, missing) {
			t.Errorf("%q can be told from what is not there: %v", path, hidden)
		}
	}
}

func TestASiteIsNotHiddenAsAWhole(t *testing.T) {
	root := tree(t, "README.md")
	if l, err := OpenLocal(root, root); durward.ReasonOf(err) != durward.BadUsage {
		t.Errorf("%v, %v", l, err)
	}
}

func TestARootIsNotItsNeighbour(t *testing.T) {
	parent := tree(t, "site/README.md", "site/l -> ../site-old/x", "site-old/x")
	if got := found(t, open(t, parent+"/site"), "l"); got != "outsideAllowedRoots" {
		t.Errorf("the neighbour's file is %s", got)
	}
}

// A key tells every change, also one that leaves size and time as they were.
func TestKeys(t *testing.T) {
	root := tree(t, "a.md")
	l, path := open(t, root), filepath.Join(root, "a.md")
	key := func() string {
		c, err := l.Resolve(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		c.Body.Close()
		return c.Key
	}
	if got := key(); got != "" {
		t.Errorf("a file that has just been written has the key %q", got)
	}
	first := keyLater(t, l)
	info, err := os.Stat(path)
	if err != nil || first == "" {
		t.Fatalf("a file that has not changed for long has no key, %v", err)
	}
	if err := os.WriteFile(path, []byte("b.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if again := keyLater(t, l); again == first {
		t.Errorf("two contents have the key %q", first)
	}
}

// keyLater gives the key as it will be once the file has been left alone for long.
func keyLater(t *testing.T, l *Local) string {
	t.Helper()
	f, err := l.root.FindFile("a.md", rules)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return keyOf(f.Info, f.Info.Changed.Add(settled))
}

func TestList(t *testing.T) {
	root := tree(t, "README.md", "docs/a.md", "docs/.secret", ".env", "data/x.csv", "out -> /etc", "in -> docs", "l.md -> docs/a.md", "b..c.md")
	l := open(t, root)
	got, err := l.List(t.Context())
	if want := []string{"README.md", "data/x.csv", "docs/a.md", "l.md"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.List(ended); err == nil {
		t.Error("an ended context does not end it")
	}
}

func TestOpenLocalRefuses(t *testing.T) {
	root := tree(t, "file")
	for _, dir := range []string{root + "/missing", root + "/file", ""} {
		if l, err := OpenLocal(dir); err == nil {
			l.Close()
			if dir != "" {
				t.Errorf("%q is opened", dir)
			}
		}
	}
}
