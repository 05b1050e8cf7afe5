//go:build linux && (amd64 || arm64)

package process

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox"
)

// 32 calls run side by side. Each one is ended in turn; when it is answered nothing
// of it lives, and nothing of its neighbours has been touched.
func TestAnAnswerMeansDeadAndNeighboursLive(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		const n = 32
		var markers [n]marker
		var cancels [n]context.CancelFunc
		var answered [n]chan error
		var all sync.WaitGroup
		defer all.Wait()
		for i := range n {
			markers[i] = newMarker(t, i)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cancels[i], answered[i] = cancel, make(chan error, 1)
			c, g := shell("%s trap '' TERM; wait; wait; sleep %s", escapees(markers[i]), markers[i]), confined()
			g.Limits.Grace = 50 * time.Millisecond
			all.Go(func() {
				_, err := e.run(ctx, c, g)
				answered[i] <- err
			})
		}
		waitFor(t, "all escapees run", 20*time.Second, func() bool { return slices.Min(aliveOf(t, markers[:]...)) >= escaped })
		for i := range n {
			cancels[i]()
			if err := <-answered[i]; durward.KindOf(err) != durward.Cancelled {
				t.Fatalf("call %d: %v", i, err)
			}
			alive := aliveOf(t, markers[i:min(i+2, n)]...)
			if alive[0] != 0 {
				t.Fatalf("call %d was answered and %d of its processes live", i, alive[0])
			}
			if i+1 < n && alive[1] < escaped {
				t.Fatalf("the end of call %d touched its neighbour: %d of %d live", i, alive[1], escaped)
			}
		}
	})
}

// A command that ends by itself takes with it what it left behind.
func TestNothingOutlivesACommandThatExits(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		m := newMarker(t, 0)
		began := time.Now()
		r, err := e.run(t.Context(), shell("%s exit 5", escapees(m)), confined())
		if err != nil || r.ExitStatus() != 5 {
			t.Fatalf("exit %d, error %v", r.ExitStatus(), err)
		}
		if left := m.alive(t); left != 0 {
			t.Fatalf("%d processes outlive the call", left)
		}
		t.Logf("answered after %s", time.Since(began))
	})
}

// When the runtime is killed its commands are dead within a second.
func TestTheRuntimesDeathIsTheirs(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		m := newMarker(t, 0)
		self := exec.Command(os.Args[0], "-test.run=^TestRuntimeThatWillBeKilled$")
		tmp := t.TempDir()
		openToAll(t, tmp)
		self.Env = append(os.Environ(), "TMPDIR="+tmp, "DURWARD_TEST_MARKER="+string(m), "DURWARD_TEST_CONTAINMENT="+strings.SplitAfter(t.Name(), "/")[1])
		out, err := self.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := self.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the calls of the other runtime run", 20*time.Second, func() bool { return m.alive(t) >= 8*escaped })
		if err := self.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "they are dead", time.Second, func() bool { return m.alive(t) == 0 })
		_, _ = bufio.NewReader(out).ReadString(0)
		_ = self.Wait() // it was killed
	})
}

// TestRuntimeThatWillBeKilled is the other runtime of the test above; by itself it
// does nothing.
func TestRuntimeThatWillBeKilled(t *testing.T) {
	m := marker(os.Getenv("DURWARD_TEST_MARKER"))
	if m == "" {
		return
	}
	containment := os.Getenv("DURWARD_TEST_CONTAINMENT")
	o := Options{Warm: containment == warm}
	if o.Warm {
		containment = string(sandbox.PIDNamespace)
	}
	host := sandbox.ProbeAll().With(sandbox.Containment(containment))
	o.Host = func() sandbox.Host { return host }
	e, g := New(o), confined()
	if o.Warm {
		_, _ = e.run(t.Context(), call("true"), g)
		e.spares.Settle()
	}
	if mode := os.Getenv("DURWARD_TEST_MODE"); mode != "" {
		g.Mode = durward.Mode(mode)
	}
	var all sync.WaitGroup
	for range 8 {
		c := shell("%s trap '' TERM; wait; wait; sleep %s", escapees(m), m)
		all.Go(func() { _, _ = e.run(t.Context(), c, g) })
	}
	all.Wait()
}

// A process that holds the output open does not hold up the answer.
func TestAHeldPipeDoesNotDelayTheAnswer(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		m := newMarker(t, 0)
		began := time.Now()
		r, err := e.run(t.Context(), shell("(trap '' TERM; exec sleep %s) & sleep 0.05; echo done", m), confined())
		if err != nil || string(r.Stdout.Bytes()) != "done\n" {
			t.Fatalf("%q, %v", r.Stdout.Bytes(), err)
		}
		if took := time.Since(began); took > 2*time.Second || m.alive(t) != 0 {
			t.Fatalf("answered after %s with %d left", took, m.alive(t))
		}
	})
}

// Exit codes and signals are what a shell sees without us.
func TestExitFidelity(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		for code := range 256 {
			r, err := e.run(t.Context(), shell("exit %d", code), confined())
			if err != nil || r.Exit == nil || *r.Exit != code || r.Signal != 0 {
				t.Fatalf("exit %d: %+v, %v", code, r.ExitStatus(), err)
			}
		}
		for _, name := range []string{"TERM", "KILL", "SEGV", "ABRT", "USR2"} {
			c := shell("kill -%s $$", name)
			bare := exec.Command(c.Argv[0], c.Argv[1:]...)
			_ = bare.Run()
			r, err := e.run(t.Context(), c, confined())
			if want := int(signalOf(bare)); err != nil || r.Exit != nil || r.Signal != want {
				t.Fatalf("%s: signal %d, want %d, %v", name, r.Signal, want, err)
			}
		}
	})
}

// A thousand runs leave nothing behind, but for what as many at once found ready.
func TestRunsLeaveNothing(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		batch := func() {
			var runs sync.WaitGroup
			for range 10 {
				c := call("true")
				runs.Go(func() {
					if _, err := e.run(t.Context(), c, confined()); err != nil {
						t.Error(err)
					}
				})
			}
			runs.Wait()
		}
		batch()
		before, pipes, _ := plainHoldings(t, e)
		for range 100 {
			batch()
		}
		if after, now, _ := plainHoldings(t, e); after != before || now > pipes {
			t.Fatalf("before: %s, %d pipes; after: %s, %d pipes", before, pipes, after, now)
		}
	})
}

// openFiles counts the descriptors of this process by what they lead to. It leaves out
// what is kept for later calls, of which there is as much as calls ran at once.
func openFiles(t *testing.T, e *Engine) map[string]int {
	t.Helper()
	settle(e)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	for _, fd := range fds {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err != nil { // it was closed meanwhile, as the one of the list itself
			continue
		}
		if !strings.Contains(to, "cgroup") && !strings.HasPrefix(to, "user:") {
			named[strings.TrimRight(to, "0123456789[]")]++
		}
	}
	return named
}
