//go:build linux && (amd64 || arm64)

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// other starts this test again as another process, which is given a directory.
func other(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), "DURWARD_TEST_OTHER="+dir)
	return c
}

// otherDir is the directory, when this is the other process.
func otherDir() (string, bool) { return os.LookupEnv("DURWARD_TEST_OTHER") }

// atWork starts the other process. It is killed when the test ends, or before by stop.
func atWork(t *testing.T, dir string) (stop func()) {
	t.Helper()
	c := other(t, dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}
	t.Cleanup(stop)
	if _, err := out.Read(make([]byte, 1)); err != nil { // it says when it works
		t.Fatal(err)
	}
	return stop
}

func setFiles(t *testing.T, n uint64) (before uint64) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	before, limit.Cur = limit.Cur, n
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return before
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// plant makes a file and the directories that lead to it.
func plant(t *testing.T, path string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte("content"), 0o600))
}

// A tree that is deeper than we may have files open is removed.
func TestPrivateDirOfAnyDepthIsRemoved(t *testing.T) {
	top, is := otherDir()
	if !is {
		top := filepath.Join(t.TempDir(), "private")
		if out, err := other(t, top).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	setFiles(t, 100)
	dig(t, top, 5000)
	must(t, removeBy(top, time.Now().Add(time.Minute)))
	if exists(top) {
		t.Fatal("it is still there")
	}
}

func dig(t *testing.T, top string, depth int) {
	t.Helper()
	must(t, os.Mkdir(top, 0o700))
	at, err := openDir(top)
	must(t, err)
	for range depth {
		must(t, unix.Mkdirat(int(at.Fd()), "d", 0o700))
		next, err := unix.Openat(int(at.Fd()), "d", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		must(t, at.Close())
		at = os.NewFile(uintptr(next), "d")
	}
	must(t, at.Close())
}

// Directories that nobody may enter are removed with what is in them.
func TestPrivateDirThatIsClosedIsRemoved(t *testing.T) {
	top := filepath.Join(t.TempDir(), "private")
	for _, path := range []string{"a/b/c/file", "a/b/file", "a/e/f/file", "file", "g/h/i/j/k/file"} {
		plant(t, filepath.Join(top, path))
	}
	must(t, os.Symlink("/", filepath.Join(top, "a/b/root")))
	must(t, unix.Mkfifo(filepath.Join(top, "a/b/fifo"), 0))
	for _, dir := range []string{"a/b/c", "a/b", "a/e/f", "a/e", "a", "g/h/i", "g", "."} {
		must(t, os.Chmod(filepath.Join(top, dir), 0))
	}
	must(t, removeTree(top))
	if exists(top) {
		t.Fatal("it is still there")
	}
}

// What is not there, not a directory, or a link is removed as what it is.
func TestPrivateDirThatIsNone(t *testing.T) {
	parent := t.TempDir()
	victim := filepath.Join(parent, "victim", "file")
	plant(t, victim)
	link, file := filepath.Join(parent, "link"), filepath.Join(parent, "file")
	must(t, os.Symlink("victim", link))
	plant(t, file)
	for _, path := range []string{link, file, filepath.Join(parent, "nothing"), filepath.Join(parent, "no", "thing")} {
		if err := removeTree(path); err != nil || exists(path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if !exists(victim) {
		t.Error("the link was followed")
	}
}

// A process that puts a link in the place of a directory does not lead us astray.
func TestPrivateDirSwappedForALink(t *testing.T) {
	if top, is := otherDir(); is {
		exchange(top)
	}
	parent := t.TempDir()
	top, victim := filepath.Join(parent, "private"), filepath.Join(parent, "victim")
	plant(t, filepath.Join(victim, "inner", "file"))
	for _, dir := range []string{"inner", "."} {
		must(t, os.Chmod(filepath.Join(victim, dir), 0o500))
		defer os.Chmod(filepath.Join(victim, dir), 0o700) // to be removed with the test
	}
	stop := atWork(t, top)
	defer stop()
	for round := range 300 {
		for _, dir := range []string{"", "sub", "sub/sub"} {
			dir = filepath.Join(top, dir)
			plant(t, filepath.Join(dir, "file"))
			must(t, os.Symlink(victim, filepath.Join(dir, "link")))
			must(t, os.Mkdir(filepath.Join(dir, "new"), 0o700))
			plant(t, filepath.Join(dir, "new", "inner", "file"))
			must(t, os.Chmod(filepath.Join(dir, "new", "inner"), 0))
			must(t, os.Chmod(filepath.Join(dir, "new"), 0))
			must(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "dir")))
		}
		err := removeTree(top)
		for _, dir := range []string{".", "inner"} {
			info, err := os.Stat(filepath.Join(victim, dir))
			if err != nil || info.Mode().Perm() != 0o500 {
				t.Fatalf("round %d: the victim's %s: %v, %v", round, dir, info, err)
			}
		}
		if !exists(filepath.Join(victim, "inner", "file")) {
			t.Fatalf("round %d: the victim's file is gone", round)
		}
		if err != nil || exists(top) {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// exchange swaps what stands under two names for as long as it lives.
func exchange(top string) {
	fmt.Println("at work")
	for {
		for _, dir := range []string{"", "sub", "sub/sub"} {
			dir = filepath.Join(top, dir)
			_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "dir"), unix.AT_FDCWD, filepath.Join(dir, "link"), unix.RENAME_EXCHANGE)
		}
	}
}

// A directory of somebody else stays as it is, and is named; all else goes.
func TestPrivateDirKeepsWhatIsForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can make what is foreign")
		return
	}
	top := filepath.Join(t.TempDir(), "private")
	foreign := filepath.Join(top, "a", "foreign")
	plant(t, filepath.Join(foreign, "file"))
	plant(t, filepath.Join(top, "a", "b", "file"))
	plant(t, filepath.Join(top, "ours", "file"))
	for path, uid := range map[string]int{top: 65533, filepath.Join(top, "a"): 65533, foreign: 65532} {
		must(t, os.Lchown(path, uid, uid))
	}
	must(t, os.Chmod(foreign, 0o500))
	err := removeTree(top)
	if err == nil || !strings.Contains(err.Error(), foreign+": it belongs to user 65532") {
		t.Fatalf("error %v", err)
	}
	info, err := os.Stat(foreign)
	if err != nil || info.Mode().Perm() != 0o500 || !exists(filepath.Join(foreign, "file")) {
		t.Fatalf("%v, %v", info, err)
	}
	if exists(filepath.Join(top, "a", "b")) || exists(filepath.Join(top, "ours")) {
		t.Fatal("what is not foreign is still there")
	}
}

// A process that never stops writing does not hold us up.
func TestPrivateDirThatIsNeverEmpty(t *testing.T) {
	if top, is := otherDir(); is {
		litter(top)
	}
	top := filepath.Join(t.TempDir(), "private")
	must(t, os.Mkdir(top, 0o700))
	for range 3 {
		defer atWork(t, top)()
	}
	began := time.Now()
	err := removeBy(top, began.Add(300*time.Millisecond))
	if took := time.Since(began); took > 5*time.Second {
		t.Fatalf("it took %s", took)
	}
	switch { // who is faster is open; that the answer is true is not
	case err == nil && exists(top):
		t.Fatal("said to be removed, and still there")
	case err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), top)):
		t.Fatalf("error %v", err)
	}
	t.Logf("%s: %v", time.Since(began), err)
}

// litter makes directories and files for as long as it lives.
func litter(top string) {
	fmt.Println("at work")
	for i := 0; ; i++ {
		dir := filepath.Join(top, fmt.Sprint(os.Getpid(), ".", i))
		_ = os.Mkdir(dir, 0o700)
		_ = os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
		_ = os.Mkdir(filepath.Join(dir, "dir"), 0o700)
	}
}

// When the time is over the rest stays and is named; a later removal takes it.
func TestPrivateDirWhenTheTimeIsOver(t *testing.T) {
	top := filepath.Join(t.TempDir(), "private")
	plant(t, filepath.Join(top, "dir", "file"))
	err := removeBy(top, time.Now().Add(-time.Second))
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), top) || !exists(top) {
		t.Fatalf("error %v", err)
	}
	if err := removeTree(top); err != nil || exists(top) {
		t.Fatalf("error %v", err)
	}
}

func newTestScratch(t *testing.T, parent string) *scratch {
	t.Helper()
	s := newScratch(parent)
	t.Cleanup(func() { must(t, s.close()) })
	return s
}

// makeOne makes a private directory and removes it.
func makeOne(t *testing.T, s *scratch) {
	t.Helper()
	d := s.take()
	must(t, s.makeOwn(&d))
	info, err := os.Lstat(d.path)
	if err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Fatalf("%v, %v", info, err)
	}
	must(t, s.remove(&d))
}

// makeOwn makes a directory of our own user.
func (s *scratch) makeOwn(d *privateDir) error {
	return s.make(d, uint32(os.Geteuid()), uint32(os.Getegid()))
}

// A directory that a call left as it was serves the next one. Whatever a call did to it,
// the next one has nothing of that.
func TestPrivateDirIsUsedAgainWhenItIsClean(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, dir string)
		again  bool
	}{
		"nothing":     {func(*testing.T, string) {}, true},
		"a file":      {func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600)) }, false},
		"a directory": {func(t *testing.T, dir string) { must(t, os.MkdirAll(filepath.Join(dir, "x", "y"), 0o700)) }, false},
		"its mode":    {func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o777)) }, false},
		"no rights":   {func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0)) }, false},
		"an attribute": {func(t *testing.T, dir string) {
			if err := unix.Setxattr(dir, "user.x", []byte("y"), 0); err != nil && err != unix.ENOTSUP {
				t.Fatal(err)
			} else if err != nil {
				must(t, os.Chmod(dir, 0o777))
			}
		}, false},
		"another in its place": {func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Remove(dir+".old"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestScratch(t, t.TempDir())
			d := s.take()
			must(t, s.makeOwn(&d))
			before, err := os.Lstat(d.path)
			must(t, err)
			test.change(t, d.path)
			must(t, s.give(&d))
			next := s.take()
			must(t, s.makeOwn(&next))
			defer func() { must(t, s.give(&next)) }()
			after, err := os.Lstat(next.path)
			must(t, err)
			entries, err := os.ReadDir(next.path)
			must(t, err)
			if again := next.path == d.path && os.SameFile(before, after); again != test.again || after.Mode() != before.Mode() || len(entries) > 0 {
				t.Errorf("used again: %v; mode %v, holds %v", again, after.Mode(), entries)
			}
		})
	}
}

// A directory that was made for one user is made anew for another.
func TestPrivateDirIsForOneUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // who has one user only
	}
	s := newTestScratch(t, t.TempDir())
	d := s.take()
	must(t, s.make(&d, 1000, 1000))
	must(t, s.give(&d))
	next := s.take()
	must(t, s.make(&next, 1001, 1001))
	var st unix.Stat_t
	if err := unix.Lstat(next.path, &st); err != nil || st.Uid != 1001 || st.Gid != 1001 {
		t.Errorf("%+v, %v", st, err)
	}
	must(t, s.give(&next))
}

// A call that found no descriptor free does not spoil the next one.
func TestScratchAfterTooManyFiles(t *testing.T) {
	parent, is := otherDir()
	if !is {
		if out, err := other(t, t.TempDir()).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	s := newTestScratch(t, parent)
	before := setFiles(t, 3)
	d := s.take()
	err := s.makeOwn(&d)
	setFiles(t, before)
	if !errors.Is(err, unix.EMFILE) || exists(s.dir()) {
		t.Fatalf("error %v", err)
	}
	makeOne(t, s)
}

// An outer directory of our own that stands already is taken.
func TestScratchTakesItsOwn(t *testing.T) {
	s := newTestScratch(t, t.TempDir())
	must(t, os.Mkdir(s.dir(), 0o700))
	makeOne(t, s)
}

// Whoever cleans up the temporary directory may take the outer one away.
func TestScratchAfterACleaner(t *testing.T) {
	s := newTestScratch(t, t.TempDir())
	for range 3 {
		makeOne(t, s)
		must(t, os.RemoveAll(s.dir()))
	}
	makeOne(t, s)
	must(t, os.RemoveAll(s.dir())) // and none is missed at the end
}

// What somebody puts in the place of the outer directory is not used.
func TestScratchIsNotReplaced(t *testing.T) {
	s := newScratch(t.TempDir())
	victim := filepath.Join(s.parent, "victim")
	must(t, os.Mkdir(victim, 0o700))
	makeOne(t, s)
	must(t, os.RemoveAll(s.dir()))
	must(t, os.Symlink(victim, s.dir()))
	refused := func() {
		t.Helper()
		d := s.take()
		err := s.makeOwn(&d)
		if durward.KindOf(err) != durward.SandboxError.Kind() {
			t.Fatalf("error %v", err)
		}
		if in, err := os.ReadDir(victim); err != nil || len(in) > 0 {
			t.Fatalf("%v, %v", in, err)
		}
	}
	refused()
	must(t, os.Remove(s.dir()))
	if os.Geteuid() == 0 {
		must(t, os.Mkdir(s.dir(), 0o777))
		must(t, os.Lchown(s.dir(), 65533, 65533))
		refused()
		if !exists(s.dir()) {
			t.Fatal("somebody else's directory was removed")
		}
		must(t, os.Remove(s.dir()))
	}
	makeOne(t, s)
	must(t, s.close())
}

// What a killed runtime has left is removed by the next one, what a living one uses
// is not.
func TestScratchSweeps(t *testing.T) {
	parent := t.TempDir()
	dead, alive := filepath.Join(parent, scratchPrefix+"dead"), newTestScratch(t, parent)
	makeOne(t, alive)
	for i := range 3 {
		call := filepath.Join(dead, strconv.Itoa(i))
		plant(t, filepath.Join(call, "a", "b", "file"))
		must(t, os.Chmod(filepath.Join(call, "a"), 0))
		if os.Geteuid() == 0 {
			must(t, os.Lchown(filepath.Join(call, "a"), 65000+i, 0))
			must(t, os.Lchown(call, 65000+i, 0))
		}
	}
	long := time.Now().Add(-time.Hour)
	for _, dir := range []string{dead, alive.dir()} {
		must(t, os.Chtimes(dir, long, long))
	}
	makeOne(t, newTestScratch(t, parent))
	if exists(dead) || !exists(alive.dir()) {
		t.Fatalf("dead there: %t, alive there: %t", exists(dead), exists(alive.dir()))
	}
}

// The name of a private directory has nothing of the call in it.
func TestPrivateDirIsNotNamedByTheCall(t *testing.T) {
	e := newEngine(t, Options{})
	c := shell(`printf %%s "$HOME"`)
	c.ID = "../../../escaped"
	r, err := e.run(t.Context(), c, confined())
	if err != nil {
		t.Fatal(err)
	}
	home := string(r.Stdout.Bytes())
	if filepath.Dir(home) != e.scratch.dir() || strings.Contains(home, "escaped") {
		t.Fatalf("private directory %q", home)
	}
}
