package replace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward/internal/config/replace"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}

// names lists a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestFile(t *testing.T) {
	file := write(t, "one")
	must(t, replace.File(file, []byte("one"), []byte("two")))
	must(t, replace.File(file, []byte("two"), nil))
	if now, was := read(t, file), read(t, file+".bak"); now != "" || was != "two" {
		t.Errorf("%q, and kept %q", now, was)
	}
	if got := names(t, filepath.Dir(file)); got != "policy.yaml policy.yaml.bak" {
		t.Error(got)
	}
}

// Who keeps the former text elsewhere gets no backup, and one that is there stays.
func TestSwap(t *testing.T) {
	file := write(t, "one")
	must(t, replace.Swap(file, []byte("one"), []byte("two")), os.WriteFile(file+".bak", []byte("mine"), 0o600))
	must(t, replace.Swap(file, []byte("two"), []byte("three")))
	if err := replace.Swap(file, []byte("two"), []byte("four")); !errors.Is(err, replace.ErrChanged) {
		t.Error(err)
	}
	if now, was := read(t, file), read(t, file+".bak"); now != "three" || was != "mine" {
		t.Errorf("%q, and beside it %q", now, was)
	}
}

// Only what was read is removed, and no link.
func TestRemove(t *testing.T) {
	file := write(t, "one")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(file, link))
	if err := replace.Remove(file, []byte("on")); !errors.Is(err, replace.ErrChanged) {
		t.Error(err)
	}
	for _, other := range []string{link, filepath.Dir(file), file + "x"} {
		if err := replace.Remove(other, []byte("one")); err == nil {
			t.Errorf("%s is removed", other)
		}
	}
	if got := read(t, file); got != "one" {
		t.Errorf("it holds %q", got)
	}
	must(t, replace.Remove(file, []byte("one")))
	if got := names(t, filepath.Dir(file)); got != "" {
		t.Error(got)
	}
}

// The first text is for its owner alone, and takes the place of nothing.
func TestFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	file := filepath.Join(dir, "policy.yaml")
	must(t, replace.First(file, []byte("one")))
	for _, path := range []string{file, dir, filepath.Dir(dir)} {
		info, err := os.Stat(path)
		must(t, err)
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
	}
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	for _, name := range []string{"policy.yaml", "folder", "link"} {
		if err := replace.First(filepath.Join(dir, name), []byte("two")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := read(t, file); got != "one" {
		t.Errorf("it holds %q", got)
	}
	if got := names(t, dir); got != "folder link policy.yaml" {
		t.Error(got)
	}
}

// Of many that make a file at once one succeeds, and its text stays.
func TestOfManyFirstTextsOneStays(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	var made sync.Map
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			text := fmt.Sprint(i)
			if err := replace.First(file, []byte(text)); err == nil {
				made.Store(text, true)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var texts []string
	made.Range(func(text, _ any) bool { texts = append(texts, text.(string)); return true })
	if len(texts) != 1 || read(t, file) != texts[0] || names(t, dir) != "policy.yaml" {
		t.Errorf("%q were made; there is %s", texts, names(t, dir))
	}
}

// Whatever came meanwhile stays, and nothing is left behind.
func TestFileThatChangedIsNotReplaced(t *testing.T) {
	for _, now := range []string{"", "on", "One", "one more"} {
		file := write(t, now)
		if err := replace.File(file, []byte("one"), []byte("two")); !errors.Is(err, replace.ErrChanged) {
			t.Error(err)
		}
		if got := read(t, file); got != now {
			t.Errorf("%q became %q", now, got)
		}
		if got := names(t, filepath.Dir(file)); got != "policy.yaml" {
			t.Error(got)
		}
	}
}

func TestOtherThingsAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none"), ""} {
		if err := replace.File(path, nil, []byte("x")); err == nil {
			t.Errorf("%q was replaced", path)
		}
	}
	if got := names(t, dir); got != "" {
		t.Error(got)
	}
}

// Of many that read the same text one succeeds, and who tries again with what is there
// then loses nothing.
func TestEditorsAtOnceLoseNothing(t *testing.T) {
	file := write(t, "")
	const editors, edits = 8, 20
	var all sync.WaitGroup
	for editor := range editors {
		all.Go(func() {
			for i := range edits {
				line := fmt.Sprintf("%d.%d\n", editor, i)
				for {
					was, err := os.ReadFile(file)
					if err != nil {
						t.Error(err)
						return
					}
					err = replace.File(file, was, append(was[:len(was):len(was)], line...))
					if err == nil {
						break
					}
					if !errors.Is(err, replace.ErrChanged) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	lines := strings.Fields(read(t, file))
	if len(lines) != editors*edits {
		t.Errorf("%d edits of %d are there", len(lines), editors*edits)
	}
	if got := names(t, filepath.Dir(file)); got != "policy.yaml policy.yaml.bak" {
		t.Error(got)
	}
}
