//go:build linux && (amd64 || arm64)

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// Each test here is named after what somebody tried.

// Killing the process group of the runtime kills its commands, too.
func TestKillOfTheRuntimesGroup(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		m := newMarker(t, 0)
		tmp := t.TempDir()
		openToAll(t, tmp)
		self := exec.Command(os.Args[0], "-test.run=^TestRuntimeThatWillBeKilled$")
		self.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		self.Env = append(os.Environ(), "TMPDIR="+tmp, "DURWARD_TEST_MARKER="+string(m), "DURWARD_TEST_CONTAINMENT="+strings.SplitAfter(t.Name(), "/")[1])
		if err := self.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the calls of the other runtime run", 20*time.Second, func() bool { return m.alive(t) >= 8*escaped })
		if err := syscall.Kill(-self.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "they are dead", time.Second, func() bool { return m.alive(t) == 0 })
		_ = self.Wait() // it was killed
	})
}

// A command that leaves its cgroup does not hold the answer up, and the report never
// claimed that it could not.
func TestACommandThatLeavesItsCgroup(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		home, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
		if err != nil || os.Geteuid() != 0 || len(home) == 0 {
			t.Log("no cgroup that the command could move to")
			return
		}
		g := confined()
		g.Mode, g.Limits.Grace = durward.DangerFullAccess, 50*time.Millisecond
		ctx, cancel := contextFor(t, 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		r, err := e.run(ctx, shell("echo $$ > /sys/fs/cgroup/unified/cgroup.procs; trap '' TERM; while :; do sleep .1; done"), g)
		if durward.KindOf(err) != durward.Timeout || time.Since(began) > 5*time.Second {
			t.Fatalf("%v after %s", err, time.Since(began))
		}
		if e.host().Trials[0].Containment == "cgroup" && r.Report.Guarantees[durward.Kill].Held == durward.HeldKernel {
			t.Fatal("the report claims what the command has just disproved")
		}
	})
}

// Somebody outside the call to whom the command gave its output cannot hold up the
// answer, nor add to what was recorded.
func TestOutputGivenToAStranger(t *testing.T) {
	e := newEngine(t, Options{})
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stop := make(chan struct{})
	stranger := make(chan error, 1)
	go func() { stranger <- writeForEver(l, stop) }()
	g := confined()
	g.Mode, g.Env["DURWARD_TEST_SOCKET"] = durward.DangerFullAccess, path
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r, err := e.run(t.Context(), call(self, "-test.run=^TestGivesItsOutputAway$"), g)
	took := time.Since(began)
	close(stop)
	if err != nil || r.ExitStatus() != 0 || took > 5*time.Second {
		t.Fatalf("answered after %s: %d, %v", took, r.ExitStatus(), err)
	}
	if err := <-stranger; err != nil {
		t.Fatal(err)
	}
	t.Logf("answered after %s, %d bytes", took, r.Stdout.Total)
}

// writeForEver takes one descriptor and writes to it until told to stop.
func writeForEver(l *net.UnixListener, stop <-chan struct{}) error {
	c, err := l.AcceptUnix()
	if err != nil {
		return err
	}
	defer c.Close()
	oob := make([]byte, unix.CmsgSpace(4))
	if _, _, _, _, err := c.ReadMsgUnix(make([]byte, 1), oob); err != nil {
		return err
	}
	m, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return err
	}
	fds, err := unix.ParseUnixRights(&m[0])
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(10 * time.Millisecond):
			if _, err := unix.Write(fds[0], []byte(".")); err == unix.EPIPE {
				<-stop
				return nil
			}
		}
	}
}

// TestGivesItsOutputAway is the command of the test above; by itself it does nothing.
func TestGivesItsOutputAway(t *testing.T) {
	path := os.Getenv("DURWARD_TEST_SOCKET")
	if path == "" {
		return
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.WriteMsgUnix([]byte("x"), unix.UnixRights(1), nil); err != nil {
		t.Fatal(err)
	}
}

// A command that is over before its output is read is refused all the same.
func TestRefusedOutputOfAQuickCommand(t *testing.T) {
	eachContainment(t, func(t *testing.T, e *Engine) {
		for _, change := range []func(*durward.Grant){
			func(g *durward.Grant) { g.Keep, g.Limits.Output = durward.KeepRefuse, 1000 },
			func(g *durward.Grant) { g.Limits.OutputHard = 1000 },
		} {
			for range 100 {
				g := confined()
				change(&g)
				if r, err := e.run(t.Context(), call("head", "-c", "60000", "/dev/zero"), g); durward.KindOf(err) != durward.TooLarge {
					t.Fatalf("%v, %d bytes", err, r.Stdout.Total)
				}
			}
		}
	})
}

// An embedding program that ignores SIGCHLD still hears how its commands end.
func TestIgnoredSIGCHLD(t *testing.T) {
	self := exec.Command(os.Args[0], "-test.run=^TestRuntimeThatIgnoresSIGCHLD$")
	self.Env = append(os.Environ(), "DURWARD_TEST_IGNORE=1")
	if out, err := self.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestRuntimeThatIgnoresSIGCHLD is the embedding program of the test above; by itself
// it does nothing.
func TestRuntimeThatIgnoresSIGCHLD(t *testing.T) {
	if os.Getenv("DURWARD_TEST_IGNORE") == "" {
		return
	}
	signal.Ignore(syscall.SIGCHLD)
	e := newEngine(t, Options{})
	for range 10 {
		if r, err := e.run(t.Context(), shell("exit 3"), confined()); err != nil || r.ExitStatus() != 3 {
			t.Fatalf("%d, %v", r.ExitStatus(), err)
		}
	}
}

// A command that takes the reaper's descriptors away ends its own call, no other's.
func TestReaperWithoutDescriptors(t *testing.T) {
	e := newEngine(t, Options{})
	m := newMarker(t, 0)
	began := time.Now()
	_, err := e.run(t.Context(), shell("prlimit --pid $PPID --nofile=0:0 2>/dev/null; sleep %s & exit 0", m), confined())
	if took := time.Since(began); err != nil || took > 5*time.Second || m.alive(t) != 0 {
		t.Fatalf("%v after %s, %d left", err, took, m.alive(t))
	}
}

// Somebody who holds a lease on the program holds up its call, not longer than the
// call has time, and nobody else's.
func TestLeaseOnTheProgram(t *testing.T) {
	dir := t.TempDir()
	openToAll(t, dir)
	program := filepath.Join(dir, "tool")
	echo, err := os.ReadFile("/bin/echo")
	if err == nil {
		err = os.WriteFile(program, echo, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	eachContainment(t, func(t *testing.T, e *Engine) {
		for _, mode := range []durward.Mode{durward.ReadOnly, durward.DangerFullAccess} {
			g := confined()
			g.Mode, g.Limits.Grace = mode, 50*time.Millisecond
			p, err := e.Prepare(t.Context(), durward.Tool{}, call(program), g)
			if err != nil {
				t.Fatal(err)
			}
			settle(e)
			release := lease(t, program)
			ctx, cancel := contextFor(t, 300*time.Millisecond)
			began := time.Now()
			_, err = p.Run(ctx)
			if durward.KindOf(err) != durward.Timeout || time.Since(began) > 3*time.Second {
				t.Errorf("run, %s: %v after %s", mode, err, time.Since(began))
			}
			cancel()
			ctx, cancel = contextFor(t, 300*time.Millisecond)
			began = time.Now()
			q, err := e.Prepare(t.Context(), durward.Tool{}, call(program), g)
			if err != nil {
				t.Fatal(err)
			}
			if s, err := q.(core.Opener).Open(ctx, nil); err == nil {
				_ = s.Close() // the session ended with its time
			} else if durward.KindOf(err) != durward.Timeout {
				t.Errorf("open, %s: %v", mode, err)
			}
			if time.Since(began) > 3*time.Second {
				t.Errorf("open, %s: answered after %s", mode, time.Since(began))
			}
			cancel()
			release()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// lease holds everybody else back from opening or executing a file.
func lease(t *testing.T, path string) (release func()) {
	t.Helper()
	signal.Ignore(syscall.SIGIO)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Fatal(err)
	}
	return func() {
		f.Close()
		signal.Reset(syscall.SIGIO)
	}
}

// A write that is given up does not touch the input of another one.
func TestAWriteThatIsGivenUp(t *testing.T) {
	e, g := newEngine(t, Options{}), confined()
	g.Keep = durward.KeepStream
	c := shell("sleep 0.5; wc -c")
	c.Stdin = make([]byte, 1<<20)
	p, err := e.Prepare(t.Context(), durward.Tool{}, c, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := p.(core.Opener).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Write(ctx, []byte("y")); durward.KindOf(err) != durward.Cancelled {
		t.Fatalf("a write behind one that waits: %v", err)
	}
	if err := s.CloseInput(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := s.Read(t.Context(), 0, 1<<20, 0)
	if err != nil || len(page.Chunks) == 0 || strings.TrimSpace(string(page.Chunks[0].Data)) != fmt.Sprint(1<<20) {
		t.Fatalf("the command read %v, %v", page, err)
	}
}

// A reader that is slow when the command is over still gets every byte.
func TestASlowReaderAfterTheEnd(t *testing.T) {
	for _, terminal := range []*durward.WindowSize{nil, {Rows: 24, Cols: 80}} {
		e, g := newEngine(t, Options{}), confined()
		g.Keep, g.Limits.Output = durward.KeepFlow, chunkBytes
		c := shell("head -c 100000 /dev/zero")
		c.Terminal = terminal
		p, err := e.Prepare(t.Context(), durward.Tool{}, c, g)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.(core.Opener).Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		total, after := 0, uint64(0)
		for {
			page, err := s.Read(t.Context(), after, 1, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.Chunks {
				total += len(c.Data)
			}
			if after = page.Next; page.Ended {
				break
			}
			time.Sleep(drainTime / 4) // as a slow reader does
		}
		if total != 100000 {
			t.Errorf("terminal %v: %d of 100000 bytes", terminal, total)
		}
		if err := errors.Join(s.Close(), p.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Time that the machine sleeps is time: the clock jumps by an hour, and a command that
// had half of one left is ended.
func TestSleepOfTheMachineCounts(t *testing.T) {
	var slept atomic.Int64
	e := New(Options{ScratchDir: t.TempDir(), Clock: func() time.Duration { return sinceBoot() + time.Duration(slept.Load()) }})
	openToAll(t, e.scratch.parent)
	defer e.Close()
	m, g := newMarker(t, 0), confined()
	g.Limits.Grace = 50 * time.Millisecond
	ctx, cancel := contextFor(t, 30*time.Minute)
	defer cancel()
	go func() {
		for m.alive(t) == 0 {
			time.Sleep(time.Millisecond) // between two looks
		}
		slept.Store(int64(time.Hour))
	}()
	began := time.Now()
	r, err := e.run(ctx, shell("sleep %s", m), g)
	if durward.KindOf(err) != durward.Timeout || r.Report.End.Cause != durward.CauseTimeout || m.alive(t) != 0 {
		t.Fatalf("%v after %s, %d left", err, time.Since(began), m.alive(t))
	}
}
