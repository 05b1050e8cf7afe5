//go:build linux || darwin

package fsroot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

func TestWriteFile(t *testing.T) {
	tests := []struct {
		name, path string
		o          WriteOptions
		lands      string // where below the root the content is then found
		reason     durward.Reason
	}{
		{"new", "new", WriteOptions{}, "new", ""},
		{"new below", "sub/new", WriteOptions{}, "sub/new", ""},
		{"new through a link inside", "indir/new", WriteOptions{}, "sub/new", ""},
		{"new with an odd name", "..new", WriteOptions{}, "..new", ""},
		{"new, may replace", "new", WriteOptions{Overwrite: true}, "new", ""},
		{"replaced", "a.txt", WriteOptions{Overwrite: true}, "a.txt", ""},
		{"replaced, may not create", "a.txt", WriteOptions{Overwrite: true, NoCreate: true}, "a.txt", ""},
		{"other name of a file replaced", "hard", WriteOptions{Overwrite: true, AllowHardLink: true}, "hard", ""},
		{"parents made", "p/q/new", WriteOptions{CreateParents: true}, "p/q/new", ""},
		{"parents there", "sub/deep/new", WriteOptions{CreateParents: true}, "sub/deep/new", ""},
		{"parents made below a link", "indir/./p//q/new", WriteOptions{CreateParents: true}, "sub/p/q/new", ""},
		{"up through what exists", "sub/../p/new", WriteOptions{CreateParents: true}, "p/new", ""},
		{"exactly the limit", "new", WriteOptions{Rules: Rules{MaxBytes: 7}}, "new", ""},

		{"exists", "a.txt", WriteOptions{}, "", durward.FileExists},
		{"may not create", "new", WriteOptions{NoCreate: true}, "", durward.FileNotFound},
		{"over the limit", "new", WriteOptions{Rules: Rules{MaxBytes: 6}}, "", durward.MaxFileBytes},
		{"over the limit, replacing", "a.txt", WriteOptions{Overwrite: true, Rules: Rules{MaxBytes: 6}}, "", durward.MaxFileBytes},
		{"over the limit, parents made", "p/q/new", WriteOptions{CreateParents: true, Rules: Rules{MaxBytes: 6}}, "", durward.MaxFileBytes},
		{"two links", "hard", WriteOptions{Overwrite: true}, "", durward.HardLink},
		{"no parent", "p/new", WriteOptions{}, "", durward.ParentMissing},
		{"no parent, link to nothing", "dangling/new", WriteOptions{}, "", durward.ParentMissing},
		{"parent is a link to nothing", "dangling/new", WriteOptions{CreateParents: true}, "", durward.SymlinkTarget},
		{"up from what does not exist", "p/../../outside/new", WriteOptions{CreateParents: true}, "", durward.FileNotFound},
		{"up inside from it", "p/../new", WriteOptions{CreateParents: true}, "", durward.FileNotFound},
		{"parent is a file", "a.txt/new", WriteOptions{CreateParents: true}, "", durward.NotADirectory},
		{"parent is a fifo", "fifo/new", WriteOptions{CreateParents: true}, "", durward.NotADirectory},
		{"parent loops", "loop/new", WriteOptions{CreateParents: true}, "", durward.SymlinkLoop},

		{"link inside", "in", WriteOptions{Overwrite: true}, "", durward.SymlinkTarget},
		{"link inside, may not replace", "in", WriteOptions{}, "", durward.SymlinkTarget},
		{"link outside", "out", WriteOptions{Overwrite: true}, "", durward.SymlinkTarget},
		{"link to nothing outside", "outabsent", WriteOptions{}, "", durward.SymlinkTarget},
		{"link to nothing inside", "dangling", WriteOptions{}, "", durward.SymlinkTarget},
		{"directory", "sub", WriteOptions{Overwrite: true}, "", durward.NotRegularFile},
		{"directory with a slash", "sub/", WriteOptions{Overwrite: true}, "", durward.NotRegularFile},
		{"the root", ".", WriteOptions{Overwrite: true}, "", durward.NotRegularFile},
		{"up to a directory", "sub/..", WriteOptions{Overwrite: true}, "", durward.NotRegularFile},
		{"fifo", "fifo", WriteOptions{Overwrite: true}, "", durward.NotRegularFile},
		{"socket", "sock", WriteOptions{Overwrite: true}, "", durward.NotRegularFile},
		{"file with a slash", "a.txt/", WriteOptions{Overwrite: true}, "", durward.NotADirectory},
		{"nothing with a slash", "p/", WriteOptions{CreateParents: true}, "", durward.FileNotFound},

		{"outside", "../outside/new", WriteOptions{CreateParents: true}, "", durward.OutsideRoot},
		{"outside, existing", "../outside/secret", WriteOptions{Overwrite: true}, "", durward.OutsideRoot},
		{"beside the root", "../new", WriteOptions{}, "", durward.OutsideRoot},
		{"up and no more", "..", WriteOptions{Overwrite: true}, "", durward.OutsideRoot},
		{"absolute", "/new", WriteOptions{}, "", durward.OutsideRoot},
		{"through a link outside", "outdir/new", WriteOptions{CreateParents: true}, "", durward.OutsideRoot},
		{"parents through a link outside", "outdir/p/q/new", WriteOptions{CreateParents: true}, "", durward.OutsideRoot},
		{"through a link to nothing outside", "outabsent/new", WriteOptions{CreateParents: true}, "", durward.OutsideRoot},
		{"empty", "", WriteOptions{}, "", durward.EmptyPath},
		{"NUL", "new\x00", WriteOptions{}, "", durward.NULInPath},
		{"name too long", strings.Repeat("x", 256), WriteOptions{}, "", durward.PathTooLong},
	}
	eachOpener(t, func(t *testing.T, by opener) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				tr := newTree(t)
				r := open(t, tr.root, by)
				before := snapshot(t, tr.top)
				n, err := r.WriteFile(t.Context(), tt.path, strings.NewReader("content"), tt.o)
				if tt.reason != "" {
					wantReason(t, err, tt.reason)
					unchanged(t, tr.top, before)
					return
				}
				must(t, err)
				got, err := os.ReadFile(tr.at(tt.lands))
				must(t, err)
				if string(got) != "content" || n != 7 {
					t.Fatalf("%d bytes, holds %q", n, got)
				}
				if left := leftovers(t, tr.top); len(left) > 0 {
					t.Fatalf("left behind: %v", left)
				}
			})
		}
	})
}

func TestReplacingALinkKeepsTheOtherName(t *testing.T) {
	tr := newTree(t)
	r := open(t, tr.root, systemOpener())
	_, err := r.WriteFile(t.Context(), "hard", strings.NewReader("new"), WriteOptions{Overwrite: true, AllowHardLink: true})
	must(t, err)
	if got, _ := os.ReadFile(tr.at("sub/b.txt")); string(got) != "b" {
		t.Fatalf("the other name holds %q", got)
	}
}

func TestModes(t *testing.T) {
	tr := newTree(t)
	r := open(t, tr.root, systemOpener())
	_, err := r.WriteFile(t.Context(), "p/new", strings.NewReader("x"), WriteOptions{CreateParents: true})
	must(t, err)
	if got := mode(t, tr.at("p/new")); got != "0600" {
		t.Errorf("new file: %s", got)
	}
	if got := mode(t, tr.at("p")); got != "0700" {
		t.Errorf("new directory: %s", got)
	}
	for _, bits := range []uint32{0o644, 0o755, 0o400, 0o640, 0o4755, 0o2755, 0o604, 0} {
		must(t, os.Remove(tr.at("a.txt")))
		tr.file(t, "a.txt", "old")
		must(t, unix.Chmod(tr.at("a.txt"), bits))
		_, err := r.WriteFile(t.Context(), "a.txt", strings.NewReader("x"), WriteOptions{Overwrite: true})
		must(t, err)
		var st unix.Stat_t
		must(t, unix.Stat(tr.at("a.txt"), &st))
		if got, want := uint32(st.Mode)&0o7777, bits&0o777; got != want {
			t.Errorf("%04o became %04o, want %04o", bits, got, want)
		}
	}
}

// TestOwner: root keeps a file its owner's; a user who cannot gives no class of users
// more than every class had.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can make a file of another user
	}
	tr := newTree(t)
	must(t, os.Chmod(tr.root, 0o777))
	must(t, os.Chmod(tr.top, 0o755))
	must(t, os.Chown(tr.at("a.txt"), 1234, 1235))
	must(t, os.Chmod(tr.at("a.txt"), 0o664))
	_, err := open(t, tr.root, systemOpener()).WriteFile(t.Context(), "a.txt", strings.NewReader("x"), WriteOptions{Overwrite: true})
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Stat(tr.at("a.txt"), &st))
	if st.Uid != 1234 || st.Gid != 1235 || st.Mode&0o7777 != 0o664 {
		t.Fatalf("%d:%d %04o", st.Uid, st.Gid, st.Mode&0o7777)
	}
}

func TestInheritWithoutTheRightToChown(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	for old, want := range map[uint32]uint32{0o664: 0o644, 0o640: 0o600, 0o604: 0o600, 0o666: 0o666, 0o777: 0o777, 0o070: 0} {
		tr := newTree(t)
		fd, err := unix.Open(tr.root, listFlags, 0)
		must(t, err)
		tmp, err := target{dir: fd, name: "x"}.makeTemp()
		must(t, err)
		var st unix.Stat_t // of a file that root owns
		must(t, unix.Chmod(tr.at("a.txt"), old))
		must(t, unix.Stat(tr.at("a.txt"), &st))
		st.Uid, st.Gid = 0, 0
		must(t, tmp.inherit(&st))
		if got := mode(t, tr.at(tmp.name)); got != fmt.Sprintf("%04o", want) {
			t.Errorf("%04o became %s, want %04o", old, got, want)
		}
		tmp.discard()
		unix.Close(fd)
	}
}

// A cancelling reader ends the context after its first chunk and goes on giving.
type cancelling struct {
	cancel context.CancelFunc
	left   int
}

func (c *cancelling) Read(p []byte) (int, error) {
	c.cancel()
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return len(p), nil
}

func TestWriteThatEndsEarly(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name   string
		from   func(cancel context.CancelFunc) io.Reader
		reason durward.Reason
		kind   durward.Kind
	}{
		{"cancelled before", func(cancel context.CancelFunc) io.Reader {
			cancel()
			return strings.NewReader("x")
		}, durward.CallCancelled, durward.Cancelled},
		{"cancelled in the middle", func(cancel context.CancelFunc) io.Reader {
			return &cancelling{cancel, 3}
		}, durward.CallCancelled, durward.Cancelled},
		{"cancelled at the end", func(cancel context.CancelFunc) io.Reader {
			return &cancelling{cancel, 0}
		}, durward.CallCancelled, durward.Cancelled},
		{"reader breaks", func(context.CancelFunc) io.Reader {
			return io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
		}, durward.FileIO, durward.Internal},
		{"reader refuses", func(context.CancelFunc) io.Reader {
			return iotest.ErrReader(&durward.Error{Reason: durward.BodyTooLarge})
		}, durward.BodyTooLarge, durward.TooLarge},
	}
	for _, tt := range tests {
		for _, path := range []string{"new", "a.txt", "p/q/new"} {
			t.Run(tt.name+" "+path, func(t *testing.T) {
				tr := newTree(t)
				r := open(t, tr.root, systemOpener())
				before := snapshot(t, tr.top)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, err := r.WriteFile(ctx, path, tt.from(cancel), WriteOptions{Overwrite: true, CreateParents: true})
				wantReason(t, err, tt.reason)
				if got := durward.KindOf(err); got != tt.kind {
					t.Errorf("kind %v, want %v", got, tt.kind)
				}
				unchanged(t, tr.top, before)
			})
		}
	}
}

func TestFileThatAppearsMeanwhileIsNotReplaced(t *testing.T) {
	tr := newTree(t)
	r := open(t, tr.root, systemOpener())
	from := &onceThenEOF{do: func() { tr.file(t, "new", "theirs") }}
	_, err := r.WriteFile(t.Context(), "new", from, WriteOptions{})
	wantReason(t, err, durward.FileExists)
	if got, _ := os.ReadFile(tr.at("new")); string(got) != "theirs" {
		t.Fatalf("holds %q", got)
	}
	if left := leftovers(t, tr.top); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestLinkThatAppearsMeanwhileIsReplacedNotFollowed(t *testing.T) {
	tr := newTree(t)
	r := open(t, tr.root, systemOpener())
	from := &onceThenEOF{do: func() {
		must(t, os.Remove(tr.at("a.txt")))
		must(t, os.Symlink("../outside/secret", tr.at("a.txt")))
	}}
	_, err := r.WriteFile(t.Context(), "a.txt", from, WriteOptions{Overwrite: true})
	must(t, err)
	if got, _ := os.ReadFile(filepath.Join(tr.outside, "secret")); string(got) != secret {
		t.Fatalf("the outside holds %q", got)
	}
	if st, err := os.Lstat(tr.at("a.txt")); err != nil || !st.Mode().IsRegular() {
		t.Fatalf("%v %v", st, err)
	}
}

// onceThenEOF does something while it is read, and holds nothing.
type onceThenEOF struct{ do func() }

func (o *onceThenEOF) Read([]byte) (int, error) {
	o.do()
	return 0, io.EOF
}

func TestLinkNewDoesNotReplace(t *testing.T) {
	tr := newTree(t)
	fd, err := unix.Open(tr.root, listFlags, 0)
	must(t, err)
	defer unix.Close(fd)
	tr.file(t, "from", "new")
	if err := linkNew(fd, "from", "a.txt"); err != unix.EEXIST {
		t.Fatalf("over a file: %v", err)
	}
	if err := linkNew(fd, "from", "outabsent"); err != unix.EEXIST {
		t.Fatalf("over a link: %v", err)
	}
	must(t, linkNew(fd, "from", "to"))
	if got, _ := os.ReadFile(tr.at("to")); string(got) != "new" {
		t.Fatalf("holds %q", got)
	}
	if _, err := os.Lstat(tr.at("from")); !os.IsNotExist(err) {
		t.Fatal("the old name is still there")
	}
}

func TestConcurrentWritersLeaveOneWhole(t *testing.T) {
	tr := newTree(t)
	r := open(t, tr.root, systemOpener())
	errs := make(chan error)
	texts := []string{}
	for i := range 16 {
		text := strings.Repeat(string(rune('a'+i)), 200_000)
		texts = append(texts, text)
		go func() {
			_, err := r.WriteFile(t.Context(), "a.txt", strings.NewReader(text), WriteOptions{Overwrite: true})
			errs <- err
		}()
	}
	for range texts {
		must(t, <-errs)
	}
	got, err := os.ReadFile(tr.at("a.txt"))
	must(t, err)
	if !slices.Contains(texts, string(got)) {
		t.Fatalf("a mixture of %d bytes", len(got))
	}
	if left := leftovers(t, tr.top); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}
