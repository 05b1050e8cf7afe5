//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/refusetest"
)

// refuseEnv has this test program live under the filter of refuseShared.
const refuseEnv = "DURWARD_TEST_REFUSE_SHARED"

// refuseShared puts this program under a filter as an outer sandbox might: no clone with
// CLONE_VFORK or CLONE_PIDFD, and no clone3.
func refuseShared() error {
	return refusetest.Load([]unix.SockFilter{
		refusetest.Look(refusetest.Number),
		refusetest.Unless(unix.SYS_CLONE3, 1), refusetest.Refuse(unix.ENOSYS),
		refusetest.Unless(unix.SYS_CLONE, 3), refusetest.Look(refusetest.First),
		refusetest.UnlessAny(unix.CLONE_VFORK|unix.CLONE_PIDFD, 1), refusetest.Refuse(unix.EPERM),
		refusetest.Allow,
	})
}

// Where a filter truly refuses children that share memory, commands run at each level that
// can be had without the filter, and a failing step still stops the start.
func TestUnderAFilterThatRefusesSharedMemory(t *testing.T) {
	c := exec.Command("/proc/self/exe", "-test.v", "-test.run=^(TestPlanRuns|TestKillIsPrompt|TestFailedProgramStopsTheStart|TestProbeUnderAFilter)$")
	c.Env = append(os.Environ(), refuseEnv+"=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := []string{"--- PASS: TestKillIsPrompt", "--- PASS: TestFailedProgramStopsTheStart/", "the probe: clone: operation not permitted"}
	eachTrial(t, func(t *testing.T, _ *trial) {
		_, way, _ := strings.Cut(t.Name(), "/")
		want = append(want, "--- PASS: TestPlanRuns/"+way)
	})
	for _, line := range want {
		if !strings.Contains(string(out), line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
}

// The probe says whether children can share our memory as it is.
func TestProbeUnderAFilter(t *testing.T) {
	err := Probe().SharedErr
	t.Logf("the probe: %v", err)
	if refused := os.Getenv(refuseEnv) != ""; refused != (err != nil) {
		t.Fatalf("refused: %v, found: %v", refused, err)
	}
}

// A start that is waited for fails when the program cannot be executed, however the
// reaper makes the command's process; and one with more words than any process takes says
// what is too much.
func TestFailedProgramStopsTheStart(t *testing.T) {
	eachTrial(t, func(t *testing.T, r *trial) {
		r.request.Argv = []string{"touch", strings.Repeat("x", 1<<20)}
		if _, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host); durward.ReasonOf(err) != durward.ArgTooLong {
			t.Errorf("a word of a megabyte: %v", err)
		}
		bad := filepath.Join(filepath.Dir(r.marker), "bad")
		if err := os.WriteFile(bad, []byte("\x7fELF, but no more"), 0o755); err != nil {
			t.Fatal(err)
		}
		program, err := FindProgram(bad, "", "/")
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		r.request.Program, r.request.Argv, r.request.Follow = program, []string{"bad"}, true
		p, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host)
		if err == nil {
			p.Kill()
			_ = p.Close() // it was killed
		}
		if durward.ReasonOf(err) != durward.ProgramNotExecutable {
			t.Errorf("no program: %v", err)
		}
	})
}

// A child that we do not let go, as when we die, runs nothing.
func TestCopyThatIsNotLetGo(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	list := []Call{
		{Name: "mark", NR: unix.SYS_MKDIRAT, Args: []Arg{number(unix.AT_FDCWD), text(marker), number(0o700)}},
		{Name: "exit", NR: unix.SYS_EXIT_GROUP, Args: []Arg{number(0)}},
	}
	call := &vforkCall{nr: syscall.SYS_CLONE, args: [5]uintptr{uintptr(unix.SIGCHLD)}, block: ^uint64(0)}
	pid, _, end, err := forkCopy(call, -1, list)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(end)
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil || status.ExitStatus() != 127 || exists(marker) {
		t.Fatalf("%v, %#x; ran: %v", err, status, exists(marker))
	}
	if pid, pidfd, err := spawnCopy(t.Context(), 0, -1, list); err != nil || pid <= 0 || waitEnd(pidfd) != nil || unix.Close(pidfd) != nil || !exists(marker) {
		t.Fatalf("let go: %v; ran: %v", err, exists(marker))
	}
}

// Whatever numbers a list gives to descriptors, it does not close the one that tells us of
// the child's end.
func TestCopyKeepsItsWord(t *testing.T) {
	var list []Call
	for n := 3; n < 90; n++ {
		list = append(list, Call{Name: "take a number", NR: unix.SYS_DUP3, Args: []Arg{number(2), number(n), number(unix.O_CLOEXEC)}})
	}
	list = append(list, Call{Name: "the last", NR: noSuchCall})
	_, pidfd, err := spawnCopy(t.Context(), 0, -1, list)
	reapFailed(pidfd)
	if want := (StepError{Step: "the last", Errno: unix.ENOSYS}); err == nil || err.Error() != want.Error() {
		t.Fatalf("%v, want %v", err, &want)
	}
}

// tellsOfCopy reports whether a plan says that its start makes a copy.
func tellsOfCopy(p Plan) bool {
	first, _, _ := strings.Cut(p.String(), "\n")
	weak := slices.ContainsFunc(p.Report.Weak, func(s string) bool { return strings.HasPrefix(s, "start: ") })
	return weak && strings.HasSuffix(first, ", forked")
}
