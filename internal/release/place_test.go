package release

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/release/releasetest"
)

// A way is how two programs change places.
type way struct {
	name string
	set  func(*Place)
}

// ways lists those of all systems; the last one has a moment without a program.
var ways = []way{
	{"in one step", func(*Place) {}},
	{"in several", func(p *Place) { p.exchange = func(string, string) error { return errNoExchange } }},
	{"moved away", func(p *Place) {
		p.exchange, p.movesAway = func(string, string) error { return errNoExchange }, true
	}},
}

// openBy opens a place for one of the ways.
func openBy(t testing.TB, path string, by way) *Place {
	t.Helper()
	p := &Place{Path: path, exchange: exchange, reached: func(string) {}}
	by.set(p)
	p, err := open(p)
	must(t, err)
	return p
}

func willDo(string) error { return nil }

func put(t testing.TB, path string, by way, version string) {
	t.Helper()
	p := openBy(t, path, by)
	must(t, p.Put(releasetest.Script(version), willDo), p.Close())
}

func rollback(t testing.TB, path string, by way) {
	t.Helper()
	p := openBy(t, path, by)
	must(t, p.Rollback(willDo), p.Close())
}

// holds wants these files in a folder, with these programs.
func holds(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	programs := map[string]string{}
	for name, version := range want {
		programs[name] = string(releasetest.Script(version))
	}
	if got := snapshot(t, dir); !maps.Equal(got, programs) {
		t.Errorf("%s holds %q, want %q", dir, got, programs)
	}
}

func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		must(t, err)
		files[entry.Name()] = string(text)
	}
	return files
}

func TestPutAndRollback(t *testing.T) {
	for _, by := range ways {
		t.Run(by.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "durward")
			put(t, path, by, "1")
			holds(t, dir, map[string]string{"durward": "1"})
			put(t, path, by, "2")
			holds(t, dir, map[string]string{"durward": "2", "durward.previous": "1"})
			put(t, path, by, "3")
			holds(t, dir, map[string]string{"durward": "3", "durward.previous": "2"})
			rollback(t, path, by)
			holds(t, dir, map[string]string{"durward": "2", "durward.previous": "3"})
			rollback(t, path, by)
			holds(t, dir, map[string]string{"durward": "3", "durward.previous": "2"})
		})
	}
}

func TestNoRollbackWithoutAFormerProgram(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "durward")
	put(t, path, ways[0], "1")
	p := openBy(t, path, ways[0])
	if err := p.Rollback(willDo); durward.ReasonOf(err) != durward.NothingKept {
		t.Error(err)
	}
	must(t, p.Close())
	holds(t, dir, map[string]string{"durward": "1"})
}

// What has the name of the former program and is no file is neither started nor given the name of
// the program.
func TestNoRollbackToWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "durward"), filepath.Join(dir, "other")
	put(t, path, ways[0], "1")
	must(t, os.WriteFile(other, releasetest.Script("2"), 0o755), os.Symlink(other, path+".previous"))
	p := openBy(t, path, ways[0])
	err := p.Rollback(func(string) error {
		t.Error("it was tried")
		return nil
	})
	if durward.ReasonOf(err) != durward.NothingKept || !strings.Contains(err.Error(), "is no file") {
		t.Error(err)
	}
	must(t, p.Close())
	holds(t, dir, map[string]string{"durward": "1", "durward.previous": "2", "other": "2"})
}

// A program that is refused when it is tried leaves nothing behind.
func TestAProgramThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "durward")
	refuses := errors.New("it does not start")
	p := openBy(t, path, ways[0])
	if err := p.Put(releasetest.Script("1"), func(string) error { return refuses }); !errors.Is(err, refuses) {
		t.Error(err)
	}
	holds(t, dir, nil)
	must(t, p.Put(releasetest.Script("1"), willDo), p.Put(releasetest.Script("2"), willDo))
	if err := errors.Join(p.Put(releasetest.Script("3"), func(string) error { return refuses })); !errors.Is(err, refuses) {
		t.Error(err)
	}
	if err := p.Rollback(func(string) error { return refuses }); !errors.Is(err, refuses) {
		t.Error(err)
	}
	must(t, p.Close())
	holds(t, dir, map[string]string{"durward": "2", "durward.previous": "1"})
}

// A place is one installation's at a time.
func TestTwoAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "durward")
	p := openBy(t, path, ways[0])
	if second, err := Open(path); durward.ReasonOf(err) != durward.InstallBusy {
		t.Errorf("%v %v", second, err)
	}
	must(t, p.Close())
	p, err := Open(path)
	must(t, err)
	must(t, p.Close())
}

// What a killed process left is gone with the next one; what is not of such a process stays.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "durward")
	put(t, path, ways[0], "1")
	for _, name := range []string{".durward.new-1", ".durward.new-23", ".other.new-1", "durward.new-1"} {
		must(t, os.WriteFile(filepath.Join(dir, name), releasetest.Script("x"), 0o644))
	}
	put(t, path, ways[0], "2")
	holds(t, dir, map[string]string{"durward": "2", "durward.previous": "1", ".other.new-1": "x", "durward.new-1": "x"})
}

// Links to the program stay links to it, wherever they are.
func TestALinkIsFollowed(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	path, link := filepath.Join(dir, "durward"), filepath.Join(other, "durward")
	put(t, path, ways[0], "1")
	must(t, os.Symlink(path, link))
	put(t, link, ways[0], "2")
	holds(t, dir, map[string]string{"durward": "2", "durward.previous": "1"})
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("%s %v", to, err)
	}
	must(t, os.Remove(path))
	if _, err := Open(link); durward.ReasonOf(err) != durward.FileNotFound {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}

func TestWhatIsNoPlace(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "durward"), 0o755), os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for path, want := range map[string]durward.Reason{
		"durward": durward.NotRegularFile, "none/durward": durward.FileNotFound, "file/durward": durward.NotADirectory,
	} {
		if p, err := Open(filepath.Join(dir, path)); durward.ReasonOf(err) != want {
			t.Errorf("%s: %v %v", path, p, err)
		}
	}
}

func TestNamesOnWindows(t *testing.T) {
	p := &Place{Path: filepath.Join("d", "durward.EXE")}
	got := []string{p.Previous(), p.aside(), p.fresh()}
	want := []string{filepath.Join("d", "durward.previous.EXE"), filepath.Join("d", ".durward.aside.EXE"), ".durward.new-*.EXE"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestThePreviousProgramKnowsItsPlace(t *testing.T) {
	for path, want := range map[string]string{
		"d/durward.previous": "d/durward", "d/durward": "d/durward", "d/durward.previous.exe": "d/durward.exe", "d.previous/durward": "d.previous/durward",
		"d/durward.exe.previous": "d/durward.exe",
	} {
		if got := Installed(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// The steps at which the rename of a system may fail leave the program, and the next one works.
func TestAFailedExchange(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "durward")
	put(t, path, ways[0], "1")
	fails := func() {
		t.Helper()
		before := snapshot(t, dir)
		broken := &fs.PathError{Op: "exchange", Path: path, Err: errors.New("broken")}
		p := openBy(t, path, way{"broken", func(p *Place) { p.exchange = func(string, string) error { return broken } }})
		if err := p.Put(releasetest.Script("2"), willDo); !errors.Is(err, broken) || durward.ReasonOf(err) != durward.FileIO {
			t.Error(err)
		}
		must(t, p.Close())
		if after := snapshot(t, dir); !maps.Equal(before, after) {
			t.Errorf("%q became %q", before, after)
		}
	}
	fails()
	put(t, path, ways[0], "3")
	fails() // the former program is kept, too
	holds(t, dir, map[string]string{"durward": "3", "durward.previous": "1"})
	put(t, path, ways[0], "4")
	holds(t, dir, map[string]string{"durward": "4", "durward.previous": "3"})
}

func TestFailuresHaveAFix(t *testing.T) {
	for _, err := range []error{fs.ErrPermission, fs.ErrNotExist, errors.New("x")} {
		var e *durward.Error
		if !errors.As(failed("step", fmt.Errorf("y: %w", err)), &e) || !strings.Contains(e.Hint, "run it") && !strings.Contains(e.Hint, "--dest") {
			t.Errorf("%v: %+v", err, e)
		}
	}
}
