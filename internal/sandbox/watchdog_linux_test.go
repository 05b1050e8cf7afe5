//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
		c, err := home.take(0)
		if err != nil {
			t.Fatal(err)
		}
		if home.watchdog == before || home.watchdog.endedWithin(0) {
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

// stop stops the watchdog and waits until it is.
func (w *watchdog) stop(t *testing.T) {
	t.Helper()
	if err := unix.PidfdSendSignal(fdOf(w.process), unix.SIGSTOP, nil, 0); err != nil {
		t.Fatal(err)
	}
	for {
		err := unix.Waitid(unix.P_PIDFD, fdOf(w.process), nil, unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func (w *watchdog) stopped() bool {
	var info siginfo
	err := info.wait(fdOf(w.process), unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return err == nil && info != siginfo{}
}

// A watchdog that somebody has stopped goes on when the next call is started, and while
// one is waited for; the home of one that is stopped again and again is removed all the
// same.
func TestAStoppedWatchdogGoesOn(t *testing.T) {
	home := newCgroupHome(t)
	if home == nil {
		return
	}
	home.watchdog.stop(t)
	c, err := home.take(0)
	if err != nil {
		t.Fatal(err)
	}
	if home.watchdog.stopped() {
		t.Error("a call was started although nobody watches")
	}
	read, write := pipe(t)
	home.watchdog.stop(t)
	waits := make(chan error)
	go func() { waits <- home.await(fdOf(read), unix.POLLIN) }()
	for began := time.Now(); home.watchdog.stopped(); {
		if time.Since(began) > 5*time.Second {
			t.Fatal("nobody watches the call that runs")
		}
		time.Sleep(time.Millisecond) // between two looks
	}
	if _, err := write.WriteString("."); err != nil {
		t.Error(err)
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
	if err := home.put(c); err != nil {
		t.Error(err)
	}
	home.watchdog.stop(t) // for close
}

func TestAWatchdogThatIsStoppedAgainAndAgain(t *testing.T) {
	home, err := openCgroupHome()
	if err != nil {
		t.Logf("no cgroups here: %v", err)
		return
	}
	if _, err := home.take(0); err != nil {
		t.Fatal(err)
	}
	home.watchdog.stop(t)
	pidfd, err := unix.Dup(fdOf(home.watchdog.process))
	if err != nil {
		t.Fatal(err)
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for !isClosed(done) {
			_ = unix.PidfdSendSignal(pidfd, unix.SIGSTOP, nil, 0) // ESRCH: it was killed
		}
	}()
	began := time.Now()
	err = home.close()
	close(done)
	<-over
	closeFDs(pidfd)
	if took := time.Since(began); err != nil || took > 5*time.Second || exists(home.path) {
		t.Errorf("closed after %s: %v; left: %v", took, err, exists(home.path))
	}
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
