//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A watchdog is the process that outlives us for a moment: when our end of its pipe
// closes it kills the home of the cgroups, removes it, and exits. Somebody may kill the
// watchdog itself; whoever starts a call or waits for one then starts another.
type watchdog struct {
	pipe    int // write end; nothing is ever written
	process *os.File
}

// startWatchdog starts the reaper's program with a list of its own.
func startWatchdog(home string) (*watchdog, error) {
	kill, err := os.OpenFile(filepath.Join(home, "cgroup.kill"), os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	defer kill.Close()
	w := &watchdog{}
	if err := w.start(kill, home); err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	return w, nil
}

func (w *watchdog) start(kill *os.File, home string) error {
	program, err := reaperProgram()
	if err != nil {
		return err
	}
	s := newStarter(Plan{})
	defer s.closeLent()
	if err := s.pipe(&s.control, toChild, unix.O_NONBLOCK); err != nil {
		return err
	}
	block, err := reaperLists{before: []Call{
		ownSession("watchdog's own session"),
		{Name: "let go of the streams", NR: unix.SYS_CLOSE_RANGE, Args: []Arg{number(0), number(2), number(0)}},
		{Name: "hide the watchdog from ptrace", NR: unix.SYS_PRCTL, Args: []Arg{number(unix.PR_SET_DUMPABLE), number(0)}},
		{Name: "wait for the runtime's end", NR: unix.SYS_PPOLL, Args: []Arg{pollEnd(reaperControlFD), number(1), number(0), number(0)}},
		{Name: "kill the cgroups", NR: unix.SYS_WRITE, Args: []Arg{number(reaperKillFD), text("1"), number(1)}, Allow: AnyError},
		{Name: "remove the home", NR: unix.SYS_UNLINKAT, Args: []Arg{number(unix.AT_FDCWD), text(home), number(unix.AT_REMOVEDIR)}, Allow: AnyError},
		{Name: "exit", NR: unix.SYS_EXIT_GROUP, Args: []Arg{number(0)}},
	}}.encode()
	if err == nil {
		_, err = unix.Write(s.control, block.text)
	}
	if err != nil {
		s.closeOwn()
		return err
	}
	place := []placement{{s.lent[0], reaperControlFD}, {fdOf(kill), reaperKillFD}}
	_, pidfd, err := spawnEither(-1, onlyReaper("durward-watchdog", place, fdOf(program), nil))
	if err != nil {
		reapFailed(pidfd)
		s.closeOwn()
		return err
	}
	w.pipe, w.process = s.control, os.NewFile(uintptr(pidfd), "watchdog")
	return nil
}

// pollEnd waits for nothing but the end of a pipe.
func pollEnd(fd int32) Arg {
	p := unix.PollFd{Fd: fd}
	return data(append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&p)), unsafe.Sizeof(p))...))
}

// close ends the watchdog and waits for that. One that takes too long is killed: somebody
// may keep stopping it.
func (w *watchdog) close() error {
	closeFDs(w.pipe)
	for range 20 {
		if w.endedWithin(50 * time.Millisecond) {
			break
		}
	}
	kill(fdOf(w.process))
	return errors.Join(waitEnd(fdOf(w.process)), w.process.Close())
}

// watch sees to it that there is a watchdog. The caller holds mu.
func (h *cgroupHome) watch() error {
	if h.watchdog != nil {
		if !h.watchdog.endedWithin(0) {
			return nil
		}
		_ = h.watchdog.close() // there is nothing of it left to lose
		h.watchdog = nil
	}
	w, err := startWatchdog(h.path)
	h.watchdog = w
	return err
}

// endedWithin waits for the watchdog's end. One that somebody has stopped goes on: it
// watches nothing meanwhile, and cannot end.
func (w *watchdog) endedWithin(d time.Duration) bool {
	fd := fdOf(w.process)
	_ = unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0) // ESRCH: it has ended
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
	return n > 0 || (err != nil && err != unix.EINTR)
}

const (
	// watchAgain is the time between two tries to start a watchdog for calls that run.
	watchAgain = 50 * time.Millisecond
	// lookAgain is the time between two looks whether the watchdog was stopped, which
	// its descriptor does not tell.
	lookAgain = 500 * time.Millisecond
)

// await waits until something happens on a descriptor of a call, and sees to it that
// there is a watchdog meanwhile.
func (h *cgroupHome) await(fd int, events int16) error {
	for {
		happened, err := h.poll(unix.PollFd{Fd: int32(fd), Events: events})
		if happened || err != nil {
			return err
		}
	}
}

// poll returns when something happens, and also when it is time to look for the
// watchdog again. The watchdog's descriptor stays open while it is polled, whoever
// replaces the watchdog meanwhile.
func (h *cgroupHome) poll(call unix.PollFd) (happened bool, err error) {
	polls := []unix.PollFd{call}
	h.mu.Lock()
	_ = h.watch() // it is tried again; no call is started until it works
	w := h.watchdog
	h.mu.Unlock()
	if w == nil {
		_, err = unix.Poll(polls, int(watchAgain.Milliseconds()))
	} else if c, gone := w.process.SyscallConn(); gone == nil {
		_ = c.Control(func(watchdog uintptr) { // an error is a watchdog that was replaced
			polls = append(polls, unix.PollFd{Fd: int32(watchdog), Events: unix.POLLIN})
			_, err = unix.Poll(polls, int(lookAgain.Milliseconds()))
		})
	}
	if err == unix.EINTR {
		err = nil
	}
	return polls[0].Revents != 0, err
}
