package confined

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// What the grant gives can be had: a confinement that refuses all would pass every test.
func TestWhatIsGiven(t *testing.T) {
	w := newWorld(t)
	a := under(t, w.grant())
	r := rootAt(t, w.top)
	for _, name := range []string{"work/file", "work/sub/../file", "readable/file"} {
		if text, err := read(t.Context(), a, r, name); text != harmless {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"work/file", "work/new", "work/new-dir/sub/new"} {
		must(t, write(t.Context(), a, r, name))
		if text, err := os.ReadFile(filepath.Join(w.top, name)); string(text) != "written" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	dir, err := a.OpenDir(t.Context(), rootAt(t, w.work), "sub", fsroot.Rules{})
	must(t, err)
	defer dir.Close()
	if names, err := dir.Readdirnames(-1); len(names) != 1 || err != nil {
		t.Errorf("sub holds %q, %v", names, err)
	}
}

// V01 to V04: nothing outside is read or written, whether the root holds the name in or,
// as in the second half, only the kernel does.
func TestNothingOutside(t *testing.T) {
	w := newWorld(t)
	must(t, os.Symlink(w.outside+"/secret", w.work+"/absolute"))
	must(t, os.Symlink("../outside/secret", w.work+"/link"))
	must(t, os.Symlink("../outside", w.work+"/dir"))
	must(t, os.Symlink("dir", w.work+"/chain"))
	a := under(t, w.grant())
	work, top, all := rootAt(t, w.work), rootAt(t, w.top), rootAt(t, "/")
	before := snapshot(t, w.outside)
	tests := []struct {
		root *fsroot.Root
		name string
	}{
		{work, "../outside/secret"},
		{work, w.outside + "/secret"},
		{work, "sub/../../outside/secret"},
		{work, "absolute"},
		{work, "link"},
		{work, "dir/secret"},
		{work, "chain/secret"},
		{work, "../outside/none"},
		{work, "dir/none"},
		{top, "outside/secret"},
		{top, "work/../outside/secret"},
		{top, "work/link"},
		{top, "work/dir/secret"},
		{top, "work/chain/secret"},
		{top, "outside/none"},
		{top, "outside/dir"},
		{all, "proc/self/root" + w.outside + "/secret"},
		{all, "proc/self/environ"},
		{all, w.outside[1:] + "/secret"},
		{all, w.outside[1:] + "/none"},
		{all, "dev/zero"},
	}
	for _, tt := range tests {
		text, err := read(t.Context(), a, tt.root, tt.name)
		wantReason(t, "read "+tt.name, err, durward.OutsideRoot)
		if text != "" {
			t.Errorf("read %s: %q", tt.name, text)
		}
		err = write(t.Context(), a, tt.root, tt.name)
		wantReason(t, "write "+tt.name, err, durward.OutsideRoot, durward.SymlinkTarget)
		if dir, err := a.OpenDir(t.Context(), tt.root, tt.name, fsroot.Rules{}); err == nil {
			dir.Close()
			t.Errorf("%s is opened as a directory", tt.name)
		}
		unchanged(t, w.outside, before)
	}
}

// What may be read is not written, in either mode.
func TestReadOnly(t *testing.T) {
	w := newWorld(t)
	readOnly := w.grant()
	readOnly.Mode = durward.ReadOnly
	readOnly.Files.Read, readOnly.Files.Write = []string{w.readable, w.work}, []string{durward.PrivateTmp}
	for _, tt := range []struct {
		grant durward.Grant
		dir   string
	}{{w.grant(), w.readable}, {readOnly, w.readable}, {readOnly, w.work}} {
		before := snapshot(t, w.top)
		a, r := under(t, tt.grant), rootAt(t, tt.dir)
		if text, err := read(t.Context(), a, r, "file"); text != harmless {
			t.Errorf("%s: %q, %v", tt.dir, text, err)
		}
		for _, name := range []string{"file", "new", "new-dir/new"} {
			wantReason(t, name, write(t.Context(), a, r, name), durward.FilePermission)
		}
		unchanged(t, w.top, before)
	}
}

// V05 to V07, and what else no operation offers: the thread itself is held.
func TestTheThreadIsHeld(t *testing.T) {
	w := newWorld(t)
	a := under(t, w.grant())
	before := snapshot(t, w.top)
	secretFile, victim := w.outside+"/secret", w.outside+"/victim"
	for name, f := range map[string]func() error{
		"read":          func() error { _, err := os.ReadFile(secretFile); return err },
		"read by root":  func() error { _, err := os.ReadFile("/proc/self/root" + secretFile); return err },
		"list":          func() error { _, err := os.ReadDir(w.outside); return err },
		"create":        func() error { return os.WriteFile(w.outside+"/new", nil, 0o600) },
		"truncate":      func() error { return os.Truncate(victim, 0) },
		"remove":        func() error { return os.Remove(victim) },
		"make":          func() error { return os.Mkdir(w.outside+"/new", 0o700) },
		"link in":       func() error { return os.Link(victim, w.work+"/h") },
		"link out":      func() error { return os.Link(w.work+"/file", w.outside+"/h") },
		"rename out":    func() error { return os.Rename(w.work+"/file", w.outside+"/new") },
		"rename in":     func() error { return os.Rename(victim, w.work+"/new") },
		"rename over":   func() error { return os.Rename(w.work+"/file", victim) },
		"exchange":      func() error { return exchange(w.work+"/file", victim) },
		"from readable": func() error { return os.Rename(w.readable+"/file", w.work+"/new") },
	} {
		if err := raw(t, a, f); err == nil {
			t.Errorf("%s: it is done", name)
		}
		unchanged(t, w.top, before)
	}
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// Hard links inside: a file of several names is read, and not written to.
func TestHardLinks(t *testing.T) {
	w := newWorld(t)
	must(t, os.Link(w.outside+"/victim", w.work+"/h"))
	a, r := under(t, w.grant()), rootAt(t, w.work)
	if text, err := read(t.Context(), a, r, "h"); text != harmless {
		t.Errorf("%q, %v", text, err)
	}
	before := snapshot(t, w.top)
	wantReason(t, "h", write(t.Context(), a, r, "h"), durward.HardLink)
	unchanged(t, w.top, before)
}

// While somebody swaps what a name leads to, nothing is read that is denied or outside, and
// nothing is written that is protected or outside.
func TestSwaps(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{
		"work/good/file": harmless, "work/denied/file": secret, "work/.git/hooks/file": harmless, "work/.env": secret,
	} {
		w.file(t, name, text)
	}
	must(t, os.Symlink("good", w.work+"/a"))
	must(t, os.Symlink("denied", w.work+"/b"))
	must(t, os.Symlink("../outside/dir", w.work+"/c"))
	must(t, os.Symlink(".git/hooks", w.work+"/d"))
	must(t, os.Symlink("file", w.work+"/e"))
	must(t, os.Symlink(".env", w.work+"/f"))
	must(t, os.Link(w.work+"/.env", w.work+"/h"))
	g := w.grant()
	g.Files.Deny = []string{w.work + "/denied", w.work + "/.env"}
	g.Files.Protect = []string{w.work + "/.git"}
	a, r := under(t, g), rootAt(t, w.work)
	before := []map[string]string{snapshot(t, w.outside), snapshot(t, w.work+"/denied"), snapshot(t, w.work+"/.git")}

	stop := make(chan struct{})
	var swaps sync.WaitGroup
	for _, names := range [][]string{{"a", "b", "c", "d"}, {"e", "f", "sub/file", "h"}} {
		swaps.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = exchange(filepath.Join(w.work, names[0]), filepath.Join(w.work, names[1+i%3])) // one of them may not be there
				}
			}
		})
	}
	done, refusals := 0, 0
	for i := range 1500 {
		for _, name := range []string{"a/file", "e", "h"} {
			switch text, err := read(t.Context(), a, r, name); {
			case err != nil:
				refusals++
			case text == secret:
				t.Errorf("%s: it is read", name)
			default:
				done++
			}
		}
		if i%10 == 0 {
			_ = write(t.Context(), a, r, "a/new") // it may be refused
		}
		runtime.Gosched()
	}
	close(stop)
	swaps.Wait()
	if done == 0 || refusals == 0 {
		t.Errorf("nothing was swapped: %d were read, %d refused", done, refusals)
	}
	for i, dir := range []string{w.outside, w.work + "/denied", w.work + "/.git"} {
		unchanged(t, dir, before[i])
	}
}
