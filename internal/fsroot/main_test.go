//go:build linux || darwin

package fsroot

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestMain lets the test binary play the part of a process of its own, where a test
// has to change what belongs to a process.
func TestMain(m *testing.M) {
	switch os.Getenv("FSROOT_PART") {
	case "file-size-limit":
		limit := unix.Rlimit{Cur: 64 << 10, Max: 64 << 10}
		must(alone{}, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
		failToFill(alone{}, os.Args[1], durward.FileIO)
	case "disk-full":
		must(alone{}, mountTiny(os.Args[1]))
		failToFill(alone{}, os.Args[1], durward.NoSpace)
	case "no-openat2":
		must(alone{}, hideOpenat2())
		os.Exit(m.Run())
	default:
		os.Exit(m.Run())
	}
}

const secret = "SECRET"

// A tree is a root with something of everything in it, and an outside.
type tree struct {
	top, root, outside string
}

func newTree(t testing.TB) tree {
	top := t.TempDir()
	tr := tree{top: top, root: filepath.Join(top, "root"), outside: filepath.Join(top, "outside")}
	must(t, os.MkdirAll(tr.at("sub/deep"), 0o755))
	must(t, os.MkdirAll(filepath.Join(tr.outside, "deep"), 0o755))
	tr.file(t, "a.txt", "hello")
	tr.file(t, "sub/b.txt", "b")
	must(t, os.WriteFile(filepath.Join(tr.outside, "secret"), []byte(secret), 0o644))
	must(t, os.WriteFile(filepath.Join(tr.outside, "deep/x"), []byte(secret), 0o644))
	must(t, os.Mkdir(filepath.Join(top, "root-evil"), 0o755))
	must(t, os.WriteFile(filepath.Join(top, "root-evil/secret"), []byte(secret), 0o644))
	for name, text := range map[string]string{
		"in":        "sub/b.txt",
		"indir":     "sub",
		"indirs":    "sub/",
		"updown":    "sub/../a.txt",
		"sub/up":    "../a.txt",
		"chain":     "chain2",
		"chain2":    "in",
		"dangling":  "nothing",
		"out":       "../outside/secret",
		"outdir":    "../outside",
		"outdeep":   "../outside/deep",
		"outchain":  "out",
		"outabsent": "../outside/nothing",
		"abs":       filepath.Join(tr.outside, "secret"),
		"absin":     filepath.Join(tr.root, "a.txt"),
		"absabsent": filepath.Join(tr.outside, "nothing"),
		"andback":   "../root/a.txt",
		"loop":      "loop2",
		"loop2":     "loop",
		"self":      "self/x",
		"slash":     "/",
		"fileslash": "a.txt/",
	} {
		must(t, os.Symlink(text, tr.at(name)))
	}
	must(t, unix.Mkfifo(tr.at("fifo"), 0o644))
	tr.socket(t, "sock")
	must(t, os.Link(tr.at("sub/b.txt"), tr.at("hard")))
	return tr
}

func (tr tree) at(name string) string { return filepath.Join(tr.root, name) }

func (tr tree) file(t testing.TB, name, content string) {
	t.Helper()
	must(t, os.WriteFile(tr.at(name), []byte(content), 0o644))
}

// socket leaves a socket behind; it is bound by a short relative name because the
// address of a socket is short.
func (tr tree) socket(t testing.TB, name string) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	short, err := os.MkdirTemp("", "s")
	must(t, err)
	defer os.Remove(short)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: short + "/s"}))
	must(t, os.Rename(short+"/s", tr.at(name)))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string, by opener) *Root {
	t.Helper()
	r, err := Open(dir)
	must(t, err)
	r.by = by
	t.Cleanup(func() { r.Close() })
	return r
}

// eachOpener runs a test over every way to open.
func eachOpener(t *testing.T, f func(t *testing.T, by opener)) {
	for name, by := range openers() {
		t.Run(name, func(t *testing.T) { f(t, by) })
	}
}

func read(r *Root, name string, rules Rules) (string, error) {
	f, err := r.OpenFile(name, rules)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

func wantReason(t testing.TB, err error, want durward.Reason) {
	t.Helper()
	if err == nil {
		t.Fatalf("succeeded, want %s", want)
	}
	if got := durward.ReasonOf(err); got != want {
		t.Fatalf("reason %q, want %q (%v)", got, want, err)
	}
}

// names lists a directory, so that nothing left behind goes unseen.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	slices.Sort(list)
	return list
}

func mode(t testing.TB, path string) string {
	t.Helper()
	st, err := os.Lstat(path)
	must(t, err)
	return fmt.Sprintf("%04o", st.Mode().Perm())
}

// snapshot maps every path below dir to what is there.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		seen[path] = st.Mode().String()
		if st.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			seen[path] += string(text)
			return err
		}
		return nil
	}))
	return seen
}

func unchanged(t testing.TB, dir string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("the tree changed (-before +after):\n%s", diff)
	}
}

// leftovers lists temporary files below dir.
func leftovers(t testing.TB, dir string) []string {
	t.Helper()
	var left []string
	for path := range snapshot(t, dir) {
		if strings.HasPrefix(filepath.Base(path), ".durward-") {
			left = append(left, path)
		}
	}
	return left
}
