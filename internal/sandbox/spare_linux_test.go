//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// warmTrials are those that a spare can do here, each with one that is ready: at each level,
// and at level 2 once more with a file that is covered.
func warmTrials(t *testing.T, test func(t *testing.T, r *trial, s *Spares)) {
	for _, at := range []durward.Level{durward.LevelNone, durward.LevelRestrict, durward.LevelIsolate} {
		if err := Probe().Level(at); err != nil {
			t.Logf("no spare does a call at level %d here: %v", at.Number(), err)
			continue
		}
		for _, covered := range []bool{false, true} {
			if covered && (at < durward.LevelIsolate || os.Getuid() != 0) {
				continue // no spare does such a call for anybody else
			}
			t.Run(fmt.Sprintf("level=%d,covered=%v", at.Number(), covered), func(t *testing.T) {
				r, s := warmTrialAt(t, at, covered)
				if r != nil {
					test(t, r, s)
				}
			})
		}
	}
}

func warmTrial(t *testing.T) (*trial, *Spares) {
	t.Helper()
	return warmTrialAt(t, durward.LevelNone, false)
}

// warmTrialAt gives a trial with a spare that is ready, and all that it enters.
func warmTrialAt(t *testing.T, at durward.Level, covered bool) (*trial, *Spares) {
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
	if covered {
		secret := filepath.Join(filepath.Dir(r.marker), "secret")
		if err := os.WriteFile(secret, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		r.request.Grant.Files.Deny = append(r.request.Grant.Files.Deny, secret)
	}
	if plan := r.compile(t); plan.warm == nil && plan.shape.memory == memoryCgroup2 {
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

// pids are those that wait for calls of a key.
func (s *Spares) pids(key shape) (list []int) {
	for _, r := range s.free {
		if r.key == key {
			list = append(list, r.pid)
		}
	}
	return list
}

// A call takes the spare, and another one takes its place when the call is over.
func TestASpareDoesTheCall(t *testing.T) {
	warmTrials(t, func(t *testing.T, r *trial, s *Spares) {
		for _, follow := range []bool{false, true, false} {
			r.request.Follow = follow
			plan := r.compile(t)
			if s.waiting(plan.key) == 0 {
				if err := r.start(plan); err != nil {
					t.Fatal(err)
				}
				s.Settle()
			}
			waiting := s.pids(plan.key)
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
			if now := s.pids(plan.key); len(waiting) != 1 || proc.pid != waiting[0] || len(now) != 1 || now[0] == proc.pid {
				t.Errorf("process %d did it, %d were waiting, %d are now", proc.pid, waiting, now)
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
		tried := 0
		try := func(steps []Call, i int, p Plan) {
			t.Helper()
			if s.waiting(p.key) == 0 {
				t.Fatal("no spare waits")
			}
			if err := r.start(p); err == nil || !strings.Contains(err.Error(), steps[i].Name) {
				t.Errorf("%s: %v", steps[i].Name, err)
			}
			if r.ran() {
				t.Fatalf("the command ran although %q failed", steps[i].Name)
			}
			if err := r.start(first); err != nil || os.Remove(r.marker) != nil {
				t.Fatal(err)
			}
			s.Settle()
			tried++
		}
		for i, c := range first.warm.adds {
			if c.Allow != AnyError {
				p := first
				w := *p.warm
				w.adds = broken(w.adds, i)
				p.warm = &w
				try(w.adds, i, p)
			}
		}
		if first.key.prepared {
			if tried < 5 {
				t.Fatalf("only %d steps were tried", tried)
			}
			return
		}
		for i := 1; i < len(first.warm.before)-len(first.Before); i++ {
			p := first
			w := *p.warm
			w.before = broken(w.before, i)
			told := p
			told.Before = w.before
			var err error
			if w.block, err = told.told(p.shape); err != nil {
				t.Fatal(err)
			}
			p.warm = &w
			try(w.before, i, p)
		}
		if tried < 3 {
			t.Fatalf("only %d steps were tried", tried)
		}
	})
}

// broken gives a list of which one step fails.
func broken(list []Call, i int) []Call {
	list = slices.Clone(list)
	list[i].NR = noSuchCall
	return list
}

// A process in which a step fails before there is a call is never ready: none is left
// waiting, and calls start as they would without.
func TestEachFailingStepBeforeACall(t *testing.T) {
	r, s := warmTrialAt(t, durward.LevelIsolate, false)
	if r == nil {
		return
	}
	first := r.compile(t)
	if !first.key.prepared {
		t.Fatal("the command's process is not made ahead")
	}
	waits := len(first.warm.command) - len(first.warm.adds) - 2 // it waits with the last one, and then executes
	for _, list := range []struct {
		name   string
		steps  int
		breaks func(*Plan, int)
	}{
		{"before", len(first.warm.before), func(p *Plan, i int) { p.Before = broken(p.Before, i) }},
		{"command", waits, func(p *Plan, i int) { p.Command = broken(p.Command, i) }},
	} {
		for i := range list.steps {
			told := first
			told.Before, told.Command, told.After = first.warm.before, first.warm.command[:waits+1], first.warm.after
			list.breaks(&told, i)
			p, w := first, *first.warm
			var err error
			if w.block, err = told.told(first.key); err != nil {
				t.Fatal(err)
			}
			p.warm = &w
			if spare, err := makeSpare(p, r.host); err == nil {
				spare.close()
				t.Errorf("%s %d: it is ready", list.name, i)
			}
		}
	}
	if err := r.start(first); err != nil || !r.ran() {
		t.Errorf("%v; ran: %v", err, r.ran())
	}
	s.Settle()
}

// A process that does not get ready is given up, so that nobody waits for it for ever.
func TestACellThatIsStoppedIsGivenUp(t *testing.T) {
	r, _ := warmTrialAt(t, durward.LevelIsolate, false)
	if r == nil {
		return
	}
	p, w := r.compile(t), *r.compile(t).warm
	stop := Call{Name: "stop", NR: unix.SYS_PPOLL, Args: []Arg{number(0), number(0), number(0), number(0), number(0)}}
	told := p
	told.Before, told.Command, told.After = append([]Call{stop}, w.before...), nil, w.after
	var err error
	if w.block, err = told.told(p.key); err != nil {
		t.Fatal(err)
	}
	p.warm = &w
	defer func(d time.Duration) { readyTime = d }(readyTime)
	readyTime = 50 * time.Millisecond
	if spare, err := makeSpare(p, r.host); !errors.Is(err, errNotReady) {
		spare.close()
		t.Errorf("it is ready: %v", err)
	}
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
	closeFDs(spare.own.control, spare.own.call)
	if err := pollEnded(spare.pidfd); err != nil {
		t.Fatal(err)
	}
	spare.own.control, spare.own.call = -1, -1
	spare.close()
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
