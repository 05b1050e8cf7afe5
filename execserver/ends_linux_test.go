//go:build linux && (amd64 || arm64)

package execserver_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// soon is how long what is to be dead may live on a machine that is busy.
const soon = time.Second

// Descendants may outlive the process that was started, as long as they hold its streams.
// Nothing outlives the close.
func TestDescendantsUntilTheClose(t *testing.T) {
	s, m, dir := run(t, "durward"), newMarker(), openDir(t)
	for _, tty := range []bool{false, true} {
		t.Run(fmt.Sprintf("tty %t", tty), func(t *testing.T) {
			p := greet(t, s.url)
			held := sh("held", `%s (trap "" HUP; while [ ! -e %[2]s/%[3]t ]; do sleep .01; done; echo late) & echo early; exit 4`, escapees(m), dir, tty)
			held.Tty = tty
			p.starts(held)
			if tty { // its terminal ends with it
				touch(t, dir, fmt.Sprint(tty))
			}
			if code := p.exits("held"); code != 4 {
				t.Errorf("it exits with %d", code)
			}
			if !tty {
				if n := m.alive(); n < escaped {
					t.Errorf("%d of %d live after the exit", n, escaped)
				}
				touch(t, dir, fmt.Sprint(tty))
				p.prints("held", "late\n")
			}
			p.closed("held")
			within(t, soon, "all are dead", func() bool { return m.alive() == 0 })
			p.inOrder("held")
		})
	}
}

// Who is terminated is dead, with all its descendants, and is told so with the exit and the
// close of a signal.
func TestTerminateLeavesNobody(t *testing.T) {
	s := run(t, "durward")
	p := greet(t, s.url)
	for _, tty := range []bool{false, true} {
		m, id := newMarker(), fmt.Sprint("tty ", tty)
		start := sh(id, `%s trap "" TERM INT HUP; echo up; while :; do sleep %s; done`, escapees(m), m)
		start.Tty = tty
		p.starts(start)
		p.prints(id, "up")
		within(t, patience, "all run", func() bool { return m.alive() > escaped })
		if !p.terminates(id) {
			t.Error("it does not run")
		}
		if code := p.exits(id); code != 137 {
			t.Errorf("it exits with %d", code)
		}
		p.closed(id)
		within(t, soon, "all are dead", func() bool { return m.alive() == 0 })
		if p.terminates(id) {
			t.Error("it runs")
		}
		p.inOrder(id)
	}
}

// A server that is asked to end takes all processes with it, and connections that say nothing
// do not keep it.
func TestServerThatIsAskedToEnd(t *testing.T) {
	s, m := run(t, "durward", "--session-grace", "80"), newMarker()
	idle, p, gone := dial(t, s.url), greet(t, s.url), greet(t, s.url)
	for i, q := range []*peer{p, gone} {
		for j := range 50 {
			start := sh(fmt.Sprint("p", j), `%s trap "" TERM; echo up; while :; do sleep %s; done`, escapees(m), m)
			if j >= 5 {
				start = sh(start.ProcessID, `echo up; exec sleep %s`, m)
			}
			start.Tty = (i+j)%7 == 0
			q.starts(start)
		}
		for j := range 50 {
			q.prints(fmt.Sprint("p", j), "up")
		}
	}
	within(t, patience, "all run", func() bool { return m.alive() >= 100+10*escaped })
	gone.drop()
	s.remember()
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	within(t, 2*time.Second, "it ends", func() bool {
		select {
		case <-s.ended:
			return true
		default:
			return false
		}
	})
	if n := m.alive(); n > 0 {
		t.Errorf("%d of the processes live", n)
	}
	if status := s.cmd.ProcessState.ExitCode(); status != 0 {
		t.Errorf("it ends with %d: %s", status, s.said)
	}
	idle.closes()
	p.closes()
}

// A server that is killed takes all processes with it.
func TestKilledServer(t *testing.T) {
	s, m := serve(t), newMarker()
	p := greet(t, s.url)
	for i := range 5 {
		start := sh(fmt.Sprint("p", i), `%s trap "" TERM INT HUP; while :; do sleep %s; done`, escapees(m), m)
		start.Tty = i%2 == 0
		p.starts(start)
	}
	within(t, patience, "all run", func() bool { return m.alive() >= 5*(escaped+1) })
	helpers := s.descendants()
	must(t, s.cmd.Process.Kill())
	within(t, soon, "all are dead", func() bool { return m.alive() == 0 })
	<-s.ended
	within(t, patience, "so are its helpers", func() bool { return !slices.ContainsFunc(helpers, alive) })
}
