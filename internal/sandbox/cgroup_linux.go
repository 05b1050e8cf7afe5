//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A cgroupHome is the cgroup (version 2) under which each call gets one of its own. A
// watchdog, one for the whole runtime, kills all of it when the runtime dies.
type cgroupHome struct {
	path     string
	next     atomic.Uint64
	watchdog *os.File // write end of a pipe; nothing is ever written
}

// A cgroup holds the processes of one call.
type cgroup struct {
	path      string
	dir, kill *os.File
}

// openCgroupHome makes the home below the cgroup that we live in.
func openCgroupHome() (*cgroupHome, error) {
	parent, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	sweepHomes(parent)
	h := &cgroupHome{path: filepath.Join(parent, homePrefix+strconv.Itoa(os.Getpid()))}
	if err := os.Mkdir(h.path, 0o755); err != nil {
		return nil, err
	}
	if err := h.startWatchdog(); err != nil {
		os.Remove(h.path)
		return nil, err
	}
	return h, nil
}

const homePrefix = "durward-"

// ownCgroup finds the directory of our own cgroup of version 2: the line "0::PATH"
// of /proc/self/cgroup below the place where that version is mounted.
func ownCgroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !ok {
			continue
		}
		mount, err := cgroupMount()
		return filepath.Join(mount, path), err
	}
	return "", errors.New("no cgroup of version 2")
}

// cgroupMount reads /proc/self/mountinfo: the fifth field is the mount point, and the
// type stands behind a lone dash.
func cgroupMount() (string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, _ := strings.Cut(s.Text(), " - ")
		if field := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(field) > 4 {
			return field[4], nil
		}
	}
	return "", errors.New("cgroup version 2 is not mounted")
}

// sweepHomes removes what runtimes that were killed have left behind.
func sweepHomes(parent string) {
	homes, _ := filepath.Glob(filepath.Join(parent, homePrefix+"*"))
	for _, home := range homes {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(home), homePrefix))
		if err != nil || unix.Kill(pid, 0) != unix.ESRCH {
			continue
		}
		calls, _ := filepath.Glob(filepath.Join(home, "*/"))
		for _, c := range calls {
			_ = unix.Rmdir(c) // one that is not empty stays, and so does its home
		}
		_ = unix.Rmdir(home)
	}
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
	h.watchdog = w.pipe
	return nil
}

// make gives a new cgroup for one call.
func (h *cgroupHome) make() (*cgroup, error) {
	c := &cgroup{path: filepath.Join(h.path, strconv.FormatUint(h.next.Add(1), 10))}
	if err := os.Mkdir(c.path, 0o755); err != nil {
		return nil, err
	}
	var err error
	if c.dir, err = os.OpenFile(c.path, os.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
		c.kill, err = os.OpenFile(filepath.Join(c.path, "cgroup.kill"), os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

func (c *cgroup) killAll() error {
	_, err := c.kill.Write([]byte("1"))
	return err
}

// empty reports whether no process lives in the cgroup.
func (c *cgroup) empty() (bool, error) {
	events, err := os.ReadFile(filepath.Join(c.path, "cgroup.events"))
	return bytes.Contains(events, []byte("populated 0")), err
}

// drain waits until no process lives in the cgroup.
func (c *cgroup) drain() error {
	f, err := os.Open(filepath.Join(c.path, "cgroup.events"))
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		var b [256]byte
		n, err := f.ReadAt(b[:], 0)
		if bytes.Contains(b[:n], []byte("populated 0")) {
			return nil
		}
		if n == 0 {
			return err
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fdOf(f)), Events: unix.POLLPRI}}, -1); err != nil && err != unix.EINTR {
			return err
		}
	}
}

// remove frees the cgroup once it is empty.
func (c *cgroup) remove() error {
	for _, f := range []*os.File{c.dir, c.kill} {
		if f != nil {
			f.Close()
		}
	}
	if err := c.drain(); err != nil {
		return err
	}
	return os.Remove(c.path)
}

// A watchdog is the process that outlives us for a moment.
type watchdog struct {
	kill, pipe *os.File
	home       string
}

func (w *watchdog) start() error {
	program, err := reaperProgram()
	if err != nil {
		return err
	}
	s := &starter{}
	defer s.closeLent()
	control, err := s.pipe(&s.control, toChild)
	if err != nil {
		return err
	}
	block, err := reaperLists{before: []Call{
		{Name: "let go of the streams", NR: unix.SYS_CLOSE_RANGE, Args: []Arg{number(0), number(2), number(0)}},
		{Name: "hide the watchdog from ptrace", NR: unix.SYS_PRCTL, Args: []Arg{number(unix.PR_SET_DUMPABLE), number(0)}},
		{Name: "wait for the runtime's end", NR: unix.SYS_PPOLL, Args: []Arg{pollEnd(reaperControlFD), number(1), number(0), number(0)}},
		{Name: "kill the cgroups", NR: unix.SYS_WRITE, Args: []Arg{number(reaperKillFD), text("1"), number(1)}, Allow: AnyError},
		{Name: "remove the home", NR: unix.SYS_UNLINKAT, Args: []Arg{number(unix.AT_FDCWD), text(w.home), number(unix.AT_REMOVEDIR)}, Allow: AnyError},
		{Name: "exit", NR: unix.SYS_EXIT_GROUP, Args: []Arg{number(0)}},
	}}.encode()
	if err == nil {
		_, err = s.control.Write(block)
	}
	if err != nil {
		s.closeOwn()
		return err
	}
	place := []placement{{control, reaperControlFD}, {fdOf(w.kill), reaperKillFD}}
	_, pidfd, err := spawn(0, -1, s.onlyReaper(place, fdOf(program)))
	if err != nil {
		reapFailed(pidfd)
		s.closeOwn()
		return err
	}
	unix.Close(pidfd)
	w.pipe = s.control
	return nil
}

// pollEnd waits for nothing but the end of a pipe.
func pollEnd(fd int32) Arg {
	p := unix.PollFd{Fd: fd}
	return data(append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&p)), unsafe.Sizeof(p))...))
}
