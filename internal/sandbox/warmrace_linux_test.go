//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// waiters are the command's processes that wait in spares.
func (s *Spares) waiters() (list []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.free {
		if r.key.prepared {
			list = append(list, children(r.pid)...)
		}
	}
	return list
}

// Whenever somebody kills the process that waits for the call, the command runs once, or
// its caller learns that it was killed.
func TestAKilledWaiterIsNotSilent(t *testing.T) {
	for _, follow := range []bool{false, true} {
		t.Run(fmt.Sprint(follow), func(t *testing.T) {
			r, s, dir := warmCell(t, func(r *trial, dir string) {
				r.request.Follow = follow
				r.shell(t, "echo x >> "+filepath.Join(dir, "count"))
			})
			count := func() int {
				text, _ := os.ReadFile(filepath.Join(dir, "count"))
				return strings.Count(string(text), "x")
			}
			outcomes := map[string]int{}
			for i := range 50 {
				s.Settle()
				before, list := count(), s.waiters()
				if len(list) == 0 {
					t.Fatalf("round %d: nobody waits", i)
				}
				ready := make(chan bool)
				var killer sync.WaitGroup
				killer.Go(func() {
					<-ready
					for end := monotonic() + time.Duration(rand.IntN(500))*time.Microsecond; monotonic() < end; {
					}
					for _, pid := range list {
						_ = unix.Kill(pid, unix.SIGKILL)
					}
				})
				close(ready)
				proc, err := Start(t.Context(), r.compile(t), r.request, Stdio{r.null, r.null, r.null}, r.host)
				killed := false
				if err == nil {
					select {
					case <-proc.Exited():
					case <-time.After(10 * time.Second):
						t.Errorf("round %d hangs", i)
					}
					proc.Kill()
					_ = proc.Close()
					err = proc.Exit().Err
					killed = proc.Exit().Status.Signaled()
				}
				killer.Wait()
				ran := count() - before
				outcomes[fmt.Sprintf("ran %d, killed %v, error %v", ran, killed, err)]++
				if ran > 1 || ran == 0 && err == nil && !killed {
					t.Errorf("round %d: ran %d times, killed %v, %v", i, ran, killed, err)
				}
			}
			t.Log(outcomes)
		})
	}
}

// Cells go, are taken and are closed all at once.
func TestCellsThatGoWhenTheyAreTaken(t *testing.T) {
	for _, follow := range []bool{false, true} {
		r, s, _ := warmCell(t, func(r *trial, dir string) {
			r.request.Follow = follow
			r.shell(t, "echo x >> "+filepath.Join(dir, "count"))
		})
		plan := r.compile(t)
		const each = 20
		var begun atomic.Int64
		halfway := make(chan struct{})
		stop := make(chan bool)
		var forgetting, calls sync.WaitGroup
		forgetting.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
				}
				s.mu.Lock()
				free := slices.Clone(s.free)
				s.mu.Unlock()
				for _, r := range free {
					s.forget(r)
				}
			}
		})
		for range 3 {
			calls.Go(func() {
				for range each {
					if begun.Add(1) == 3*each/2 {
						close(halfway)
					}
					ctx, cancel := context.WithCancel(t.Context())
					if rand.IntN(4) == 0 {
						time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, cancel)
					}
					proc, err := Start(ctx, plan, r.request, Stdio{r.null, r.null, r.null}, r.host)
					if err != nil {
						if ctx.Err() == nil {
							t.Error(err)
						}
						cancel()
						continue
					}
					if rand.IntN(4) == 0 {
						proc.Kill()
					}
					<-proc.Exited()
					proc.Kill()
					if err := proc.Close(); err != nil || proc.Exit().Err != nil {
						t.Error(err, proc.Exit().Err)
					}
					cancel()
				}
			})
		}
		calls.Go(func() { <-halfway; s.Close() })
		calls.Wait()
		close(stop)
		forgetting.Wait()
		s.Close()
	}
}

// A cell in which a process waits ends with us, also when its process was stopped.
func TestAPreparedCellEndsWithUs(t *testing.T) {
	for _, follow := range []bool{false, true} {
		for _, stopped := range []bool{false, true} {
			if follow && stopped {
				continue
			}
			t.Run(fmt.Sprintf("follow=%v,stopped=%v", follow, stopped), func(t *testing.T) {
				r, s, _ := warmCell(t, func(r *trial, _ string) {
					r.request.Follow = follow
					r.shell(t, "true")
				})
				spare := s.take(r.compile(t).key)
				if spare == nil {
					t.Fatal("nothing waits")
				}
				if stopped {
					for _, pid := range children(spare.pid) {
						_ = unix.Kill(pid, unix.SIGSTOP)
					}
				}
				closeFDs(spare.own.control, spare.own.call)
				spare.own.control, spare.own.call = -1, -1
				n, err := unix.Poll([]unix.PollFd{{Fd: int32(spare.pidfd), Events: unix.POLLIN}}, 1000)
				if n != 1 {
					t.Errorf("it lives on: %v", err)
				}
				spare.close()
			})
		}
	}
}

// What many calls leave is what few leave.
func TestManyWarmCallsLeaveNothing(t *testing.T) {
	r, s, dir := warmCell(t, func(r *trial, dir string) { r.shell(t, "true") })
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("\x7fELFnothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	none, err := FindProgram(bad, "/usr/bin:/bin", "/")
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	good := r.request
	state := func() string {
		s.Settle()
		r.host.later.Wait()
		r.host.Settle()
		fds := map[string]int{}
		list, _ := os.ReadDir("/proc/self/fd")
		for _, e := range list {
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			to, _, _ = strings.Cut(to, ":[")
			if strings.Contains(to, "cgroup") || to == "mnt" || to == "net" || to == "user" {
				continue // those that are kept: as many as calls were there at once, and views
			}
			fds[to]++
		}
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		watchdogs, others := sortChildren(t)
		return fmt.Sprintf("%v, %d mounts, %d watchdogs, %d children", fds, strings.Count(string(mounts), "\n"), len(watchdogs), len(others))
	}
	var first string
	for i := range 30 {
		if i == 5 {
			first = state()
		}
		var calls sync.WaitGroup
		for k := range 4 {
			req := good
			req.Follow = (i+k)%2 == 0
			switch k {
			case 1:
				req.Program, req.Argv = none, []string{"bad"}
			case 2:
				req.Argv = append(slices.Clip(req.Argv), strings.Repeat("x", 20<<10))
			}
			calls.Go(func() {
				p, err := Compile(t.Context(), req, r.host)
				if err != nil {
					t.Error(err)
					return
				}
				proc, err := Start(t.Context(), p, req, Stdio{r.null, r.null, r.null}, r.host)
				if err == nil {
					<-proc.Exited()
					proc.Kill()
					_ = proc.Close()
					err = proc.Exit().Err
				}
				if (err != nil) != (k == 1) || err != nil && durward.ReasonOf(err) != durward.ProgramNotExecutable {
					t.Errorf("%d: %v", k, err)
				}
			})
		}
		calls.Wait()
		s.Settle()
	}
	if last := state(); last != first {
		t.Errorf("it had %s, and has %s", first, last)
	}
}
