//go:build linux && (amd64 || arm64)

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
				var why *durward.Error
				if !asError(err, &why) || why.Reason != durward.LimitMemory || why.Rule == "" || r.Report.End.Cause != durward.CauseLimitMemory {
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
	e := newEngine(t, Options{Host: func() sandbox.Host { return sandbox.Probe().WithoutMemory() }})
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
	e := newEngine(t, Options{})
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

// enclosing gives a memory cgroup around those of a runtime to come, with a limit, or
// "" where none is to be had.
func enclosing(t *testing.T, limit int64) string {
	t.Helper()
	lives, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lives)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || f[1] != "memory" {
			continue
		}
		path := fmt.Sprintf("/sys/fs/cgroup/memory%s/test-%s", f[2], newMarker(t, 0))
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Logf("no cgroup can be made: %v", err)
			return ""
		}
		t.Cleanup(func() {
			waitFor(t, "the cgroup is empty", 20*time.Second, func() bool { return os.Remove(path) == nil })
		})
		if err := os.WriteFile(path+"/memory.limit_in_bytes", []byte(fmt.Sprint(limit)), 0); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return ""
}

// A runtime lives on, and answers, when its calls together need more than the cgroup
// around all of them has, whatever each call's own limit; and the answer does not blame
// that.
func TestTheRuntimeIsNotTheVictim(t *testing.T) {
	for _, trial := range sandbox.ProbeAll().Trials {
		for _, mode := range []durward.Mode{durward.ReadOnly, durward.DangerFullAccess} {
			for _, held := range []bool{true, false} {
				if trial.Err != nil || !held && mode == durward.DangerFullAccess {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/held=%v", trial.Containment, mode, held), func(t *testing.T) {
					path := enclosing(t, 96<<20)
					if path == "" {
						t.Log("no cgroup can be put around a runtime")
						return
					}
					self := exec.Command(os.Args[0], "-test.run=^TestRuntimeInASmallCgroup$", "-test.v")
					self.Env = append(os.Environ(), "DURWARD_TEST_CGROUP="+path, "DURWARD_TEST_CONTAINMENT="+string(trial.Containment),
						"DURWARD_TEST_MODE="+string(mode), fmt.Sprintf("DURWARD_TEST_HELD=%v", held))
					out, err := self.CombinedOutput()
					if err != nil || !strings.Contains(string(out), "answered") {
						t.Fatalf("the runtime has not lived to answer: %v\n%s", err, out)
					}
				})
			}
		}
	}
}

// TestRuntimeInASmallCgroup is the runtime of the test above; by itself it does nothing.
// It is the largest process by far.
func TestRuntimeInASmallCgroup(t *testing.T) {
	path := os.Getenv("DURWARD_TEST_CGROUP")
	if path == "" {
		return
	}
	if err := os.WriteFile(path+"/cgroup.procs", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := unix.Mmap(-1, 0, 40<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	host := sandbox.ProbeAll().With(sandbox.Containment(os.Getenv("DURWARD_TEST_CONTAINMENT")))
	held := os.Getenv("DURWARD_TEST_HELD") == "true"
	if !held {
		host = host.WithoutMemory()
	}
	e, g := newEngine(t, Options{Host: func() sandbox.Host { return host }}), confined()
	g.Mode = durward.Mode(os.Getenv("DURWARD_TEST_MODE"))
	ctx, cancel := contextFor(t, 20*time.Second)
	defer cancel()
	r, err := e.run(ctx, shell("for i in $(seq 40); do (head -c 2000000 /dev/zero; sleep .5) | tail & done; wait"), g)
	killed, readErr := os.ReadFile(path + "/memory.failcnt")
	if readErr != nil || strings.TrimSpace(string(killed)) == "0" {
		t.Fatalf("memory did not run out: %s, %v", killed, readErr)
	}
	if held {
		var why *durward.Error
		if !asError(err, &why) || why.Reason != durward.LimitMemory || why.Hint != sandbox.HintOuterShortage || r.Report.End.Cause != durward.CauseLimitMemory {
			t.Fatalf("%+v, %+v", err, r.Report)
		}
	}
	fmt.Println("answered", err)
}

// What a command shares among its processes counts once where a cgroup counts, and once
// it has left that the runtime counts.
func TestMemoryOfTheRuntimesOwnUser(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		by, err := e.host().Memory()
		if err != nil || os.Geteuid() != 0 {
			t.Logf("no cgroup that a command could leave: %v", err)
			return
		}
		g := confined()
		g.Mode, g.Limits.Memory = durward.DangerFullAccess, memoryLimit
		shared := "x=$(head -c 8000000 /dev/zero | tr '\\0' a); for i in $(seq 16); do (sleep .4; :) & done; wait"
		if r, err := e.run(t.Context(), shell("%s", shared), g); err != nil || r.ExitStatus() != 0 {
			t.Errorf("%v; %+v", err, r.Report)
		}
		if by != "cgroup1" {
			return // where one of version 2 lies nobody here can tell
		}
		m := newMarker(t, 0)
		leave := "echo 0 > /sys/fs/cgroup/memory/cgroup.procs; head -c 268435456 /dev/zero | tail; sleep %s"
		if _, err := e.run(t.Context(), shell(leave, m), g); durward.ReasonOf(err) != durward.LimitMemory || m.alive(t) != 0 {
			t.Errorf("%v; %d live", err, m.alive(t))
		}
	})
}

// mayHold reports whether this process may raise the least that others can lower their
// own score to.
func mayHold(t *testing.T) bool {
	t.Helper()
	header, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	return data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// A command whose user is not the runtime's cannot take back that it is killed first,
// where the runtime may see to that.
func TestWhoIsKilledFirst(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		const file = "/proc/self/oom_score_adj"
		r, err := e.run(t.Context(), shell("(echo 0 > %s) 2>/dev/null; (echo 0 > %s; read a < %s; echo $a) 2>/dev/null", file, file, file), confined())
		if err != nil {
			t.Fatal(err)
		}
		if out := strings.TrimSpace(string(r.Stdout.Bytes())); out != "1000" && mayHold(t) {
			t.Errorf("the command has %q", out)
		}
	})
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
