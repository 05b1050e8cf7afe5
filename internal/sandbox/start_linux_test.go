//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A plan as it is compiled runs the command, and says when its start is a slower one.
func TestPlanRuns(t *testing.T) {
	eachTrial(t, func(t *testing.T, r *trial) {
		p := r.compile(t)
		if err := r.start(p); err != nil || !r.ran() {
			t.Fatalf("%v; ran: %v", err, r.ran())
		}
		if copied := r.host.SharedErr != nil; tellsOfCopy(p) != copied {
			t.Fatalf("a copy: %v, but it says\n%s\n%v", copied, p, p.Report.Weak)
		}
	})
}

// noSuchCall is a system call that every kernel answers with ENOSYS.
const noSuchCall = 4000

// Each step in turn is made to fail by the kernel. The start names it, the command
// has not run, and nothing is left. What has to do with a room is tried where the call
// builds it, where it is built to be kept, and where it is kept.
func TestEachFailingStepStopsTheStart(t *testing.T) {
	share, sources, room := func(p *Plan) *[]Call { return &p.Share }, func(p *Plan) *[]Call { return &p.Sources }, func(p *Plan) *[]Call { return &p.Room }
	enter, own := func(p *Plan) *[]Call { return &p.Enter }, func(p *Plan) *[]Call { return &p.Own }
	before, command := func(p *Plan) *[]Call { return &p.Before }, func(p *Plan) *[]Call { return &p.Command }
	eachTrial(t, func(t *testing.T, r *trial) {
		fresh := func() { r.host.rooms = &rooms{} }
		second := func() { r.host.rooms = &rooms{once: []string{r.compile(t).shape.view}} }
		steps := r.failEach(t, fresh, share, sources, room, own, before, command)
		if r.request.Grant.Level == durward.LevelIsolate && r.host.UID == 0 {
			steps += r.failEach(t, second, room)
			second()
			if err := r.start(r.compile(t)); err != nil || !r.ran() || len(r.host.rooms.kept) != 1 {
				t.Fatalf("no room is kept: %v", err)
			}
			if err := os.Remove(r.marker); err != nil {
				t.Fatal(err)
			}
			steps += r.failEach(t, func() {}, sources, enter, own, command)
			r.host.rooms.close()
		}
		if steps < 8 {
			t.Fatalf("only %d steps were tried", steps)
		}
		if left := ourChildren(t); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	})
}

// failEach makes each call of some lists fail, each in a start of its own, and counts them.
func (r *trial) failEach(t *testing.T, prepare func(), lists ...func(*Plan) *[]Call) (steps int) {
	t.Helper()
	for _, list := range lists {
		for i := range *list(new(r.compile(t))) {
			prepare()
			p := r.compile(t)
			calls := slices.Clone(*list(&p))
			calls[i].NR = noSuchCall
			*list(&p) = calls
			r.tell(t, &p)
			err := r.start(p)
			if calls[i].Allow == AnyError {
				continue
			}
			steps++
			var step *StepError
			if !errors.As(err, &step) || step.Step != calls[i].Name || step.Errno != unix.ENOSYS {
				t.Errorf("%s: %v", calls[i].Name, err)
			}
			if r.ran() {
				t.Fatalf("the command ran although %q failed", calls[i].Name)
			}
		}
	}
	return steps
}

// ourChildren lists our children but for the watchdog, dead ones included.
func ourChildren(t *testing.T) []string {
	t.Helper()
	_, others := sortChildren(t)
	return others
}

func ourWatchdogs(t *testing.T) []string {
	t.Helper()
	watchdogs, _ := sortChildren(t)
	return watchdogs
}

func sortChildren(t *testing.T) (watchdogs, others []string) {
	t.Helper()
	for _, pid := range children(os.Getpid()) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		name := fmt.Sprintf("%d %q", pid, line)
		if strings.HasPrefix(string(line), "durward-watchdog") {
			watchdogs = append(watchdogs, name)
		} else {
			others = append(others, name)
		}
	}
	return watchdogs, others
}

// The plan is data: compiling twice gives the same text, and it names what happens.
func TestPlanPrints(t *testing.T) {
	eachTrial(t, func(t *testing.T, r *trial) {
		text := r.compile(t).String()
		if again := r.compile(t).String(); again != text {
			t.Fatalf("two plans for one request:\n%s\n%s", text, again)
		}
		for _, want := range []string{"own session: setsid()", "umask: umask(63)", "open files: prlimit64(0, ", "execute the program: execveat("} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	})
}
