//go:build linux || darwin

package denyglob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A meddler is a context that does something to the tree each time the walk asks whether
// it may go on: before it goes into a directory or back, and after it listed one.
type meddler struct {
	context.Context
	asked int
	do    func(asked int) error
}

func (m *meddler) Err() error {
	m.asked++
	return m.do(m.asked)
}

// expandWhile gives what Expand finds while others do something, and how often they could.
func expandWhile(t *testing.T, patterns []string, root string, do func(asked int)) (paths []string, times int, err error) {
	t.Helper()
	m := &meddler{Context: t.Context(), do: func(asked int) error {
		do(asked)
		return nil
	}}
	paths, err = Expand(m, in(root, patterns), []string{root})
	return paths, m.asked, err
}

// memory gives a directory that is fast to fill, where there is one.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "denyglob")
	if err != nil {
		return temp(t)
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func TestNamesAreBytes(t *testing.T) {
	root := temp(t)
	names := []string{"line\nbreak", " ", "-rf", "*", "[", `\`, "\x1b[31m", "a\u202eb", "~", "%s", strings.Repeat("n", 255)}
	var want []string
	for _, name := range names {
		plant(t, root, name+"/.env")
		want = append(want, filepath.Join(root, name, ".env"))
	}
	slices.Sort(want)
	got, err := Expand(t.Context(), []string{root + "/**/.env"}, []string{root})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestErrorsShowNamesAsTheyAre(t *testing.T) {
	root := temp(t)
	plant(t, root, "a\x1b[31m\n -> /")
	paths, err := Expand(t.Context(), []string{root + "/a\x1b[31m\n/*"}, []string{root})
	refused(t, paths, err, `a\x1b[31m\n`)
	if strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("%q", err)
	}
}

func TestFIFOsAreNotOpened(t *testing.T) {
	root := temp(t)
	plant(t, root, "d/.env")
	for _, name := range []string{"fifo", "d/fifo", ".env"} {
		must(t, unix.Mkfifo(filepath.Join(root, name), 0o666))
	}
	got, err := Expand(t.Context(), []string{root + "/**/.env", root + "/*/fifo", root + "/fifo/*", root + "/d/fifo/x"}, []string{root, root + "/fifo"})
	if diff := cmp.Diff([]string{"/.env", "/d/.env", "/d/fifo"}, below(root, got)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestLimitOfPaths(t *testing.T) {
	root := memory(t)
	plant(t, root, "d/few.pem")
	for i := range maxPaths - 1 {
		must(t, os.WriteFile(filepath.Join(root, fmt.Sprint(i)), nil, 0o644))
	}
	patterns := []string{root + "/d/*.pem", root + "/*[0-9]"}
	got, err := Expand(t.Context(), patterns, []string{root})
	if len(got) != maxPaths || err != nil {
		t.Fatalf("%d, %v", len(got), err)
	}
	plant(t, root, "one more 1")
	got, err = Expand(t.Context(), patterns, []string{root})
	refused(t, got, err, "10000 paths", patterns[1])
}

func TestLimitOfNames(t *testing.T) {
	root := temp(t)
	plant(t, root, "a/b/c", "a/d", "e")
	for _, tt := range []struct {
		pattern string
		names   int // with those on the way to the tree
	}{
		{root + "/**/nothing", len(namesOf(root)) + 5},
		{root + "/*", len(namesOf(root)) + 2},
		{root + "/a/b/[c]", len(namesOf(root)) + 3},
		{root + "/missing/*", len(namesOf(root)) + 1},
	} {
		l := limits{paths: maxPaths, names: tt.names, bytes: maxBytes}
		if _, err := expand(t.Context(), []string{tt.pattern}, []string{root}, l); err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
		}
		l.names--
		got, err := expand(t.Context(), []string{tt.pattern}, []string{root}, l)
		refused(t, got, err, tt.pattern, fmt.Sprint(l.names), "names")
	}
}

func TestWideDirectoriesTakeNoMemory(t *testing.T) {
	root := memory(t)
	plant(t, root, "files/.env", "dirs/")
	for i := range 3000 {
		must(t, os.WriteFile(filepath.Join(root, "files", fmt.Sprint("file", i)), nil, 0o644))
	}
	l := limits{paths: maxPaths, names: maxNames, bytes: 8 << 10}
	got, err := expand(t.Context(), []string{root + "/**/.env"}, []string{root}, l)
	if diff := cmp.Diff([]string{"/files/.env"}, below(root, got)); diff != "" || err != nil {
		t.Fatalf("%v\n%s", err, diff)
	}
	for i := range 3000 {
		must(t, os.Mkdir(filepath.Join(root, "dirs", fmt.Sprint("dir", i)), 0o755))
	}
	got, err = expand(t.Context(), []string{root + "/**/.env"}, []string{root}, l)
	refused(t, got, err, root+"/**/.env", "8192 bytes")
}

// dig makes directories in each other and gives the last one, open.
func dig(t testing.TB, root, name string, depth int) int {
	t.Helper()
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	for range depth {
		must(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	return fd
}

// fill empties what dig made, from below: what removes trees holds a descriptor for each
// level.
func fill(t testing.TB, bottom int, root, name string) {
	t.Helper()
	var top, here unix.Stat_t
	must(t, unix.Stat(root, &top))
	for {
		up, err := unix.Openat(bottom, "..", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(bottom)
		bottom = up
		must(t, unix.Unlinkat(up, name, unix.AT_REMOVEDIR))
		must(t, unix.Fstat(up, &here))
		if here.Ino == top.Ino && here.Dev == top.Dev {
			unix.Close(up)
			return
		}
	}
}

// withFew lets no more descriptors be opened than some.
func withFew(t testing.TB, more int, do func()) {
	t.Helper()
	next, err := unix.Open("/", unix.O_RDONLY, 0)
	must(t, err)
	unix.Close(next)
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next + more), Max: before.Max}))
	defer func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) }()
	do()
}

func TestDeepTreesAreSearchedWithFewDescriptors(t *testing.T) {
	root := memory(t)
	const depth = 20_000
	bottom := dig(t, root, "d", depth)
	defer func() { fill(t, bottom, root, "d") }()
	// What is beside the way down is searched on the way back up.
	var want, branches []string
	for _, level := range []int{1, 40, 41, 700} {
		branch := filepath.Join(root, strings.Repeat("d/", level), "branch")
		plant(t, branch, "x/y/.env")
		branches = append(branches, branch)
		want = append(want, branch+"/x/y/.env")
	}
	slices.Sort(want)
	defer func() {
		for _, branch := range branches {
			must(t, os.RemoveAll(branch))
		}
	}()
	expect := func(pattern string, check func(paths []string, err error)) {
		t.Helper()
		var paths []string
		var err error
		withFew(t, maxOpen+8, func() { paths, err = Expand(t.Context(), []string{pattern}, []string{root}) })
		check(paths, err)
	}
	expect(root+"/**/.env", func(paths []string, err error) {
		if diff := cmp.Diff(want, paths); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	})
	must(t, unix.Mkdirat(bottom, ".env", 0o755))
	defer func() { must(t, unix.Unlinkat(bottom, ".env", unix.AT_REMOVEDIR)) }()
	expect(root+"/**/.env", func(paths []string, err error) { refused(t, paths, err, root+"/**/.env", "too long a path") })
}

func TestLongestPathThatCanBeDenied(t *testing.T) {
	root := temp(t)
	name := strings.Repeat("n", 250)
	depth := (maxPathBytes - len(root)) / (len(name) + 1)
	bottom := dig(t, root, name, depth)
	defer func() { fill(t, bottom, root, name) }()
	last := strings.Repeat("l", maxPathBytes-len(root)-depth*(len(name)+1)-1)
	for _, tt := range []struct {
		name string
		ok   bool
	}{{last, true}, {last + "l", false}} {
		must(t, unix.Mkdirat(bottom, tt.name, 0o755))
		paths, err := Expand(t.Context(), []string{root + "/**/l*"}, []string{root})
		must(t, unix.Unlinkat(bottom, tt.name, unix.AT_REMOVEDIR))
		if !tt.ok {
			refused(t, paths, err, "too long a path")
		} else if err != nil || len(paths) != 1 || len(paths[0]) != maxPathBytes {
			t.Errorf("%q, %v", paths, err)
		}
	}
}

func TestDeepTreesTakeBoundedMemory(t *testing.T) {
	root := temp(t)
	name := strings.Repeat("n", 255)
	bottom := dig(t, root, name, 300)
	defer func() { fill(t, bottom, root, name) }()
	l := limits{paths: maxPaths, names: maxNames, bytes: 64 << 10}
	paths, err := expand(t.Context(), []string{root + "/**/.env"}, []string{root}, l)
	refused(t, paths, err, "65536 bytes")
}

func TestTreesThatChange(t *testing.T) {
	outside := temp(t)
	plant(t, outside, "secret/.env.else", "secret/.else")
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, root string)
		want   []string
	}{
		{"removed", func(t *testing.T, root string) { must(t, os.RemoveAll(root+"/d")) }, nil},
		{"replaced by a link", func(t *testing.T, root string) {
			must(t, os.RemoveAll(root+"/d"))
			plant(t, root, "d -> "+outside+"/secret")
		}, nil},
		{"replaced by a file", func(t *testing.T, root string) {
			must(t, os.RemoveAll(root+"/d"))
			plant(t, root, "d")
		}, nil},
		{"replaced by a FIFO", func(t *testing.T, root string) {
			must(t, os.RemoveAll(root+"/d"))
			must(t, unix.Mkfifo(root+"/d", 0o600))
		}, nil},
		{"replaced by a directory", func(t *testing.T, root string) {
			must(t, os.Rename(root+"/d", root+"/e"))
			plant(t, root, "d/new/.env")
		}, []string{"/d/new/.env", "/e/.env"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for when := range 24 {
				// One lists the directories, the other only passes them.
				pattern := []string{"/**/.env*", "/*/.else"}[when%2]
				root := temp(t)
				plant(t, root, "d/.env", "d/x/")
				paths, _, err := expandWhile(t, []string{pattern}, root, func(asked int) {
					if asked == when/2 {
						tt.change(t, root)
					}
				})
				if err != nil {
					t.Errorf("%d: %v", when, err)
				}
				for _, path := range below(root, paths) {
					if path != "/d/.env" && !slices.Contains(tt.want, path) {
						t.Errorf("%d: %s", when, path)
					}
				}
			}
		})
	}
}

// A directory that becomes a link between the look at it and its opening is judged again.
func TestNamesOfThePatternThatBecomeLinksAreRefused(t *testing.T) {
	for when := 1; ; when++ {
		root := temp(t)
		plant(t, root, "d/.env", "e/.env")
		paths, times, err := expandWhile(t, []string{"/d/*"}, root, func(asked int) {
			if asked == when {
				must(t, os.Rename(root+"/d", root+"/was"))
				plant(t, root, "d -> e")
			}
		})
		if times < when {
			return
		}
		if slices.Equal(below(root, paths), []string{"/d/.env"}) && err == nil {
			continue // it was entered before
		}
		refused(t, paths, err, "symbolic link")
	}
}

func TestDirectoriesThatAreMovedUnderTheWalk(t *testing.T) {
	const depth = 3 * maxOpen
	moved := 0
	for when := 1; ; when += 7 {
		root := memory(t)
		plant(t, root, strings.Repeat("d/", depth)+"x", strings.Repeat("d/", 5)+"z/.env", "elsewhere/.env")
		paths, times, err := expandWhile(t, []string{"/d/**/.env"}, root, func(asked int) {
			if asked == when {
				must(t, os.Rename(root+strings.Repeat("/d", 10), root+"/elsewhere/moved"))
			}
		})
		if times < when {
			break
		}
		if err != nil {
			refused(t, paths, err, "changed")
			moved++
		}
		if slices.Contains(paths, root+"/elsewhere/.env") {
			t.Errorf("%d: %q was searched in", when, paths)
		}
	}
	if moved == 0 {
		t.Error("no walk was moved")
	}
}

func TestNothingStaysOpen(t *testing.T) {
	root := temp(t)
	plant(t, root, strings.Repeat("d/", 2*maxOpen)+"x/.env", "link -> d", "a/b/c/d/e")
	before := descriptors(t)
	enough := errors.New("enough")
	for when := range 200 {
		m := &meddler{Context: t.Context(), do: func(asked int) error {
			if asked == when {
				return enough
			}
			return nil
		}}
		_, _ = Expand(m, []string{root + "/**/.env"}, []string{root})
		_, _ = expand(t.Context(), []string{root + "/**/.env"}, []string{root}, limits{maxPaths, when, maxBytes})
	}
	_, _ = Expand(t.Context(), []string{root + "/a/**/x", root + "/link/**"}, []string{root})
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	must(t, err)
	return len(list)
}

func TestTheContextEndsAWalk(t *testing.T) {
	root := temp(t)
	plant(t, root, "a/b/c/.env", "d/e/f/.env")
	for when := 1; ; when++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("no time")
		m := &meddler{Context: ctx}
		m.do = func(asked int) error {
			if asked == when {
				cancel(cause)
			}
			return ctx.Err()
		}
		paths, err := Expand(m, []string{root + "/**/.env"}, []string{root})
		cancel(nil)
		if m.asked < when {
			return
		}
		if err != cause || paths != nil || m.asked > when+1 {
			t.Fatalf("%d: %q, %v, asked %d times", when, paths, err, m.asked)
		}
	}
}
