package pathguard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// Links of /proc that lead where their text does not say are not followed, whatever the
// roots are.
func TestMagicLinks(t *testing.T) {
	g, files := open(t, Options{AllowRootFilesystem: true}, "/"), unconfined(t)
	held, err := os.Open("/etc/passwd")
	must(t, err)
	defer held.Close()
	fd := strconv.Itoa(int(held.Fd()))
	for path, want := range map[string]durward.Reason{
		"/proc/self/root/etc/passwd":        durward.OutsideRoot,
		"/proc/thread-self/root/etc/passwd": durward.OutsideRoot,
		"/proc/self/cwd/walk_linux_test.go": durward.OutsideRoot,
		"/proc/self/exe":                    durward.OutsideRoot,
		"/proc/self/fd/" + fd:               durward.OutsideRoot,
		"/proc/self/fd/" + fd + "/x":        durward.OutsideRoot,
		"/dev/fd/" + fd:                     durward.OutsideRoot,
		"/proc/self/ns/mnt":                 durward.OutsideRoot,
		"/proc/self/status":                 durward.SpecialFilesystem,
		"/proc/mounts":                      durward.SpecialFilesystem,
		"/proc/self/environ":                durward.SpecialFilesystem,
		"/sys/kernel/uevent_seqnum":         durward.SpecialFilesystem,
		"/dev/zero":                         durward.NotRegularFile,
	} {
		_, err := read(t, g, files, path)
		wantReason(t, path, err, want)
	}
	wantReason(t, "a write", g.WriteFile(t.Context(), files, "/proc/self/root/tmp/x", nil, WriteOptions{}), durward.OutsideRoot)
	wantReason(t, "an argument", g.JudgeArgument(t.Context(), "/", "/proc/self/root/etc"), durward.ArgOutsideRoots)
}

// Where no descriptor is left nobody knows where a path leads: that is a failure and no denial.
func TestNoDescriptorIsLeft(t *testing.T) {
	const child = "DURWARD_TEST_NO_DESCRIPTORS"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoDescriptorIsLeft$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	top := plant(t, map[string]string{"root/a": "a", "link": "-> root", "other/a": "b"})
	g, files := open(t, Options{}, top+"/root"), unconfined(t)
	free := takeDescriptors(t)
	got := map[string]durward.Reason{}
	for _, path := range []string{"/root/a", "/root/./a", "/root/none", "/other/a", "/link/a"} {
		_, err := g.OpenFile(t.Context(), files, top+path)
		got[path] = durward.ReasonOf(err)
	}
	free()
	for path, reason := range got {
		if reason != durward.FileIO {
			t.Errorf("%s: got %s, want %s", path, reason, durward.FileIO)
		}
	}
}

// takeDescriptors leaves none to this process until free is called.
func takeDescriptors(t *testing.T) (free func()) {
	t.Helper()
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: 256}))
	var taken []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == unix.EMFILE {
			break
		}
		must(t, err)
		taken = append(taken, fd)
	}
	return func() {
		for _, fd := range taken {
			unix.Close(fd)
		}
	}
}

// The walk ends where the kernel does, for whatever path, and so does what is remembered.
func FuzzWalk(f *testing.F) {
	top := plant(f, map[string]string{
		"a": "", "d/e/f": "", "up": "-> ..", "in": "-> d/e", "slash": "-> d/", "loop": "-> loop", "chain": "-> in/../e/f", "dangling": "-> none/x",
		"file": "-> a/", "d/dot": "-> .", "d/root": "-> /", "d/back": "-> ../up/../d",
	})
	must(f, os.Symlink(top+"/d", filepath.Join(top, "abs")))
	for _, seed := range []string{
		"a", "a/", "a/..", "d/e/../../a", "up/..", "in/f", "in/..", "slash/e", "loop", "chain", "dangling", "dangling/../a", "file",
		"d/dot/dot/e", "d/root/etc/..", "d/back/e/f", "abs/../a", "none/../a", "//d//.//e/", "d/e/f/..", ".", "..", "", "up/up/up/up",
		"d/dot/../dot/back/abs", "in/../../abs/e/f/", strings.Repeat("d/dot/../", 45), strings.Repeat("x", 256), "d/" + strings.Repeat("x", 256) + "/..",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		path := top + "/" + name
		if strings.ContainsRune(path, 0) || len(path) >= maxPathBytes || strings.Contains(path, "proc") {
			return
		}
		want, wantErr := kernelSays(path)
		w := newWalk(following)
		err := w.along(path)
		e := w.end()
		w.close()
		if w = newWalk(following); w.remembered(path) {
			if w.end() != e {
				t.Errorf("%q leads to %+v; remembered is %+v", name, e, w.end())
			}
			w.close()
		}
		switch {
		case wantErr == unix.ENOENT:
			if (err != nil || e.missing == 0) && err != errDotDot {
				t.Fatalf("%q: %v, %+v; to the kernel it is missing", name, err, e)
			}
		case err != nil || wantErr != nil:
			if err != wantErr {
				t.Fatalf("%q: %v; the kernel says %v", name, err, wantErr)
			}
		case e.path != want || e.missing > 0 || e.dotted:
			t.Fatalf("%q leads to %+v; the kernel says %s", name, e, want)
		}
		if e.path != filepath.Clean(e.path) || !filepath.IsAbs(e.path) {
			t.Fatalf("%q leads to %q", name, e.path)
		}
	})
}

func kernelSays(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
}
