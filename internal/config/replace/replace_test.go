package replace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
