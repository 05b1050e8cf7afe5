//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// A reused number says how many of a run's processes there were, how many others took
// their numbers, and which of those were signalled.
type reused struct {
	Wanted, Taken int
	Harmed        []int
	Exhaust       outcome
}

// A run goes through all the process numbers there are, and ends. Others get its numbers,
// and then somebody cancels it.
func TestV55NumberReuse(t *testing.T) {
	before, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t, row{id: "V55", needs: "kill"}, 0, users()[0])
	j := job{Mode: "numbers", Without: "many numbers", Processes: s.own("pid")}
	how := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		j.Around = s.own("user")
		how.Cloneflags |= unix.CLONE_NEWUSER
		how.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		how.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	j.Calls = []jobCall{{Policy: s.free().String()}}
	for s.level = 1; s.level < 3; s.level++ {
		j.Calls = append(j.Calls, jobCall{Policy: s.confined().with("require", "[syscalls]").String()})
	}
	c, stdout, stderr := s.child(j, how)
	if err := c.Run(); err != nil {
		t.Errorf("the other runtime: %v\n%s", err, stderr)
	}
	if after, err := os.ReadFile("/proc/sys/kernel/pid_max"); err != nil || string(after) != string(before) {
		t.Fatalf("this machine's own limit was %s and is %s, %v", before, after, err)
	}
	got := decode[reused](s, stdout)
	if len(got) != len(j.Calls) {
		t.Errorf("%d answers to %d calls", len(got), len(j.Calls))
	}
	for level, r := range got {
		if r.Taken < 2 || r.Taken != r.Wanted || len(r.Harmed) > 0 || r.Exhaust.Error != "" || !strings.Contains(r.Exhaust.Stdout, `"got":"900"`) {
			t.Errorf("level %d: %+v", level, r)
		}
		t.Logf("V55 level %d %s: %d numbers were taken again, signalled were %v", level, s.user.name, r.Taken, r.Harmed)
	}
	s.end()
}

// reuse is the part of the other runtime, where there are few numbers. A number may also
// be taken by a thread of that runtime itself, and then nobody gets it: so it tries again.
func (j job) reuse(r *core.Runtime, say *json.Encoder) error {
	var answer reused
	result, err := r.Do(context.Background(), durward.Call{Tool: "command", Dir: j.Workspace, Argv: []string{j.Attempt, "exhaust", "900"}})
	answer.Exhaust = outcomeOf(result, err)
	for range 5 {
		if err := answer.round(j, r); err != nil || answer.Taken == answer.Wanted {
			return errors.Join(err, say.Encode(answer))
		}
	}
	return say.Encode(answer)
}

// round has a command end, others take its numbers, and somebody signal it then.
func (a *reused) round(j job, r *core.Runtime) error {
	ctx := context.Background()
	session, err := r.Open(ctx, durward.Call{Tool: "command", Dir: j.Workspace, Argv: []string{j.Attempt, "wait"}}, nil)
	if err != nil {
		return err
	}
	wanted, err := treeOf(j.Attempt + " wait")
	if err != nil {
		return err
	}
	if err := session.CloseInput(); err != nil {
		return err
	}
	if _, err := session.Wait(ctx); err != nil {
		return err
	}
	taken, err := takeAgain(j.Attempt, wanted)
	a.Wanted, a.Taken = len(wanted), len(taken)
	if err != nil {
		return err
	}
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		_ = session.Signal(int(signal)) // it may say that nobody is there
	}
	session.Cancel()
	if err := session.Close(); err != nil {
		return err
	}
	_ = session.Signal(int(unix.SIGKILL))
	for _, c := range taken {
		// Signals were sent, if at all, before Close came back.
		if ended, err := unix.Poll([]unix.PollFd{{Fd: int32(*c.SysProcAttr.PidFD), Events: unix.POLLIN}}, 0); err != nil || ended > 0 {
			a.Harmed = append(a.Harmed, c.Process.Pid)
		}
		if err := errors.Join(c.Process.Kill(), unix.Close(*c.SysProcAttr.PidFD)); err != nil {
			return err
		}
		_ = c.Wait() // it was killed
	}
	return nil
}

// treeOf gives the numbers of a command's process, and of the one that started it unless
// that is ours.
func treeOf(line string) (map[int]bool, error) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			text, _ := os.ReadFile(f) // empty for the dead
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "comm"))
			if !strings.Contains(strings.ReplaceAll(string(text), "\x00", " "), line) || string(name) != "attempt\n" {
				continue
			}
			stat, err := os.ReadFile(filepath.Join(filepath.Dir(f), "stat"))
			if err != nil {
				return nil, err
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			_, rest, _ := strings.Cut(string(stat), ") ")
			if fields := strings.Fields(rest); err == nil && len(fields) > 1 {
				tree := map[int]bool{pid: true}
				if parent, err := strconv.Atoi(fields[1]); err == nil && parent != os.Getpid() {
					tree[parent] = true
				}
				return tree, nil
			}
		}
	}
	return nil, fmt.Errorf("%q does not run", line)
}

// takeAgain starts processes until some have the wanted numbers, and ends all others.
func takeAgain(program string, wanted map[int]bool) ([]*exec.Cmd, error) {
	var taken []*exec.Cmd
	for range 1000 { // more than twice all there are
		fd := -1
		c := exec.Command(program, "sleep")
		c.SysProcAttr = &syscall.SysProcAttr{PidFD: &fd, Setsid: true}
		if err := c.Start(); err != nil {
			return taken, err
		}
		if wanted[c.Process.Pid] {
			if taken = append(taken, c); len(taken) == len(wanted) {
				break
			}
			continue
		}
		if err := errors.Join(c.Process.Kill(), unix.Close(fd)); err != nil {
			return taken, err
		}
		_ = c.Wait() // it was killed
	}
	return taken, nil
}

// A runtime is stopped for longer than its call has time.
func TestV56StoppedRuntime(t *testing.T) {
	type stopped struct {
		*scene
		cmd            *exec.Cmd
		stdout, stderr fmt.Stringer
		out            func() []outcome
	}
	var all []stopped
	for level := range 3 {
		for _, u := range users() {
			s := newScene(t, row{id: "V56", needs: "kill"}, level, u)
			s.base = s.base.with("limits", "{wallMs: 2000, graceMs: 100}").with("require", "[]")
			c, stdout, stderr := s.child(job{Calls: []jobCall{{s.base.String(), []string{s.attemptPath(), "sleep"}}}}, nil)
			s.check(c.Start())
			all = append(all, stopped{s, c, stdout, stderr, func() []outcome { return decode[outcome](s, stdout) }})
			waitFor(t, "the command runs", func() bool {
				return len(attempts(t, s.attemptPath()+" sleep")) > 0 || isOver(t, c.Process.Pid)
			})
			s.check(c.Process.Signal(unix.SIGSTOP))
		}
	}
	time.Sleep(5 * time.Second) // this is what is tried
	for _, s := range all {
		s.check(s.cmd.Process.Signal(unix.SIGCONT))
	}
	for _, s := range all {
		if err := s.cmd.Wait(); err != nil {
			s.Errorf("the other runtime: %v\n%s", err, s.stderr)
		}
		got := s.out()
		if len(got) != 1 || got[0].Reason != durward.DeadlineExceeded || got[0].Cause != durward.CauseTimeout {
			s.Errorf("level %d: %+v", s.level, got)
		}
		s.scene.report("TIMEOUT after it was stopped")
	}
}

// isOver reports whether a child of ours has ended and waits to be asked how.
func isOver(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(stat), ") Z ")
}

// The clock that goes on while the machine sleeps jumps; a call's time is up once, whether
// it jumps ahead or back.
func TestV56SteppedClock(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			var offset, looks atomic.Int64
			began := time.Now()
			clock := func() time.Duration {
				looks.Add(1)
				return 2*time.Hour + time.Since(began) + time.Duration(offset.Load())
			}
			row{id: "V56", serial: true, clock: clock}.each(t, func(s *scene) {
				offset.Store(0)
				looks.Store(0)
				wall := "{wallMs: 40000, graceMs: 50}"
				if step < 0 {
					wall = "{wallMs: 1500, graceMs: 50}"
				}
				over, stepped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stepped)
					for looks.Load() < 2 || len(attempts(s.T, s.attemptPath()+" sleep")) == 0 {
						select {
						case <-over:
							return
						case <-time.After(2 * time.Millisecond): // between two looks
						}
					}
					offset.Store(int64(step))
				}()
				a := s.attemptUnder(s.base.with("limits", wall), "sleep")
				close(over)
				<-stepped
				if offset.Load() == 0 {
					s.Error("the clock was never stepped")
				}
				s.ended("the call", a.result, a.err, durward.DeadlineExceeded, durward.CauseTimeout)
			})
		})
	}
}
