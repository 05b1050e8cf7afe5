//go:build linux || darwin

package fsroot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

func TestOpenFile(t *testing.T) {
	tr := newTree(t)
	long := strings.Repeat("x/", 2048)
	tests := []struct {
		name, path, want string
		reason           durward.Reason
	}{
		{"a file", "a.txt", "hello", ""},
		{"below a directory", "sub/b.txt", "b", ""},
		{"single dots", "./sub/././b.txt", "b", ""},
		{"doubled slashes", "sub//b.txt", "b", ""},
		{"up and down inside", "sub/../a.txt", "hello", ""},
		{"up twice", "sub/deep/../../a.txt", "hello", ""},
		{"link to a file", "in", "b", ""},
		{"link to a directory", "indir/b.txt", "b", ""},
		{"link with a slash at its end", "indirs/b.txt", "b", ""},
		{"link that goes down and up", "updown", "hello", ""},
		{"link that goes up inside", "sub/up", "hello", ""},
		{"up after a link is the physical parent", "indir/../a.txt", "hello", ""},
		{"chain of links", "chain", "b", ""},
		{"hard link", "hard", "b", ""},

		{"empty", "", "", durward.EmptyPath},
		{"NUL", "a.txt\x00.png", "", durward.NULInPath},
		{"too long", long + "x", "", durward.PathTooLong},
		{"long as can be, and absent", long, "", durward.FileNotFound},
		{"a component that is too long", strings.Repeat("x", 256), "", durward.PathTooLong},

		{"absent", "nothing", "", durward.FileNotFound},
		{"absent directory", "nothing/../a.txt", "", durward.FileNotFound},
		{"link to nothing inside", "dangling", "", durward.FileNotFound},
		{"slash after a file", "a.txt/", "", durward.NotADirectory},
		{"dot after a file", "a.txt/.", "", durward.NotADirectory},
		{"up through a file", "a.txt/..", "", durward.NotADirectory},
		{"through a file", "a.txt/b", "", durward.NotADirectory},
		{"link to a file with a slash", "fileslash", "", durward.NotADirectory},
		{"loop", "loop", "", durward.SymlinkLoop},
		{"a link into itself", "self", "", durward.SymlinkLoop},

		{"up", "../outside/secret", "", durward.OutsideRoot},
		{"up, to nothing", "../outside/nothing", "", durward.OutsideRoot},
		{"up, through nothing", "../nowhere/nothing", "", durward.OutsideRoot},
		{"up from below", "sub/../../outside/secret", "", durward.OutsideRoot},
		{"a name that begins alike", "../root-evil/secret", "", durward.OutsideRoot},
		{"only up", "..", "", durward.OutsideRoot},
		{"out and back in", "../root/a.txt", "", durward.OutsideRoot},
		{"absolute", tr.at("a.txt"), "", durward.OutsideRoot},
		{"absolute, outside", "/etc/passwd", "", durward.OutsideRoot},
		{"absolute, to nothing", "/nowhere/nothing", "", durward.OutsideRoot},
		{"link to the outside", "out", "", durward.OutsideRoot},
		{"link to nothing outside", "outabsent", "", durward.OutsideRoot},
		{"through a link to the outside", "outdir/secret", "", durward.OutsideRoot},
		{"through it to nothing", "outdir/nothing", "", durward.OutsideRoot},
		{"up after a link to the outside", "outdeep/../secret", "", durward.OutsideRoot},
		{"up after it, textually inside", "outdeep/../a.txt", "", durward.OutsideRoot},
		{"chain to the outside", "outchain", "", durward.OutsideRoot},
		{"absolute link", "abs", "", durward.OutsideRoot},
		{"absolute link to the inside", "absin", "", durward.OutsideRoot},
		{"absolute link to nothing", "absabsent", "", durward.OutsideRoot},
		{"link to /", "slash/etc/passwd", "", durward.OutsideRoot},
		{"link that leaves and comes back", "andback", "", durward.OutsideRoot},

		{"the root itself", ".", "", durward.NotRegularFile},
		{"directory", "sub", "", durward.NotRegularFile},
		{"directory with a slash", "sub/", "", durward.NotRegularFile},
		{"up to a directory", "sub/deep/..", "", durward.NotRegularFile},
		{"link to a directory", "indir", "", durward.NotRegularFile},
		{"fifo", "fifo", "", durward.NotRegularFile},
		{"socket", "sock", "", durward.NotRegularFile},
		{"through a fifo", "fifo/x", "", durward.NotADirectory},
	}
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				got, err := read(r, tt.path, Rules{})
				if tt.reason != "" {
					wantReason(t, err, tt.reason)
					return
				}
				must(t, err)
				if got != tt.want {
					t.Fatalf("read %q, want %q", got, tt.want)
				}
			})
		}
	})
}

// TestNothingIsToldOfTheOutside compares whole errors: what exists outside and what
// does not must read the same, and neither may say where a link led.
func TestNothingIsToldOfTheOutside(t *testing.T) {
	tr := newTree(t)
	pairs := [][2]string{
		{"outdir/secret", "outdir/nothng"},
		{"../outside/secret", "../outside/nothng"},
		{"../outside/deep/x", "../nothing/deep/x"},
		{filepath.Join(tr.outside, "secret"), filepath.Join(tr.outside, "nothng")},
	}
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		for _, pair := range pairs {
			_, present := r.OpenFile(pair[0], Rules{})
			_, absent := r.OpenFile(pair[1], Rules{})
			wantReason(t, present, durward.OutsideRoot)
			if strings.ReplaceAll(present.Error(), pair[0], "") != strings.ReplaceAll(absent.Error(), pair[1], "") {
				t.Errorf("%q and %q differ", present, absent)
			}
		}
		_, err := r.OpenFile("abs", Rules{})
		if strings.Contains(err.Error(), tr.outside) {
			t.Errorf("the error names the target: %v", err)
		}
	})
}

func TestFileVerdicts(t *testing.T) {
	tr := newTree(t)
	tests := []struct {
		name, path string
		rules      Rules
		reason     durward.Reason
	}{
		{"one link", "a.txt", Rules{DenyHardLinks: true}, ""},
		{"two links", "hard", Rules{DenyHardLinks: true}, durward.HardLink},
		{"at the limit", "a.txt", Rules{MaxBytes: 5}, ""},
		{"over the limit", "a.txt", Rules{MaxBytes: 4}, durward.MaxFileBytes},
	}
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				_, err := read(r, tt.path, tt.rules)
				if tt.reason == "" {
					must(t, err)
					return
				}
				wantReason(t, err, tt.reason)
			})
		}
	})
}

func TestInfoIsThatOfTheFile(t *testing.T) {
	tr := newTree(t)
	eachOpener(t, func(t *testing.T, by opener) {
		f, err := open(t, tr.root, by).OpenFile("hard", Rules{})
		must(t, err)
		defer f.Close()
		var st unix.Stat_t
		must(t, unix.Stat(tr.at("sub/b.txt"), &st))
		want := Info{
			Size: 1, Mode: 0o644, UID: uint32(os.Geteuid()), GID: st.Gid,
			Links: 2, Device: uint64(st.Dev), Inode: st.Ino,
			Modified: time.Unix(st.Mtim.Unix()), Changed: time.Unix(st.Ctim.Unix()),
		}
		if f.Info != want {
			t.Fatalf("%+v, want %+v", f.Info, want)
		}
	})
}

func TestOpenDir(t *testing.T) {
	tr := newTree(t)
	tests := []struct {
		path, holds string
		reason      durward.Reason
	}{
		{".", "a.txt", ""},
		{"sub", "b.txt", ""},
		{"sub/", "b.txt", ""},
		{"sub/deep/..", "b.txt", ""},
		{"indir", "b.txt", ""},
		{"a.txt", "", durward.NotADirectory},
		{"in", "", durward.NotADirectory},
		{"fifo", "", durward.NotADirectory},
		{"nothing", "", durward.FileNotFound},
		{"..", "", durward.OutsideRoot},
		{"outdir", "", durward.OutsideRoot},
		{"/", "", durward.OutsideRoot},
		{"", "", durward.EmptyPath},
	}
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		for _, tt := range tests {
			t.Run(tt.path, func(t *testing.T) {
				d, err := r.OpenDir(tt.path, Rules{})
				if tt.reason != "" {
					wantReason(t, err, tt.reason)
					return
				}
				must(t, err)
				defer d.Close()
				list, err := d.Readdirnames(-1)
				must(t, err)
				if !strings.Contains(strings.Join(list, " "), tt.holds) {
					t.Fatalf("holds %v, want %s among them", list, tt.holds)
				}
			})
		}
	})
}

func TestOpenPlainDirFollowsNothing(t *testing.T) {
	tr := newTree(t)
	tests := []struct {
		path   string
		reason durward.Reason
	}{
		{".", ""},
		{"sub", ""},
		{"sub/deep/../", ""},
		{"a.txt", durward.NotADirectory},
		{"a.txt/x", durward.NotADirectory},
		{"fifo", durward.NotADirectory},
		{"nothing", durward.FileNotFound},
		{"..", durward.OutsideRoot},
		{"/", durward.OutsideRoot},
		{"", durward.EmptyPath},
		{"indir", durward.SymlinkTarget},
		{"indir/", durward.SymlinkTarget},
		{"indir/deep", durward.SymlinkTarget},
		{"in", durward.SymlinkTarget},
		{"loop", durward.SymlinkTarget},
		{"dangling", durward.SymlinkTarget},
		{"outdir", durward.SymlinkTarget},
		{"slash", durward.SymlinkTarget},
		{"abs", durward.SymlinkTarget},
	}
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		for _, tt := range tests {
			d, err := r.OpenPlainDir(tt.path, Rules{})
			if tt.reason == "" {
				must(t, err)
				must(t, d.Close())
				continue
			}
			if durward.ReasonOf(err) != tt.reason || d != nil {
				t.Errorf("%q: %v, want %s", tt.path, err, tt.reason)
			}
		}
	})
}

// Where no link may be, none is followed, and a file in a plain directory is as before.
func TestNoLinksInTheNameOfAFile(t *testing.T) {
	rules := Rules{NoLinks: true}
	eachOpener(t, func(t *testing.T, by opener) {
		tr := newTree(t)
		r := open(t, tr.root, by)
		for _, name := range []string{"a.txt", "sub/../a.txt", "hard"} {
			_, err := read(r, name, rules)
			must(t, err)
			h, err := r.FindFile(name, rules)
			must(t, err)
			must(t, h.Close())
		}
		for _, name := range []string{"in", "indir/b.txt", "sub/up", "chain", "loop", "dangling", "out", "outdir/secret"} {
			_, err := read(r, name, rules)
			wantReason(t, err, durward.SymlinkTarget)
			_, err = r.FindFile(name, rules)
			wantReason(t, err, durward.SymlinkTarget)
		}
		o := WriteOptions{Rules: rules, Overwrite: true, CreateParents: true}
		for _, name := range []string{"indir/b.txt", "indir/new", "indir/new/er", "in", "dangling"} {
			before := snapshot(t, tr.top)
			_, err := r.WriteFile(t.Context(), name, strings.NewReader("x"), o)
			wantReason(t, err, durward.SymlinkTarget)
			unchanged(t, tr.top, before)
		}
		_, err := r.WriteFile(t.Context(), "sub/new/er", strings.NewReader("x"), o)
		must(t, err)
	})
}

func TestLinksAreCountedAsTheKernelCounts(t *testing.T) {
	tr := newTree(t)
	tr.file(t, "end", "end")
	last := "end"
	for i := range 41 {
		name := "link" + strings.Repeat("i", i+1)
		must(t, os.Symlink(last, tr.at(name)))
		last = name
	}
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		got, err := read(r, "link"+strings.Repeat("i", 40), Rules{})
		must(t, err)
		if got != "end" {
			t.Fatalf("read %q", got)
		}
		_, err = read(r, last, Rules{})
		wantReason(t, err, durward.SymlinkLoop)
	})
}

// TestFifoIsNotOpened: opening a FIFO for reading would let a writer that waits for a
// reader go on, and so would be seen.
func TestFifoIsNotOpened(t *testing.T) {
	tr := newTree(t)
	eachOpener(t, func(t *testing.T, by opener) {
		_, err := open(t, tr.root, by).OpenFile("fifo", Rules{})
		wantReason(t, err, durward.NotRegularFile)
		// Nobody reads: opening the other end without waiting fails.
		fd, err := unix.Open(tr.at("fifo"), unix.O_WRONLY|unix.O_NONBLOCK, 0)
		if err != unix.ENXIO {
			unix.Close(fd)
			t.Fatalf("the fifo has a reader: %v", err)
		}
	})
}

func TestUnreadableFile(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	tr := newTree(t)
	must(t, os.Chmod(tr.at("a.txt"), 0))
	must(t, os.Mkdir(tr.at("closed"), 0o700))
	tr.file(t, "closed/x", "x")
	must(t, os.Mkdir(tr.at("listed"), 0o700))
	must(t, os.Chmod(tr.at("closed"), 0))
	must(t, os.Chmod(tr.at("listed"), 0o400))
	t.Cleanup(func() { os.Chmod(tr.at("closed"), 0o700); os.Chmod(tr.at("listed"), 0o700) })
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		for _, name := range []string{"a.txt", "closed/x", "closed/./x", "closed/../a.txt", "listed/../sub/b.txt"} {
			_, err := r.OpenFile(name, Rules{})
			wantReason(t, err, durward.FilePermission)
		}
		for _, name := range []string{"closed", "listed", "closed/.", "listed/.", "listed/.."} {
			_, err := r.OpenDir(name, Rules{})
			wantReason(t, err, durward.FilePermission)
		}
	})
}

func TestClosedRoot(t *testing.T) {
	tr := newTree(t)
	r, err := Open(tr.root)
	must(t, err)
	f, err := r.OpenFile("a.txt", Rules{})
	must(t, err)
	defer f.Close()
	must(t, r.Close())
	if err := r.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
	if _, err := r.OpenFile("a.txt", Rules{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("open: %v", err)
	}
	if _, err := r.WriteFile(t.Context(), "n", strings.NewReader("x"), WriteOptions{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if _, err := f.OS().Stat(); err != nil {
		t.Errorf("a file opened before: %v", err)
	}
}

func TestOpenRoot(t *testing.T) {
	tr := newTree(t)
	must(t, os.Symlink("root", filepath.Join(tr.top, "rootlink")))
	for _, dir := range []string{tr.root, tr.root + "/", tr.outside + "/../root", filepath.Join(tr.top, "rootlink")} {
		got, err := read(open(t, dir, systemOpener()), "a.txt", Rules{})
		must(t, err)
		if got != "hello" {
			t.Errorf("%s: read %q", dir, got)
		}
	}
	for dir, reason := range map[string]durward.Reason{
		"":                 durward.EmptyPath,
		"a\x00b":           durward.NULInPath,
		tr.at("a.txt"):     durward.NotADirectory,
		tr.at("nothing"):   durward.FileNotFound,
		tr.at("fifo"):      durward.NotADirectory,
		tr.at("loop"):      durward.SymlinkLoop,
		tr.at("indir/..x"): durward.FileNotFound,
	} {
		_, err := Open(dir)
		wantReason(t, err, reason)
	}
}

// TestRootStaysWhatItWas: a root is the directory, not the name.
func TestRootStaysWhatItWas(t *testing.T) {
	tr := newTree(t)
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		must(t, os.Rename(tr.root, tr.root+"-moved"))
		must(t, os.Symlink("outside", tr.root))
		defer func() {
			must(t, os.Remove(tr.root))
			must(t, os.Rename(tr.root+"-moved", tr.root))
		}()
		got, err := read(r, "a.txt", Rules{})
		must(t, err)
		if got != "hello" {
			t.Fatalf("read %q", got)
		}
		_, err = read(r, "secret", Rules{})
		wantReason(t, err, durward.FileNotFound)
	})
}

// TestSwappedDirectory opens through a directory that is replaced by a link to the
// outside and back all the while.
func TestSwappedDirectory(t *testing.T) {
	const opens = 4000
	tr := newTree(t)
	must(t, os.Mkdir(tr.at("swap"), 0o755))
	tr.file(t, "swap/secret", "inside")
	must(t, os.Symlink("../outside", tr.at("swaplink")))
	eachOpener(t, func(t *testing.T, by opener) {
		r := open(t, tr.root, by)
		done := make(chan struct{})
		var swapping sync.WaitGroup
		swapping.Go(func() { swap(tr.at("swap"), tr.at("swaplink"), tr.at("aside"), done) })
		inside := 0
		for range opens {
			got, err := read(r, "swap/secret", Rules{})
			switch {
			case got == secret:
				t.Error("read the secret")
			case err == nil:
				inside++
			}
			// Whether this succeeds is left to the race; where it lands is not.
			_, _ = r.WriteFile(t.Context(), "swap/made", strings.NewReader("x"), WriteOptions{Overwrite: true})
		}
		close(done)
		swapping.Wait()
		if inside == 0 {
			t.Error("never read the file inside: the race was not run")
		}
		if got := names(t, tr.outside); len(got) != 2 {
			t.Errorf("the outside holds %v", got)
		}
	})
}

// swap exchanges what the names a and b stand for until done, and leaves them as they
// were.
func swap(a, b, aside string, done <-chan struct{}) {
	exchange := func() { os.Rename(a, aside); os.Rename(b, a); os.Rename(aside, b) }
	for {
		select {
		case <-done:
			return
		default:
			exchange()
			exchange()
		}
	}
}
