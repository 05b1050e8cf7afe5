//go:build unix

package dirlock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A directory is locked by one at a time, and free again when the file is closed.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	lock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Lock(dir); err == nil {
		second.Close()
		t.Error("it was locked twice")
	}
	lock.Close()
	if lock, err = Lock(dir); err != nil {
		t.Fatal(err)
	}
	lock.Close()
}

// What is no directory of ours is not locked.
func TestLockRefuses(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	paths := []string{file, link, filepath.Join(dir, "none")}
	if os.Geteuid() == 0 {
		other := filepath.Join(dir, "other")
		if err := os.Mkdir(other, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(other, 65533, 65533); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, other)
	} else {
		paths = append(paths, "/") // root's
	}
	for _, path := range paths {
		if lock, err := Lock(path); err == nil {
			lock.Close()
			t.Errorf("%s was locked", path)
		}
	}
}

// Who waits has the lock once it is free, and waits for nothing else.
func TestAwait(t *testing.T) {
	dir := t.TempDir()
	held, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Await(dir, 0); !taken(err) {
		t.Error(err)
	}
	asked := 0
	if While(time.Hour, func() bool {
		if asked++; asked == 3 {
			held.Close()
		}
		lock, err := Lock(dir)
		if err == nil {
			lock.Close()
		}
		return taken(err)
	}) || asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	lock, err := Await(dir, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	if _, err := Await(filepath.Join(dir, "none"), time.Hour); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A directory that has just been made may still be about to be locked.
func TestSettled(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		age  time.Duration
		want bool
	}{{0, false}, {time.Minute, true}} {
		when := time.Now().Add(-test.age)
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
		if got := Settled(dir); got != test.want {
			t.Errorf("after %s: %v", test.age, got)
		}
	}
	if Settled(filepath.Join(dir, "none")) {
		t.Error("what is not there has settled")
	}
}
