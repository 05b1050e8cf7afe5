package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// What was kept of a page is forgotten as soon as the page is another one, in whatever
// way that came about, while others read it all the time.
func TestWhatIsKeptIsNeverStale(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[echo, a]"), "other": page("[echo, z]")}})
	path := filepath.Join(r.root, "README.md")
	write := func(text string) error { return os.WriteFile(path, []byte(text), 0o644) }
	changes := []func(text string) error{
		write,
		func(text string) error { // in its place
			next := filepath.Join(r.root, "next")
			return firstOf(os.WriteFile(next, []byte(text), 0o644), os.Rename(next, path))
		},
		func(text string) error { // behind a link
			other := filepath.Join(r.root, "other")
			return firstOf(os.WriteFile(other, []byte(text), 0o644), os.Remove(path), os.Symlink("other", path))
		},
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(stop)
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					askHandler(r.handler, get("/"))
					askHandler(r.handler, run("/", "echo", "never"))
				}
			}
		})
	}
	for i, change := range changes {
		word, next := fmt.Sprint(string(rune('a'+i))), string(rune('a'+i+1))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		young := r.ask(get("/")).Header.Get("ETag")
		within(t, patience, "its key is believed", func() bool {
			a := askHandler(r.handler, get("/"))
			return a.Header().Get("ETag") != young
		})
		r.ask(run("/", "echo", word)).wantOutput(t, word+"\n", 0)
		if err := change(page("[echo, " + next + "]")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
		r.ask(run("/", "echo", word)).wantRefusal(t, "POST", 403, "not_allowed")
		r.ask(run("/", "echo", next)).wantOutput(t, next+"\n", 0)
		if a := r.ask(get("/")); a.body != page("[echo, "+next+"]") {
			t.Errorf("%d: %q", i, a.body)
		}
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(path); err != nil { // not as root
		r.ask(get("/")).wantRefusal(t, "GET", 500, "internal")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.ask(run("/", "echo", "d")).wantRefusal(t, "POST", 404, "not_found")
	r.ask(get("/")).wantRefusal(t, "GET", 404, "not_found")
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
