//go:build linux && (amd64 || arm64)

package site_test

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// When the process that serves a site is killed, its commands are dead within a second.
func TestKilledServer(t *testing.T) {
	m := newMarker()
	self := exec.Command(os.Args[0], "-test.run=^TestServerThatWillBeKilled$")
	self.Env = append(os.Environ(), "DURWARD_TEST_MARKER="+string(m), "TMPDIR="+t.TempDir()) // it removes nothing itself
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, patience, "its command runs", func() bool { return m.alive() >= 4 })
	if err := self.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	within(t, time.Second, "its command is dead", func() bool { return m.alive() == 0 })
	_ = self.Wait() // it was killed
}

// TestServerThatWillBeKilled is the other process of the test above; by itself it does
// nothing.
func TestServerThatWillBeKilled(t *testing.T) {
	m := os.Getenv("DURWARD_TEST_MARKER")
	if m == "" {
		return
	}
	r := start(t, shells(nil))
	r.ask(sh(`(setsid sleep %[1]s &); (trap "" TERM; exec setsid sleep %[1]s) & sleep %[1]s & trap "" TERM; while :; do sleep %[1]s; done`, m))
}
