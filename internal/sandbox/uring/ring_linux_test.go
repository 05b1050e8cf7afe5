package uring

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/sandbox/refusetest"
)

var readOnly = unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC}

// The kernel knows these by their size.
func TestSizes(t *testing.T) {
	for what, is := range map[string][2]uintptr{
		"params": {unsafe.Sizeof(params{}), 120}, "request": {unsafe.Sizeof(request{}), 64}, "answer": {unsafe.Sizeof(answer{}), 16},
	} {
		if is[0] != is[1] {
			t.Errorf("%s has %d bytes, want %d", what, is[0], is[1])
		}
	}
}

// refuseEnv has this test program live under a filter that gives nobody a ring.
const refuseEnv = "DURWARD_TEST_REFUSE_RING"

func TestMain(m *testing.M) {
	if os.Getenv(refuseEnv) != "" {
		if err := refusetest.Calls(unix.EPERM, unix.SYS_IO_URING_SETUP); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// ring gives a ring, or nil where the kernel gives none: then that is said, each time, and
// nothing is left open.
func ring(t *testing.T) *Ring {
	t.Helper()
	r, err := Open()
	if err == nil {
		t.Cleanup(func() { r.Close() })
		return r
	}
	before := descriptors(t)
	for range 10 {
		if r, err := Open(); r != nil || err != unix.ENOSYS && err != unix.EPERM {
			t.Fatalf("%v, %v", r, err)
		}
	}
	if left := descriptors(t) - before; left != 0 {
		t.Errorf("%d descriptors stay open", left)
	}
	return nil
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Where a filter gives nobody a ring, that is what Open says.
func TestWithoutARing(t *testing.T) {
	if os.Getenv(refuseEnv) != "" {
		if r := ring(t); r != nil {
			t.Error("there is one")
		}
		return
	}
	c := exec.Command("/proc/self/exe", "-test.v", "-test.run=^TestWithoutARing$")
	c.Env = append(os.Environ(), refuseEnv+"=1")
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestWithoutARing ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// opened opens something that is there. While others rename anything on the machine the kernel
// does not always know at once.
func opened(r *Ring, dir int, name string) (fd int, err error) {
	for range 1000 {
		if fd, err = r.Openat2(dir, name, readOnly); err != unix.EAGAIN {
			break
		}
	}
	return fd, err
}

func TestOpenat2(t *testing.T) {
	r := ring(t)
	if r == nil {
		return
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	for _, name := range []string{"missing", "file/beneath", "", strings.Repeat("x", unix.PathMax), strings.Repeat("x", 256)} {
		if fd, err := r.Openat2(at, name, readOnly); err == nil {
			t.Errorf("%.20q is opened: %d", name, fd)
		}
	}
	if fd, err := r.Openat2(at, "../"+filepath.Base(dir)+"/file", unix.OpenHow{Resolve: unix.RESOLVE_BENEATH}); err == nil {
		t.Errorf("it leads out of a directory: %d", fd)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				fd, err := opened(r, at, "file")
				if err != nil {
					t.Error(err)
					return
				}
				f := os.NewFile(uintptr(fd), "file")
				if text, err := io.ReadAll(f); err != nil || string(text) != "text" {
					t.Errorf("it holds %q: %v", text, err)
				}
				f.Close()
			}
		})
	}
	all.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Openat2(at, "file", readOnly); err != unix.EBADF {
		t.Errorf("of a ring that is closed: %v", err)
	}
}

// Whoever asks has the rights of the thread that made the ring, also when that has ended.
func TestTheRightsAreThoseOfTheMaker(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	own := ring(t)
	if own == nil {
		return
	}
	fd, err := opened(own, unix.AT_FDCWD, file)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if os.Geteuid() != 0 { // whose threads have no rights to give up
		if err := os.Chmod(file, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := opened(own, unix.AT_FDCWD, file); err != unix.EACCES {
			t.Errorf("a file that nobody may read: %v", err)
		}
		return
	}
	made := make(chan *Ring)
	go func() {
		runtime.LockOSThread() // and so it ends with us
		unix.RawSyscall(unix.SYS_SETFSUID, 65534, 0, 0)
		r, err := Open()
		if err != nil {
			t.Error(err)
		}
		made <- r
	}()
	r := <-made
	defer r.Close()
	if _, err := r.Openat2(unix.AT_FDCWD, file, readOnly); err == nil {
		t.Error("a file of root is opened for somebody else")
	}
	if _, err := os.ReadFile(file); err != nil {
		t.Error(err)
	}
}
