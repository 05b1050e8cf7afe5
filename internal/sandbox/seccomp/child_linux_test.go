//go:build linux && (amd64 || arm64)

package seccomp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childVariable makes the test binary a process that loads a filter on itself and tries
// what it is told to: a job.
const childVariable = "DURWARD_TEST_SECCOMP_CHILD"

type job struct {
	Policy Policy
	// User is who it becomes; 0 stays.
	User int
	// Mark has refusals bear an error that is nobody else's.
	Mark bool
	// Bare leaves the filter out.
	Bare bool
	// Dir is where it starts, whether or not the user could come there.
	Dir  string
	What string
}

// mark is added to the error of a refusal, so that it is told from one of the kernel's.
const mark = 1000

func TestMain(m *testing.M) {
	said, child := os.LookupEnv(childVariable)
	if !child {
		os.Exit(m.Run())
	}
	var j job
	if err := json.Unmarshal([]byte(said), &j); err != nil {
		panic(err)
	}
	if err := j.do(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (j job) do() error {
	os.Unsetenv(childVariable)
	if err := j.become(); err != nil {
		return err
	}
	if err := j.load(); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if try, ok := fatalTries[j.What]; ok {
		fmt.Println("loaded")
		try()
		return errors.New("still here")
	}
	if j.What == "work" {
		return j.work()
	}
	return json.NewEncoder(os.Stdout).Encode(j.try())
}

func (j job) become() error {
	if j.User == 0 {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(j.User, j.User, j.User); err != nil {
		return err
	}
	return syscall.Setresuid(j.User, j.User, j.User)
}

func (j job) load() error {
	if j.Bare {
		return nil
	}
	program := Compile(j.Policy).Program()
	for i, p := range program {
		if j.Mark && p.Code == opAnswer && answer(p.K) == refused {
			program[i].K += mark
		}
	}
	return load(program, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// load has the kernel take a filter for this thread, or for all with TSYNC.
func load(program []unix.SockFilter, flags uintptr) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog))); n != 0 {
		return fmt.Errorf("%d %w", n, errno)
	}
	return nil
}

// run does a job in a child.
func (j job) run(t *testing.T) (string, error) {
	t.Helper()
	said, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // whose thread is killed may hang
	defer cancel()
	c := exec.CommandContext(ctx, "/proc/self/exe")
	c.Dir = j.Dir
	// A child with the race detector would rest for a second before it exits.
	c.Env = append(os.Environ(), childVariable+"="+string(said), "GORACE=atexit_sleep_ms=0")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // nothing of ours hangs up
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

// as runs a test as root and as nobody, or as whoever we are.
func as(t *testing.T, test func(t *testing.T, user int)) {
	t.Run("ourselves", func(t *testing.T) { test(t, 0) })
	if os.Getuid() == 0 {
		t.Run("nobody", func(t *testing.T) { test(t, 65534) })
	}
}

func newDir(t *testing.T, user int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if user == 0 {
		return dir
	}
	for _, name := range []string{".", "file"} {
		if err := os.Chown(filepath.Join(dir, name), user, user); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
