//go:build linux && (amd64 || arm64)

package process

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// A runtime whose watchdog is killed while its calls run has another one at once: when
// the runtime is killed next its commands are dead within a second.
func TestTheWatchdogsDeathIsNotTheirs(t *testing.T) {
	for _, trial := range sandbox.ProbeAll().Trials {
		if trial.Containment == sandbox.Cgroup && trial.Err != nil {
			t.Logf("no cgroups here: %v", trial.Err)
			return
		}
	}
	m := newMarker(t, 0)
	self := exec.Command(os.Args[0], "-test.run=^TestRuntimeThatWillBeKilled$")
	tmp := t.TempDir()
	openToAll(t, tmp)
	self.Env = append(os.Environ(), "TMPDIR="+tmp, "DURWARD_TEST_MARKER="+string(m),
		"DURWARD_TEST_CONTAINMENT="+string(sandbox.Cgroup), "DURWARD_TEST_MODE="+string(durward.DangerFullAccess))
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the calls of the other runtime run", 20*time.Second, func() bool { return m.alive(t) >= 8*escaped })
	first := watchdogOf(self.Process.Pid)
	if err := syscall.Kill(first, syscall.SIGKILL); first == 0 || err != nil {
		t.Fatalf("watchdog %d: %v", first, err)
	}
	waitFor(t, "there is another watchdog", time.Second, func() bool {
		now := watchdogOf(self.Process.Pid)
		return now != 0 && now != first
	})
	if now := m.alive(t); now < 8*escaped {
		t.Errorf("the end of the watchdog ended commands: %d of %d live", now, 8*escaped)
	}
	if err := self.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "they are dead", time.Second, func() bool { return m.alive(t) == 0 })
	_ = self.Wait() // it was killed
}

// watchdogOf finds the watchdog among the children of a runtime; zero when it has none.
func watchdogOf(runtime int) int {
	task := fmt.Sprintf("/proc/%d/task", runtime)
	threads, _ := os.ReadDir(task)
	for _, thread := range threads {
		children, _ := os.ReadFile(task + "/" + thread.Name() + "/children")
		for _, child := range strings.Fields(string(children)) {
			line, _ := os.ReadFile("/proc/" + child + "/cmdline") // empty for the dead
			if pid, err := strconv.Atoi(child); err == nil && strings.HasPrefix(string(line), "durward-watchdog") {
				return pid
			}
		}
	}
	return 0
}
