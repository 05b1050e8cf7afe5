//go:build linux && (amd64 || arm64)

package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/durward/durward"
)

// copying gives a workspace of the user that commands run as, with one file, and a grant
// that has what is written to it land in a copy.
func copying(t *testing.T) (dir string, g durward.Grant) {
	t.Helper()
	dir = t.TempDir()
	openToAll(t, dir)
	file := filepath.Join(dir, "old")
	must(t, os.WriteFile(file, []byte("old\n"), 0o644))
	for _, path := range []string{dir, file} {
		must(t, os.Chown(path, max(os.Getuid(), 1), max(os.Getgid(), 1)))
	}
	g = confined()
	g.Mode, g.Level, g.MinLevel, g.StepDown = durward.WorkspaceWrite, durward.LevelIsolate, durward.LevelIsolate, false
	g.Network.Mode = durward.NetNone
	g.Files = durward.Files{
		Read: []string{"/usr", "/etc"}, Write: []string{dir, durward.PrivateTmp}, Exec: []string{"/usr"},
		Links: systemLinks(t), CopyOnWrite: true,
	}
	return dir, g
}

// systemLinks gives the links at the root that lead into /usr.
func systemLinks(t *testing.T) []durward.Link {
	t.Helper()
	var list []durward.Link
	for _, name := range []string{"/bin", "/lib", "/lib64", "/sbin"} {
		if to, err := filepath.EvalSymlinks(name); err == nil && to != name {
			list = append(list, durward.Link{Path: name, To: to})
		}
	}
	return list
}

// untouched wants the workspace to be what it was.
func untouched(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "old"))
	if err != nil || string(text) != "old\n" || len(entries) != 1 {
		t.Fatalf("the workspace holds %v, the file %q: %v", entries, text, err)
	}
}

// TestChangesListWhatTheCommandDid applies them in the end, which is when they happen.
func TestChangesListWhatTheCommandDid(t *testing.T) {
	dir, g := copying(t)
	e := newEngine(t, Options{})
	c := shell("cat old; echo new > old; mkdir sub; echo x > sub/made; exit 3")
	c.Dir = dir
	r, err := e.run(t.Context(), c, g)
	if err != nil || r.Changes == nil || r.Exit == nil || *r.Exit != 3 || string(r.Stdout.Bytes()) != "old\n" {
		t.Fatalf("%+v %v, %q", r, err, r.Stderr.Bytes())
	}
	untouched(t, dir)
	want := []durward.Change{
		{Path: dir + "/old", Kind: "M", Size: 4}, {Path: dir + "/sub", Kind: "A"}, {Path: dir + "/sub/made", Kind: "A", Size: 2},
	}
	list := r.Changes.List()
	if diff := cmp.Diff(want, list, cmpopts.IgnoreFields(durward.Change{}, "SHA256")); diff != "" {
		t.Errorf("wanted (-), listed (+):\n%s", diff)
	}
	for _, one := range list {
		if one.SHA256 != "" != (one.Size > 0) {
			t.Errorf("%+v", one)
		}
	}
	var shown strings.Builder
	if err := r.Changes.Show(&shown); err != nil || !strings.HasPrefix(shown.String(), "M  old (4 B)\n") {
		t.Errorf("%v; it shows %s", err, &shown)
	}
	untouched(t, dir)
	must(t, r.Changes.Apply(t.Context()))
	must(t, r.Discard())
	if text, err := os.ReadFile(filepath.Join(dir, "sub", "made")); err != nil || string(text) != "x\n" {
		t.Errorf("%q %v", text, err)
	}
}

// TestChangesAreShownWithTheirDirectory has two copies, one of which nothing was written to.
func TestChangesAreShownWithTheirDirectory(t *testing.T) {
	dir, g := copying(t)
	other, _ := copying(t)
	g.Files.Write = append(g.Files.Write, other)
	e := newEngine(t, Options{})
	c := shell("echo x > %s/made", other)
	c.Dir = dir
	r, err := e.run(t.Context(), c, g)
	must(t, err)
	var shown strings.Builder
	must(t, r.Changes.Show(&shown))
	if got, want := shown.String(), "in "+other+":\nA  made (2 B)\n"; !strings.HasPrefix(got, want) {
		t.Errorf("it shows %q, want %q", got, want)
	}
	must(t, r.Discard())
	untouched(t, dir)
	untouched(t, other)
}

// TestChangesShowNothingThatTheCommandCouldNotRead has one put another file in the place of
// root's.
func TestChangesShowNothingThatTheCommandCouldNotRead(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the kernel keeps it from us, too")
	}
	dir, g := copying(t)
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("SECRET\n"), 0o600))
	c := shell("cat secret; rm -f secret && echo harmless >secret")
	c.Dir = dir
	r, err := newEngine(t, Options{}).run(t.Context(), c, g)
	must(t, err)
	var text strings.Builder
	must(t, r.Changes.Show(&text))
	must(t, r.Discard())
	const told = "what secret held is not shown: the command could not read it\n"
	if !strings.Contains(text.String(), told) || !strings.Contains(text.String(), "+harmless\n") || strings.Contains(text.String()+string(r.Stdout.Bytes()), "SECRET") {
		t.Errorf("it shows %s", &text)
	}
}

// TestACallThatFailsHasNoChanges ends commands by their time and by their output.
func TestACallThatFailsHasNoChanges(t *testing.T) {
	dir, g := copying(t)
	e := newEngine(t, Options{})
	g.Limits.Grace = 100 * time.Millisecond
	g.Limits.OutputHard = 10_000
	fail := func(command string, limit time.Duration, want durward.Reason) {
		t.Helper()
		c := shell("echo new > old; echo x > made; %s", command)
		c.Dir = dir
		p, err := e.Prepare(t.Context(), durward.Tool{}, c, g)
		must(t, err)
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		r, err := p.Run(ctx)
		if durward.ReasonOf(err) != want || r.Report == nil || r.Changes != nil {
			t.Fatalf("%v, %+v", err, r)
		}
	}
	rounds := func(n int) {
		t.Helper()
		for range n {
			fail("yes", time.Minute, durward.LimitOutput)
			fail("sleep 300", 300*time.Millisecond, durward.DeadlineExceeded)
		}
	}
	rounds(2) // the mounts of a grant that comes again are kept
	before := holdings(t, e)
	rounds(4)
	if after := holdings(t, e); after != before {
		t.Errorf("before: %s; after: %s", before, after)
	}
	untouched(t, dir)
}

// TestCopiesLeaveNothing runs many commands whose changes are dropped, some of them applied
// before, in rooms that are fresh and then kept.
func TestCopiesLeaveNothing(t *testing.T) {
	dir, g := copying(t)
	e := newEngine(t, Options{})
	one := func(n int) {
		t.Helper()
		c := shell("echo %d > old; mkdir sub; echo x > sub/made", n)
		c.Dir = dir
		r, err := e.run(t.Context(), c, g)
		if err != nil || len(r.Changes.List()) != 3 {
			t.Fatalf("%v, %q", err, r.Stderr.Bytes())
		}
		if n%10 == 0 {
			must(t, r.Changes.Apply(t.Context()))
			must(t, os.RemoveAll(filepath.Join(dir, "sub")))
		}
		must(t, r.Discard())
	}
	for n := range 20 {
		one(n)
	}
	before, mounts := holdings(t, e), mountsOf(t)
	for n := range 300 {
		one(n)
	}
	if after, more := holdings(t, e), mountsOf(t); after != before || more != mounts {
		t.Errorf("before: %s, %d mounts; after: %s, %d mounts", before, mounts, after, more)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("the workspace holds %v: %v", names, err)
	}
}

// holdings is belongings without the rooms that are kept for later calls: those of other tests
// may go meanwhile. They are few.
func holdings(t *testing.T, e *Engine) string {
	t.Helper()
	return heldIn(t, e, openFiles(t, e))
}

// plainHoldings is holdings without the pipes, of which Go keeps some. They are counted apart.
func plainHoldings(t *testing.T, e *Engine) (held string, pipes, mounts int) {
	t.Helper()
	named := openFiles(t, e)
	pipes = named["pipe:"]
	delete(named, "pipe:")
	return heldIn(t, e, named), pipes, mountsOf(t)
}

func heldIn(t *testing.T, e *Engine, named map[string]int) string {
	t.Helper()
	for room, most := range map[string]int{"mnt:": 8, "net:": 33} {
		if named[room] > most {
			t.Errorf("%d of %s are kept", named[room], room)
		}
		delete(named, room)
	}
	private, err := filepath.Glob(filepath.Join(e.scratch.dir(), "*", "*")) // empty ones are kept
	must(t, err)
	return fmt.Sprint(named, " children ", children(t), " private ", len(private))
}

// children counts those of this process, alive or not.
func children(t *testing.T) int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	n := 0
	for _, p := range processes {
		stat, _ := os.ReadFile(p) // it may end meanwhile
		_, after, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == itoa(os.Getpid()) {
			n++
		}
	}
	return n
}

func mountsOf(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	return strings.Count(string(text), "\n")
}
