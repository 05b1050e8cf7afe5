//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/refusetest"
)

// refuseOpenat2Env has this test program live without openat2, as in a unit of systemd with
// RestrictSUIDSGID. Its value says whether level 2 can be had without that.
const refuseOpenat2Env = "DURWARD_TEST_REFUSE_OPENAT2"

func refuseOpenat2() error { return refusetest.Calls(unix.ENOSYS, unix.SYS_OPENAT2) }

// Whoever has no openat2 is told so, and not to allow what is allowed.
func TestWithoutOpenat2(t *testing.T) {
	without, level2 := os.Getenv(refuseOpenat2Env), "had"
	level := ProbeAll().Level(durward.LevelIsolate)
	if without == "" {
		if level != nil {
			level2 = "missing"
		}
		c := exec.Command("/proc/self/exe", "-test.v", "-test.run=^TestWithoutOpenat2$")
		c.Env = append(os.Environ(), refuseOpenat2Env+"="+level2)
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestWithoutOpenat2 ") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	tells := func(err error) bool {
		e := durward.AsError(err)
		return e != nil && e.Reason == durward.SandboxUnavailable && strings.Contains(e.Hint, "openat2")
	}
	if without == "had" && !tells(level) {
		t.Errorf("level 2: %v", level)
	}
	for _, test := range []struct {
		step  StepError
		tells bool
	}{
		{StepError{"show /usr", unix.ENOSYS}, without != ""},
		{StepError{"show /usr", unix.EACCES}, false},
		{StepError{stepClone, unix.ENOSYS}, false},
	} {
		if err := startError(&test.step); tells(err) != test.tells {
			t.Errorf("%v: %+v", &test.step, err)
		}
	}
}
