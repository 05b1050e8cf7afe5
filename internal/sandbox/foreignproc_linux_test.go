//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// In a process-id space whose /proc is that of another one, the number of a child of ours
// may be somebody else's there: nothing is opened by it.
func TestTheProcOfAnotherSpace(t *testing.T) {
	const inside = "DURWARD_TEST_FOREIGN_PROC"
	if os.Getenv(inside) == "" {
		if os.Getuid() != 0 {
			t.Log("only root makes such a space here")
			return
		}
		if !ownProc() {
			t.Fatal("/proc is not ours")
		}
		c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
		c.Env = append(os.Environ(), inside+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if ownProc() {
		t.Error("/proc seems to be ours")
	}
	if ns, err := unshareUsers(1000, nil); !errors.Is(err, errForeignProc) {
		t.Errorf("a namespace was opened by a number: %v, %v", ns, err)
	}
	s := newStarter(Plan{apart: true})
	if s.holdMounts(os.Getppid() + 1); s.mounts != nil {
		t.Error("mounts were opened by a number")
	}
}
