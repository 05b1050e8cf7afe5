//go:build linux || darwin

package content

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
)

// read gives what a path of a site holds.
func read(t *testing.T, l *Local, path string, most int64) (string, error) {
	t.Helper()
	c, err := l.Resolve(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Body.Close()
	text, err := c.ReadInto(bytes.Repeat([]byte("x"), 3), most)
	return string(text), err
}

// Whatever becomes of a file that was read before, what is read is what it holds.
func TestAKeptFileIsReadAsItIs(t *testing.T) {
	root := tree(t, "a.md")
	l := open(t, root)
	write := func(text string) {
		if err := os.WriteFile(root+"/a.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		for range 3 {
			if got, err := read(t, l, "a.md", 100); got != want || err != nil {
				t.Fatalf("%q, %v; want %q", got, err, want)
			}
		}
	}
	for _, text := range []string{"", "a", "b", "longer", strings.Repeat("y", 100), "short"} {
		write(text)
		check(text)
	}
	if err := os.Rename(root+"/a.md", root+"/b.md"); err != nil {
		t.Fatal(err)
	}
	write("other")
	check("other")
	write(strings.Repeat("y", 101))
	if got, err := read(t, l, "a.md", 100); durward.ReasonOf(err) != durward.MaxFileBytes {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}

// More files than are kept are read, by many at once, and all are closed at the end.
func TestKeptFilesAreBounded(t *testing.T) {
	var names []string
	for i := range 3 * mostKept {
		names = append(names, fmt.Sprintf("%d.md", i))
	}
	root := tree(t, names...)
	for _, name := range names {
		if err := os.WriteFile(root+"/"+name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := OpenLocal(root)
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for _, name := range names {
				if got, err := read(t, l, name, 100); got != name || err != nil {
					t.Errorf("%s: %q, %v", name, got, err)
				}
				if n := len(l.kept.snapshot()); n > mostKept {
					t.Errorf("%d files are kept", n)
				}
			}
		})
	}
	readers.Wait()
	files := l.kept.snapshot()
	if err := l.Close(); err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if _, err := f.Stat(); err == nil {
			t.Error("a file is still open")
		}
	}
	if len(l.kept.snapshot()) > 0 {
		t.Error("files are kept of a site that is closed")
	}
}

func (k *kept) snapshot() []*os.File {
	k.mu.Lock()
	defer k.mu.Unlock()
	var files []*os.File
	for _, f := range k.files {
		files = append(files, f)
	}
	return files
}
