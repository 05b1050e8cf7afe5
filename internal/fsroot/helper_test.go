//go:build linux || darwin

package fsroot

import (
	"context"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// again runs this test binary as another process playing one part.
func again(t *testing.T, part string, attr *syscall.SysProcAttr, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "FSROOT_PART="+part)
	cmd.SysProcAttr = attr
	return cmd
}

// asNobody runs the calling test in a process without root's rights, which could read
// what it is to be refused.
func asNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "nobody")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chown(dir, nobody, nobody))
	exe, err := os.Executable()
	must(t, err)
	copied := filepath.Join(dir, "test")
	program, err := os.ReadFile(exe)
	must(t, err)
	must(t, os.WriteFile(copied, program, 0o755))
	cmd := exec.Command(copied, "-test.run=^"+t.Name()+"$")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
}

const nobody = 65534

// alone is the testing.TB of a process that plays a part.
type alone struct{ testing.TB }

func (alone) Helper() {}

func (alone) Context() context.Context { return context.Background() }

func (alone) Fatal(args ...any) { log.Fatal(args...) }

func (alone) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func (alone) Errorf(format string, args ...any) { log.Fatalf(format, args...) }
