package fsroot

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What is read without waiting is what is there, and never a part of what was asked for.
func TestReadReady(t *testing.T) {
	tr := newTree(t)
	f, err := open(t, tr.root, systemOpener()).OpenFile("a.txt", Rules{})
	must(t, err)
	defer f.Close()
	for _, at := range []struct {
		offset int64
		want   string
	}{{0, "hello"}, {1, "ello"}, {0, "he"}, {5, ""}} {
		if got := make([]byte, len(at.want)); f.ReadReady(got, at.offset) && string(got) != at.want {
			t.Errorf("at %d: %q, not %q", at.offset, got, at.want)
		}
	}
	for _, offset := range []int64{-1, 1, 5, 9} {
		if f.ReadReady(make([]byte, 5), offset) {
			t.Errorf("5 bytes are read at %d of 5", offset)
		}
	}
	must(t, f.Close())
	if f.ReadReady(make([]byte, 5), 0) {
		t.Error("a closed file is read")
	}
}

// A file that is opened without waiting is what OpenFile gives; what is none, or is not known to
// be on this machine, is left to it.
func TestReadyFile(t *testing.T) {
	tr := newTree(t)
	r := open(t, tr.root, systemOpener())
	openat2 := func(dir int, name string, how unix.OpenHow) (int, error) { return unix.Openat2(dir, name, &how) }
	var mounts MountTable
	defer mounts.Close()
	must(t, os.Symlink("a.txt", tr.root+"/to-a"))
	must(t, unix.Mkfifo(tr.root+"/pipe", 0o600))
	for _, c := range []struct {
		name  string
		rules Rules
		want  bool
	}{
		{"a.txt", Rules{}, true},
		{"to-a", Rules{NoLinks: true}, false},
		{"a.txt", Rules{MaxBytes: 1}, false},
		{"pipe", Rules{}, false},
		{".", Rules{}, false},
		{"missing", Rules{}, false},
		{"../" + filepath.Base(tr.root) + "/a.txt", Rules{}, false},
	} {
		f, ok := r.ReadyFile(c.name, c.rules, &mounts, openat2)
		for tries := 0; c.want && !ok && tries < 1000; tries++ { // others rename something
			f, ok = r.ReadyFile(c.name, c.rules, &mounts, openat2)
		}
		if ok != c.want {
			t.Errorf("%s under %+v: %t", c.name, c.rules, ok)
		}
		if !ok {
			continue
		}
		text, err := io.ReadAll(f)
		if err != nil || string(text) != "hello" || f.Info.Size != 5 {
			t.Errorf("%s holds %q of %d bytes: %v", c.name, text, f.Info.Size, err)
		}
		must(t, f.Close())
	}
	if f, ok := r.ReadyFile("a.txt", Rules{}, MountsIn("36 35 0:17 / / rw - nfs server:/ rw\n"), openat2); ok {
		t.Error("a file of another machine is not waited for")
		f.Close()
	}
}

// A file that was seen before is opened as any other, and one that is not the one that was seen
// is left to OpenFile.
func TestReadyFileThatWasSeen(t *testing.T) {
	tr := newTree(t)
	r := open(t, tr.root, systemOpener())
	openat2 := func(dir int, name string, how unix.OpenHow) (int, error) { return unix.Openat2(dir, name, &how) }
	var mounts MountTable
	defer mounts.Close()
	see := func(path string) Look {
		var x unix.Statx_t
		must(t, unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, SeenMask|unix.STATX_TYPE, &x))
		return Seen(&x)
	}
	must(t, os.WriteFile(tr.root+"/other", []byte("other"), 0o600))
	seen := see(tr.root + "/a.txt")
	for range 2 { // its mount is known then
		f, ok := r.ReadyFile("a.txt", Rules{Seen: seen}, &mounts, openat2)
		for tries := 0; !ok && tries < 1000; tries++ { // others rename something
			f, ok = r.ReadyFile("a.txt", Rules{Seen: seen}, &mounts, openat2)
		}
		if !ok || f.Info.Inode != seen.Inode || f.Info.Device != seen.Device {
			t.Fatalf("%+v was seen, and %t, %+v is opened", seen, ok, f)
		}
		must(t, f.Close())
		if f, ok := r.ReadyFile("other", Rules{Seen: seen}, &mounts, openat2); ok {
			t.Error("another file than was seen is opened")
			f.Close()
		}
	}
}
