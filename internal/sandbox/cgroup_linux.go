//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A cgroupHome is the cgroup (version 2) under which each call gets one of its own. A
// watchdog, one for the whole runtime, kills all of it when the runtime dies.
type cgroupHome struct {
	path     string
	lock     *os.File
	watchdog watchdog
	memory   bool // its cgroups bound memory, too

	mu   sync.Mutex
	made int       // guarded by mu; how many cgroups there are
	free []*cgroup // guarded by mu; those that hold no call
}

// A cgroup holds the processes of one call at a time. One that never had to be killed
// is used again for later calls: to make one costs more than to start a process in
// it. The kernel kills whatever is born into one that was killed before.
type cgroup struct {
	home              *cgroupHome
	path              string
	dir, kill, events *os.File
	killed            atomic.Bool
	memory            *memoryGroup // nil unless it bounds memory, too
}

// openCgroupHome makes the home below the cgroup that we live in.
func openCgroupHome() (*cgroupHome, error) {
	h, err := makeCgroupHome()
	if err != nil {
		return nil, err
	}
	if err := h.startWatchdog(); err != nil {
		h.lock.Close()
		os.Remove(h.path)
		return nil, err
	}
	return h, nil
}

// makeCgroupHome makes the home where its cgroups can bound memory, if that can be had.
func makeCgroupHome() (*cgroupHome, error) {
	if path, lock, err := makeDelegatedHome(); err == nil {
		return &cgroupHome{path: path, lock: lock, memory: true}, nil
	}
	tree, err := findHierarchy(unified)
	if err != nil {
		return nil, err
	}
	path, lock, err := makeHome(tree.own)
	return &cgroupHome{path: path, lock: lock}, err
}

// startWatchdog starts the reaper's program with a list that waits for the end of our
// pipe, kills the home and exits.
func (h *cgroupHome) startWatchdog() error {
	kill, err := os.OpenFile(filepath.Join(h.path, "cgroup.kill"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer kill.Close()
	w := &watchdog{kill: kill, home: h.path}
	if err := w.start(); err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	h.watchdog = *w
	return nil
}

// take gives a cgroup that holds no process.
func (h *cgroupHome) take() (*cgroup, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.free); n > 0 {
		c := h.free[n-1]
		h.free = h.free[:n-1]
		return c, nil
	}
	h.made++
	return h.make(filepath.Join(h.path, strconv.Itoa(h.made)))
}

// put gives back a cgroup whose processes are dead.
func (h *cgroupHome) put(c *cgroup) error {
	if c.killed.Load() || (c.memory != nil && !c.memory.reusable()) {
		return c.remove()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free = append(h.free, c)
	return nil
}

func (h *cgroupHome) make(path string) (*cgroup, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	c := &cgroup{home: h, path: path}
	for _, f := range []struct {
		into *(*os.File)
		name string
		mode int
	}{{&c.dir, "", os.O_RDONLY}, {&c.kill, "cgroup.kill", os.O_WRONLY}, {&c.events, "cgroup.events", os.O_RDONLY}} {
		var err error
		if *f.into, err = os.OpenFile(filepath.Join(path, f.name), f.mode, 0); err != nil {
			return nil, errors.Join(err, c.remove())
		}
	}
	if h.memory {
		var err error
		if c.memory, err = openMemoryGroup(memoryCgroup2, path); err != nil {
			return nil, errors.Join(err, c.remove())
		}
	}
	return c, nil
}

// close removes the home of calls that have all ended, and ends the watchdog.
func (h *cgroupHome) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	for _, c := range h.free {
		err = errors.Join(err, c.remove())
	}
	h.free = nil
	closeFDs(h.watchdog.pipe) // it removes the home itself, and ends
	err = errors.Join(err, waitEnd(h.watchdog.pidfd), h.lock.Close())
	closeFDs(h.watchdog.pidfd)
	return err
}

func (c *cgroup) killAll() error {
	c.killed.Store(true)
	_, err := c.kill.Write([]byte("1"))
	return err
}

// empty reports whether no process lives in the cgroup.
func (c *cgroup) empty() (bool, error) {
	var b [256]byte
	n, err := c.events.ReadAt(b[:], 0)
	if n > 0 {
		err = nil // a short read is the whole file
	}
	return bytes.Contains(b[:n], []byte("populated 0")), err
}

// drain waits until no process lives in the cgroup.
func (c *cgroup) drain() error {
	for {
		if empty, err := c.empty(); empty || err != nil {
			return err
		}
		change := []unix.PollFd{{Fd: int32(fdOf(c.events)), Events: unix.POLLPRI}}
		if _, err := unix.Poll(change, -1); err != nil && err != unix.EINTR {
			return err
		}
	}
}

// remove frees the cgroup.
func (c *cgroup) remove() error {
	if c.memory != nil {
		c.memory.close()
	}
	for _, f := range []*os.File{c.dir, c.kill, c.events} {
		if f != nil {
			f.Close()
		}
	}
	return os.Remove(c.path)
}

// A watchdog is the process that outlives us for a moment.
type watchdog struct {
	kill  *os.File
	home  string
	pipe  int // write end; nothing is ever written
	pidfd int
}

func (w *watchdog) start() error {
	program, err := reaperProgram()
	if err != nil {
		return err
	}
	s := &starter{control: -1, status: -1}
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
		{Name: "remove the home", NR: unix.SYS_UNLINKAT, Args: []Arg{number(unix.AT_FDCWD), text(w.home), number(unix.AT_REMOVEDIR)}, Allow: AnyError},
		{Name: "exit", NR: unix.SYS_EXIT_GROUP, Args: []Arg{number(0)}},
	}}.encode()
	if err == nil {
		_, err = unix.Write(s.control, block)
	}
	if err != nil {
		s.closeOwn()
		return err
	}
	place := []placement{{s.lent[0], reaperControlFD}, {fdOf(w.kill), reaperKillFD}}
	_, pidfd, err := spawn(context.Background(), 0, -1, s.onlyReaper(place, fdOf(program)))
	if err != nil {
		reapFailed(pidfd)
		s.closeOwn()
		return err
	}
	w.pipe, w.pidfd = s.control, pidfd
	return nil
}

// pollEnd waits for nothing but the end of a pipe.
func pollEnd(fd int32) Arg {
	p := unix.PollFd{Fd: fd}
	return data(append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&p)), unsafe.Sizeof(p))...))
}
