//go:build linux && (amd64 || arm64)

package process

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

const memoryLimit = 64 << 20

// memoryFile gives the path of a file in memory that no process of this machine has.
func memoryFile(t *testing.T) string {
	t.Helper()
	path := fmt.Sprintf("/dev/shm/durward-test-%s", newMarker(t, 0))
	t.Cleanup(func() { _ = os.Remove(path) }) // it need not have been made
	return path
}

// A tree that takes four times its memory is dead when the answer comes, whoever of it
// took the memory and whatever for, and its neighbour has not noticed.
func TestMemoryIsBounded(t *testing.T) {
	tests := []struct {
		name, script string
		cgroup       bool // what only a cgroup sees
	}{
		{"by the command itself", "exec tail < /dev/zero; : %s %s", false},
		{"by its child", "head -c 268435456 /dev/zero | tail; sleep %s; : %s", false},
		{"by many together", "for i in 1 2 3 4 5 6 7 8; do (head -c 33554432 /dev/zero; sleep 5) | tail & done; wait; sleep %s; : %s", false},
		{"by one that fled", "(setsid sh -c 'exec tail < /dev/zero' &); sleep %s; : %s", false},
		{"by a child whose end is passed over", "head -c 268435456 /dev/zero | tail; exit 0; : %s %s", true},
		{"by a file in memory", "sleep %s & head -c 268435456 /dev/zero > %s; wait", true},
	}
	eachContainment(t, func(t *testing.T, e *Engine) {
		_, without := e.host().Memory()
		t.Logf("memory cgroup: %v", without)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				if test.cgroup && without != nil {
					return // the runtime looks now and then, and not at files
				}
				defer neighbour(t, e)()
				g, m := confined(), newMarker(t, 0)
				g.Limits.Memory = memoryLimit
				r, err := e.run(t.Context(), shell(test.script, m, memoryFile(t)), g)
				if durward.ReasonOf(err) != durward.LimitMemory || r.Report.End.Cause != durward.CauseLimitMemory {
					t.Fatalf("%v; %+v", err, r)
				}
				if left := m.alive(t); left != 0 {
					t.Fatalf("%d processes live", left)
				}
			})
		}
	})
}

// neighbour runs a call beside a test, and checks when the test is over that it was let
// be.
func neighbour(t *testing.T, e *Engine) (check func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m, answered := newMarker(t, 1), make(chan error, 1)
	c := shell("sleep %s", m)
	go func() {
		_, err := e.run(ctx, c, confined())
		answered <- err
	}()
	waitFor(t, "the neighbour runs", 20*time.Second, func() bool { return m.alive(t) > 0 })
	return func() {
		alive := m.alive(t)
		cancel()
		if err := <-answered; alive == 0 || durward.KindOf(err) != durward.Cancelled {
			t.Errorf("the neighbour was hit: %d live, %v", alive, err)
		}
	}
}

// The report names what bounds the memory, and requiring the kernel for it is refused
// exactly where the kernel does not hold it.
func TestReportOfMemory(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		wide := confined()
		wide.Mode, wide.PrivateDir = durward.DangerFullAccess, nil
		unbounded := confined()
		unbounded.Limits.Memory = durward.Unlimited
		by, err := e.host().Memory()
		for _, test := range []struct {
			name  string
			grant durward.Grant
			want  durward.Held
		}{
			{"another user", confined(), durward.Held{Held: durward.HeldKernel, By: []string{by}}},
			{"the runtime's own user", wide, durward.Held{Held: durward.HeldBestEffort, By: []string{by, "poll"}}},
			{"no limit", unbounded, durward.Held{Held: durward.HeldNone}},
		} {
			t.Run(test.name, func(t *testing.T) {
				want := test.want
				if os.Geteuid() != 0 && want.Held == durward.HeldKernel {
					want = durward.Held{Held: durward.HeldBestEffort, By: []string{by, "poll"}}
				}
				if err != nil && want.Held != durward.HeldNone {
					want = durward.Held{Held: durward.HeldRuntime, By: []string{"poll"}}
				}
				r, err := e.run(t.Context(), call("true"), test.grant)
				if err != nil {
					t.Fatal(err)
				}
				if got := r.Report.Guarantees[durward.Mem]; got.Held != want.Held || !slices.Equal(got.By, want.By) {
					t.Fatalf("%+v, want %+v", got, want)
				}
				g := test.grant
				g.Require = []durward.Requirement{{Guarantee: durward.Mem, Kernel: true, Firm: true}}
				_, err = e.run(t.Context(), call("true"), g)
				if refused := durward.ReasonOf(err) == durward.SandboxUnavailable; refused != (want.Held != durward.HeldKernel) {
					t.Fatalf("held by %s, and to require the kernel gives %v", want.Held, err)
				}
			})
		}
	})
}

// Where no cgroup bounds memory, the runtime does.
func TestMemoryWithoutCgroups(t *testing.T) {
	e := newEngine(t, func() sandbox.Host { return sandbox.Probe().WithoutMemory() })
	for _, script := range []string{
		"head -c 268435456 /dev/zero | tail; sleep %s",
		"for i in 1 2 3 4 5 6 7 8; do (head -c 33554432 /dev/zero; sleep 5) | tail & done; wait; sleep %s",
	} {
		g, m := confined(), newMarker(t, 0)
		g.Limits.Memory = memoryLimit
		r, err := e.run(t.Context(), shell(script, m), g)
		if durward.ReasonOf(err) != durward.LimitMemory || m.alive(t) != 0 {
			t.Fatalf("%v with %d left", err, m.alive(t))
		}
		if held := r.Report.Guarantees[durward.Mem].Held; held != durward.HeldRuntime {
			t.Fatalf("held by %s", held)
		}
	}
}

// What a call leaves in memory is not taken from the next one's.
func TestMemoryLeftBehindCountsForNobodyElse(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		g, path := confined(), memoryFile(t)
		g.Limits.Memory = memoryLimit
		for i := range 3 {
			r, err := e.run(t.Context(), shell("head -c 50331648 /dev/zero > %s.%d; rm -f %s.%d", path, i, path, i-1), g)
			if err != nil || r.ExitStatus() != 0 {
				t.Fatalf("call %d: %v, %+v", i, err, r)
			}
			t.Cleanup(func() { _ = os.Remove(fmt.Sprintf("%s.%d", path, i)) }) // it may be gone
		}
	})
}

// A session's command that runs out of memory is told by its cause, too.
func TestMemoryOfASession(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		g, m := confined(), newMarker(t, 0)
		g.Limits.Memory, g.Keep = memoryLimit, durward.KeepStream
		p, err := e.Prepare(t.Context(), durward.Tool{}, shell("head -c 268435456 /dev/zero | tail; sleep %s", m), g)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		s, err := p.(*prepared).Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, err := s.Wait(t.Context())
		if durward.ReasonOf(err) != durward.LimitMemory || r.Report.End.Cause != durward.CauseLimitMemory || m.alive(t) != 0 {
			t.Fatalf("%v, %+v, %d live", err, r.Report, m.alive(t))
		}
	})
}

// A command that may choose whom the kernel kills first, and has it kill the reaper, has
// run out of memory all the same.
func TestTheReaperRunsOutOfMemory(t *testing.T) {
	e := newEngine(t, nil)
	if _, err := e.host().Memory(); err != nil || os.Geteuid() != 0 {
		t.Log("only root may choose, and only a cgroup kills")
		return
	}
	g, m := confined(), newMarker(t, 0)
	g.Mode, g.Limits.Memory = durward.DangerFullAccess, memoryLimit
	script := "echo -1000 > /proc/self/oom_score_adj; sleep %s & head -c 268435456 /dev/zero > %s; wait"
	r, err := e.run(t.Context(), shell(script, m, memoryFile(t)), g)
	if durward.ReasonOf(err) != durward.LimitMemory || r.Report.End.Cause != durward.CauseLimitMemory || m.alive(t) != 0 {
		t.Fatalf("%v, %+v, %d live", err, r.Report, m.alive(t))
	}
}

// A limit that is too small even for the start is a limit that was hit, and the command
// has not run.
func TestTooLittleMemoryToStart(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		if _, err := e.host().Memory(); err != nil {
			t.Log("the runtime sees too late how little it is")
			return
		}
		g := confined()
		g.Limits.Memory = 4096
		r, err := e.run(t.Context(), shell("echo ran"), g)
		if durward.ReasonOf(err) != durward.LimitMemory || r.Stdout.Total != 0 {
			t.Fatalf("%v, %+v", err, r)
		}
	})
}
