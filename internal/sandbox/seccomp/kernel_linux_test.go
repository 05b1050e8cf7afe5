//go:build linux && (amd64 || arm64)

package seccomp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestTheKernelRefusesWhatTheRulesSay(t *testing.T) {
	for _, p := range policies[:6] {
		t.Run(fmt.Sprintf("%q %v", p.Network, p.Unix), func(t *testing.T) {
			as(t, func(t *testing.T, user int) {
				refusedForReal(t, job{Policy: p, User: user})
				refusedForReal(t, job{Policy: p, User: user, Mark: true})
			})
		})
	}
}

func refusedForReal(t *testing.T, j job) {
	t.Helper()
	j.Dir = newDir(t, j.User)
	out, err := j.run(t)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]syscall.Errno
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	for _, a := range attempts(j.Policy) {
		errno, tried := got[a.name]
		if !tried {
			t.Errorf("%s was not tried", a.name)
		}
		judge(t, a, errno, j.Mark)
	}
	unchanged(t, j.Dir)
}

// try tries all of them and gives the errors.
func (j job) try() map[string]syscall.Errno {
	got := map[string]syscall.Errno{}
	for _, a := range attempts(j.Policy) {
		var pinner runtime.Pinner
		var args [6]uintptr
		for i, arg := range a.args {
			switch arg := arg.(type) {
			case int:
				args[i] = uintptr(arg)
			case string:
				path := append([]byte(arg), 0)
				pinner.Pin(&path[0])
				args[i] = uintptr(unsafe.Pointer(&path[0]))
			}
		}
		_, _, got[a.name] = syscall.RawSyscall6(a.nr, args[0], args[1], args[2], args[3], args[4], args[5])
		pinner.Unpin()
	}
	return got
}

// judge can tell that a call is let through only by a mark: the kernel has refusals of
// its own.
func judge(t *testing.T, a attempt, errno syscall.Errno, marked bool) {
	t.Helper()
	refusal := unix.EPERM
	if marked {
		refusal += mark
	}
	switch {
	case a.want == refused && errno != refusal:
		t.Errorf("%s: %d %v, want %d", a.name, errno, errno, refusal)
	case a.want == missing && errno != unix.ENOSYS:
		t.Errorf("%s: %d %v, want ENOSYS", a.name, errno, errno)
	case a.want == allow && marked && errno == refusal:
		t.Errorf("%s is refused", a.name)
	}
}

// unchanged looks at what the attempts on the directory were after.
func unchanged(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("there are %v", entries)
	}
	for name, want := range map[string]os.FileMode{"file": 0o751 | os.ModeSticky, ".": os.ModeDir | 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
