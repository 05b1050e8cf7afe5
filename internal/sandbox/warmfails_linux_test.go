//go:build linux && (amd64 || arm64)

package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Where the start is waited for, the reaper does not look at its socket while its process
// waits for the call: when somebody has stopped that, nobody ends the cell of a runtime that
// has died.
func TestAFollowedCellWhoseProcessIsStoppedEndsWithUs(t *testing.T) {
	r, s, _ := warmCell(t, func(r *trial, _ string) {
		r.request.Follow = true
		r.shell(t, "true")
	})
	spare := s.take(r.compile(t).key)
	if spare == nil {
		t.Fatal("nothing waits")
	}
	defer spare.close()
	for _, pid := range children(spare.pid) {
		_ = unix.Kill(pid, unix.SIGSTOP)
	}
	closeFDs(spare.own.control, spare.own.call)
	spare.own.control, spare.own.call = -1, -1
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(spare.pidfd), Events: unix.POLLIN}}, 1000); n != 1 {
		t.Errorf("it lives on: %v", err)
	}
}

// A command that keeps the runtime's user may begin in a directory that its owner may not
// enter, or may not: a process that was ready does not make it another answer.
func TestADirectoryThatIsNotToBeEntered(t *testing.T) {
	keep := func(change func(*testing.T, *trial, string)) func(*testing.T, *trial, string) {
		return func(t *testing.T, r *trial, dir string) {
			change(t, r, dir)
			r.request.Grant.Identity.Keep = true
		}
	}
	warmAsCold(t, map[string]func(*testing.T, *trial, string){
		"0000": inDirectory(0), "0400": inDirectory(0o400), "0600": inDirectory(0o600),
		"0000, keep": keep(inDirectory(0)), "0400, keep": keep(inDirectory(0o400)), "0600, keep": keep(inDirectory(0o600)),
	})
}
