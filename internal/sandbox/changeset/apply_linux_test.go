package changeset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// Several workspaces are one: what is refused in the last keeps the first as it was.
func TestOverlaySeveralSets(t *testing.T) {
	one, two := newWorld(t, plain), newWorld(t, plain)
	one.shell(t, "rm -r d; echo n >n")
	two.shell(t, "echo n >>a; ln -s a l")
	before := tree(t, one.lower)
	files := durward.Files{Write: []string{one.lower, two.lower}}
	sets := []*Set{one.read(t), two.read(t)}
	reason(t, Apply(t.Context(), files, anywhere, sets...), durward.SymlinkTarget)
	same(t, "the first", tree(t, one.lower), before)
	reason(t, Apply(t.Context(), one.files(), anywhere, sets...), durward.OutsideRoot)
	same(t, "the first", tree(t, one.lower), before)
	must(t, Apply(t.Context(), files, anywhere, sets[0]))
	if _, err := os.Stat(one.lower + "/n"); err != nil {
		t.Error(err)
	}
}

const busy = `echo n >>a; rm b; chmod 700 d; rm -r d/e; echo n >d/n; mkdir -p m/n; echo n >m/n/o; rm -r f; echo n >f; rmdir e; echo n >e`

// A turn is a context that has something done when it is looked at, and ends when that says
// so.
type turn struct {
	context.Context
	act   func() bool
	ended *bool
}

func (c turn) Err() error {
	if !*c.ended && !c.act() {
		return nil
	}
	*c.ended = true
	return context.Canceled
}

func acting(t *testing.T, act func() bool) context.Context {
	return turn{t.Context(), act, new(bool)}
}

// Wherever Apply is stopped, everything is as it was, and it can be called again.
func TestOverlayTakesBack(t *testing.T) {
	w := newWorld(t, plain)
	var seen map[string]string
	w.command(t, func(merged string) {
		shellIn(t, merged, busy)
		seen = tree(t, merged)
	})
	s := w.read(t)
	before := tree(t, w.lower)
	stops := 0
	for ; ; stops++ {
		looks := 0
		err := Apply(acting(t, func() bool { looks++; return looks > stops }), w.files(), anywhere, s)
		if err == nil {
			break
		}
		reason(t, err, durward.CallCancelled)
		same(t, fmt.Sprintf("the workspace after %d looks", stops), tree(t, w.lower), before)
	}
	if stops < 20 {
		t.Errorf("it was stopped at %d places only", stops)
	}
	same(t, "the workspace", tree(t, w.lower), seen)
}

// Somebody changes what is to go when all that is new already lies beside its place. What
// he made is there afterwards, and nothing else is new.
func TestOverlayChangedAtTheLastMoment(t *testing.T) {
	for name, change := range map[string]func(lower string){
		"a file":                        func(lower string) { put(t, lower+"/a", "theirs\n") },
		"a file in a directory":         func(lower string) { put(t, lower+"/f/a", "theirs\n") },
		"another file in a directory":   func(lower string) { put(t, lower+"/d/e/n", "theirs\n") },
		"a file in an empty directory":  func(lower string) { put(t, lower+"/e/n", "theirs\n") },
		"a file where there was none":   func(lower string) { put(t, lower+"/d/n", "theirs\n") },
		"a link where there was a file": func(lower string) { must(t, os.Remove(lower+"/b")); must(t, os.Symlink("a", lower+"/b")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			w.shell(t, busy)
			s := w.read(t)
			var with map[string]string
			ctx := acting(t, func() bool {
				if made, _ := filepath.Glob(w.lower + "/.durward-*"); len(made) == 4 && with == nil {
					change(w.lower)
					with = tree(t, w.lower)
				}
				return false
			})
			reason(t, Apply(ctx, w.files(), anywhere, s), durward.ChangedMeanwhile)
			for path := range with {
				if strings.Contains(path, ".durward-") {
					delete(with, path)
				}
			}
			same(t, "the workspace", tree(t, w.lower), with)
		})
	}
}

// Where what was done cannot be taken back, it is told what was done and what was not.
func TestOverlayPartly(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "one\n", "b": "two\n"})
	w.shell(t, "echo n >>a; echo n >>b")
	s := w.read(t)
	err := Apply(acting(t, func() bool {
		if text, _ := os.ReadFile(w.lower + "/a"); string(text) != "one\nn\n" {
			return false
		}
		must(t, os.Remove(w.lower+"/a"))
		put(t, w.lower+"/a", "theirs\n")
		return true
	}), w.files(), anywhere, s)
	reason(t, err, durward.PartlyApplied)
	p := durward.AsError(err).Err.(*Partial)
	same(t, "what was applied", p.Applied, []string{w.lower + "/a"})
	same(t, "what is left", p.Left, []string{w.lower + "/b"})
	if len(p.Remains) != 1 {
		t.Fatalf("it remains %q", p.Remains)
	}
	for name, want := range map[string]string{p.Remains[0]: "one\n", w.lower + "/a": "theirs\n", w.lower + "/b": "two\n"} {
		if text, err := os.ReadFile(name); string(text) != want {
			t.Errorf("%s holds %q: %v", name, text, err)
		}
	}
	must(t, w.apply(s))
	if text, _ := os.ReadFile(w.lower + "/b"); string(text) != "two\nn\n" {
		t.Errorf("what was left is %q", text)
	}
}

func TestOverlayFullDisk(t *testing.T) {
	w := newWorld(t, nil)
	must(t, unix.Mount("small", w.lower, "tmpfs", 0, "size=1m,mode=0755"))
	t.Cleanup(func() { must(t, unix.Unmount(w.lower, 0)) })
	for name, text := range plain {
		if !strings.HasSuffix(name, "/") {
			put(t, w.lower+"/"+name, text)
		}
	}
	var seen map[string]string
	w.command(t, func(merged string) {
		shellIn(t, merged, "rm b; rm -r d; echo n >>a; dd if=/dev/zero of=large bs=65536 count=32 2>/dev/null; echo n >n")
		seen = tree(t, merged)
	})
	s, before := w.read(t), tree(t, w.lower)
	err := w.apply(s)
	reason(t, err, durward.NoSpace)
	same(t, "the workspace", tree(t, w.lower), before)
	must(t, unix.Mount("small", w.lower, "tmpfs", unix.MS_REMOUNT, "size=8m"))
	must(t, w.apply(s))
	same(t, "the workspace", tree(t, w.lower), seen)
}
