//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// warmTrials are those that a spare can do here, by their levels, each with one that is
// ready.
func warmTrials(t *testing.T, test func(t *testing.T, r *trial, s *Spares)) {
	for _, at := range []durward.Level{durward.LevelNone, durward.LevelRestrict, durward.LevelIsolate} {
		if err := Probe().Level(at); err != nil {
			t.Logf("no spare does a call at level %d here: %v", at.Number(), err)
			continue
		}
		t.Run(fmt.Sprintf("level=%d", at.Number()), func(t *testing.T) {
			r, s := warmTrialAt(t, at)
			if r != nil {
				test(t, r, s)
			}
		})
	}
}

func warmTrial(t *testing.T) (*trial, *Spares) {
	t.Helper()
	return warmTrialAt(t, durward.LevelNone)
}

// warmTrialAt gives a trial with a spare that is ready, and all that it enters.
func warmTrialAt(t *testing.T, at durward.Level) (*trial, *Spares) {
	t.Helper()
	h := Probe()
	if h.best() != PIDNamespace {
		t.Logf("no process-id space here: %v", h.Trials)
		return nil, nil
	}
	r, s := newTrial(t, h), &Spares{}
	t.Cleanup(s.Close)
	if at > durward.LevelNone {
		r.confine(at)
		for range 2 { // a room is kept from the second time on
			if err := r.start(r.compile(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r.compile(t).shape.memory == memoryCgroup2 {
		r.host = h.WithoutMemory() // a process is born in such a cgroup: no spare suits
	}
	r.request.Spares = s
	if err := r.start(r.compile(t)); err != nil {
		t.Fatal(err)
	}
	s.Settle()
	if err := os.Remove(r.marker); err != nil || len(s.free) != 1 {
		t.Fatalf("%d spares, %v", len(s.free), err)
	}
	return r, s
}

// A call takes the spare, and another one takes its place when the call is over.
func TestASpareDoesTheCall(t *testing.T) {
	warmTrials(t, func(t *testing.T, r *trial, s *Spares) {
		for _, follow := range []bool{false, true, false} {
			r.request.Follow = follow
			waiting := s.free[0].pid
			proc, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host)
			if err != nil {
				t.Fatal(err)
			}
			<-proc.Exited()
			proc.Kill()
			if err := proc.Close(); err != nil || proc.Exit().Err != nil || proc.Exit().Status.ExitStatus() != 0 || !r.ran() {
				t.Fatalf("%+v, %v; ran: %v", proc.Exit(), err, r.ran())
			}
			s.Settle()
			if proc.pid != waiting || len(s.free) != 1 || s.free[0].pid == waiting {
				t.Errorf("process %d did it, %d was waiting, %+v are now", proc.pid, waiting, s.free)
			}
			if err := os.Remove(r.marker); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The words of the command, its directory and its streams are those of the call.
func TestASpareRunsWhatItIsTold(t *testing.T) {
	r, s := warmTrial(t)
	if r == nil {
		return
	}
	program, err := FindProgram("sh", "/usr/bin:/bin", "/")
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, long := range []int{0, 100, 16 << 10, 100 << 10} { // the last one does not fit what a spare is told
		read, write := pipe(t)
		r.request.Program = program
		r.request.Argv = []string{"mine", "-c", `echo "$0|$1|$HOME|${#2}|$(pwd)|$(ls /proc/self/fd | tr '\n' ' ')"; env | sort | tr '\n' ' ' >&2`, "a b", "", strings.Repeat("x", long)}
		r.request.Env = []string{"HOME=/home", "PATH=/usr/bin:/bin"}
		proc, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, write, write}, r.host)
		write.Close()
		if err != nil {
			t.Fatal(err)
		}
		<-proc.Exited()
		proc.Kill()
		if err := proc.Close(); err != nil || proc.Exit().Err != nil {
			t.Fatal(err, proc.Exit().Err)
		}
		text := make([]byte, 4096)
		n, _ := read.Read(text)
		read.Close()
		got := string(text[:n])
		if !strings.HasPrefix(got, "a b||/home|"+strconv.Itoa(long)+"|"+r.request.Dir.Name()+"|0 1 2 3 \n") || !strings.Contains(got, "HOME=/home PATH=/usr/bin:/bin PWD=") {
			t.Errorf("%d: %q", long, got)
		}
		s.Settle()
	}
}

// Each step that only a spare takes is made to fail, but for the one that takes the
// descriptors: a spare without them is one that was killed. The command has not run, and
// the start names the step.
func TestEachFailingStepOfASpareStopsTheStart(t *testing.T) {
	warmTrials(t, func(t *testing.T, r *trial, s *Spares) {
		first := r.compile(t)
		own := len(first.warmBefore) - len(first.Before)
		for i := 1; i < own; i++ {
			if r.compile(t).warmBefore[i].Allow == AnyError {
				continue
			}
			p := r.compile(t)
			p.warmBefore = slices.Clone(p.warmBefore)
			p.warmBefore[i].NR = noSuchCall
			told := p
			told.Before = p.warmBefore
			var err error
			if p.warm, err = told.told(p.shape); err != nil {
				t.Fatal(err)
			}
			waiting := len(s.free)
			if err := r.start(p); err == nil || !strings.Contains(err.Error(), p.warmBefore[i].Name) {
				t.Errorf("%s: %v; %d were waiting", p.warmBefore[i].Name, err, waiting)
			}
			if r.ran() {
				t.Fatalf("the command ran although %q failed", p.warmBefore[i].Name)
			}
			s.Settle()
		}
		if own < 4 {
			t.Fatalf("only %d steps were tried", own)
		}
	})
}

// A spare that somebody killed is not missed.
func TestAKilledSpareIsNotMissed(t *testing.T) {
	r, s := warmTrial(t)
	if r == nil {
		return
	}
	kill(s.free[0].pidfd)
	if err := pollEnded(s.free[0].pidfd); err != nil {
		t.Fatal(err)
	}
	if err := r.start(r.compile(t)); err != nil || !r.ran() {
		t.Fatalf("%v; ran: %v", err, r.ran())
	}
}

// A spare ends when nobody holds the other end of its socket, as when we die.
func TestASpareEndsWithUs(t *testing.T) {
	r, s := warmTrial(t)
	if r == nil {
		return
	}
	spare := s.take(shape{})
	unix.Close(spare.control)
	if err := pollEnded(spare.pidfd); err != nil {
		t.Fatal(err)
	}
	reapFailed(spare.pidfd)
	unix.Close(spare.status)
}

// However many calls there are at once, few spares wait, and none when all is over.
func TestSparesAreBounded(t *testing.T) {
	r, s := warmTrial(t)
	if r == nil {
		return
	}
	plan := r.compile(t)
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for range 5 {
				if err := r.start(plan); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	s.Settle()
	left := slices.Clone(s.free)
	if len(left) == 0 || len(left) > mostSpares {
		t.Errorf("%d spares wait", len(left))
	}
	s.Close()
	for _, r := range left {
		if err := unix.Kill(r.pid, 0); err != unix.ESRCH {
			t.Errorf("spare %d is still there: %v", r.pid, err)
		}
	}
	if err := r.start(plan); err != nil || len(s.free) > 0 {
		t.Errorf("after the end: %v, %d spares", err, len(s.free))
	}
}
