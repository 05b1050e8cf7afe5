//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"testing"
)

func newCgroupHome(t *testing.T) *cgroupHome {
	t.Helper()
	home, err := openCgroupHome()
	if err != nil {
		t.Logf("no cgroups here: %v", err)
		return nil
	}
	t.Cleanup(func() {
		if err := home.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(home.path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the home is still there: %v", err)
		}
	})
	return home
}

// killWatchdog kills the watchdog of a home of ours and waits for its end.
func (h *cgroupHome) killWatchdog(t *testing.T) {
	t.Helper()
	kill(fdOf(h.watchdog.process))
	if err := pollEnded(fdOf(h.watchdog.process)); err != nil {
		t.Fatal(err)
	}
}

// When somebody has killed the watchdog the next call gets another one.
func TestAKilledWatchdogIsReplaced(t *testing.T) {
	home := newCgroupHome(t)
	if home == nil {
		return
	}
	for range 3 {
		before := home.watchdog
		home.killWatchdog(t)
		c, err := home.take()
		if err != nil {
			t.Fatal(err)
		}
		if home.watchdog == before || home.watchdog.ended() {
			t.Error("the call is not watched")
		}
		if err := home.put(c); err != nil {
			t.Error(err)
		}
	}
	if left := len(ourWatchdogs(t)); left > 2 { // this home's and that of the probe
		t.Errorf("%d watchdogs", left)
	}
	home.killWatchdog(t) // the home goes without one, too
}

// Where no watchdog can be had no call is started.
func TestNoWatchdogNoCall(t *testing.T) {
	home := newCgroupHome(t)
	if home == nil {
		return
	}
	r := newTrial(t, ProbeAll().With(Cgroup))
	r.host.cgroups = home
	path := home.path
	home.killWatchdog(t)
	home.path = path + "-elsewhere"
	if err := r.start(r.compile(t)); !errors.Is(err, os.ErrNotExist) || r.ran() {
		t.Errorf("%v; ran: %v", err, r.ran())
	}
	home.path = path
	if err := r.start(r.compile(t)); err != nil || !r.ran() {
		t.Errorf("%v; ran: %v", err, r.ran())
	}
}
