package fsroot

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMountsAreCounted(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("only root can mount")
		return
	}
	point := filepath.Join(t.TempDir(), `with a space and \040`)
	if err := os.Mkdir(point, 0o700); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends, unless it is the main one
		home, err := os.Open("/proc/thread-self/ns/mnt")
		if err == nil {
			defer home.Close()
			err = unix.Unshare(unix.CLONE_NEWNS)
		}
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { // for the main one
			if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNS); err != nil {
				panic(err)
			}
		}()
		fd, err := unix.Open("/proc/thread-self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		m := MountTable{file: os.NewFile(uintptr(fd), "mountinfo")}
		defer m.Close()
		m.Version() // whatever the unsharing did
		before := m.Version()
		if again := m.Version(); again != before {
			t.Errorf("%d, and %d when nothing had changed", before, again)
		}
		if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Error(err)
		}
		if err := unix.Mount("none", point, "tmpfs", 0, ""); err != nil {
			t.Error(err)
		}
		if after := m.Version(); after == before {
			t.Error("a new mount does not count")
		}
		if points, err := m.Points("tmpfs"); !slices.Contains(points, point) || err != nil {
			t.Errorf("a new mount is not there: %q, %v", points, err)
		}
		below, err := unix.Open(point, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(below)
		if err := unix.Mount("none", point, "ramfs", 0, ""); err != nil {
			t.Error(err)
		}
		above, err := unix.Open(point, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(above)
		for fd, want := range map[int]string{below: "tmpfs", above: "ramfs"} {
			if got, _, err := m.under(fd); got.fstype != want || err != nil {
				t.Errorf("what was opened on %s is on %q, %v", want, got.fstype, err)
			}
		}
		everyMountIsJudged(t, &m, point)
	}()
	<-done
}

// everyMountIsJudged has file systems take each other's place, and so each other's number in the
// table, and looks for one that is taken for the one before.
func everyMountIsJudged(t *testing.T, m *MountTable, point string) {
	for i := range 4 {
		fstype, want := "tmpfs", kinds{table: local, kernel: local, both: true}
		if i%2 == 1 {
			fstype, want.kernel = "proc", special
		}
		if err := unix.Mount("none", point, fstype, 0, ""); err != nil {
			t.Error(err)
			return
		}
		fd, err := unix.Open(point, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		for range 2 {
			if got, err := m.kindsOf(fd, lastingNumber(fd), true); got != want || err != nil {
				t.Errorf("%s is %+v, %v", fstype, got, err)
			}
		}
		unix.Close(fd)
		if err := unix.Unmount(point, 0); err != nil {
			t.Error(err)
		}
	}
}

func TestMountTableAtItsEnds(t *testing.T) {
	var m MountTable
	if points, err := m.Points("proc"); !slices.Contains(points, "/proc") || err != nil {
		t.Errorf("proc is at %q, %v", points, err)
	}
	if points, err := m.Points("none of these"); len(points) > 0 || err != nil {
		t.Errorf("%q, %v", points, err)
	}
	if a, b := m.Version(), m.Version(); a != b {
		t.Errorf("%d and %d when nothing had changed", a, b)
	}
	m.Close()
	m.Close()
	if a, b := m.Version(), m.Version(); a == b {
		t.Error("a closed one says that nothing has changed")
	}
	if _, err := m.Points("proc"); err == nil {
		t.Error("a closed one tells what is mounted")
	}
}

// The number of a mount is the one that stands in the table, whoever tells it.
func TestMountNumbers(t *testing.T) {
	var m MountTable
	defer m.Close()
	for _, path := range []string{"/", "/proc", t.TempDir()} {
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		want, err := findMount(int(f.Fd()))
		must(t, err)
		if got, _, err := m.under(int(f.Fd())); got.id != want.id || got.fstype != want.fstype || err != nil {
			t.Errorf("%s is on %+v, %v; its descriptor says %+v", path, got, err, want)
		}
		if id, ok := mountNumber(int(f.Fd())); ok && id != want.id {
			t.Errorf("%s has the mount number %s, not %s", path, id, want.id)
		}
	}
	if _, ok := mountNumber(-1); ok {
		t.Error("what is not open has a mount")
	}
}

func TestUnescaped(t *testing.T) {
	for in, want := range map[string]string{
		`/mnt`: "/mnt", `/a\040b`: "/a b", `/a\134040`: `/a\040`, `/\011\012`: "/\t\n", `/a\`: `/a\`, `/a\04`: `/a\04`, `/a\999`: `/a\999`,
	} {
		if got := unescaped(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
