//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A cgroupHome is the cgroup (version 2) under which each call gets one of its own. A
// watchdog, one for the whole runtime, kills all of it when the runtime dies.
type cgroupHome struct {
	home
	memory bool // its cgroups bound memory, too

	mu       sync.Mutex
	watchdog *watchdog // guarded by mu; nil when the last one died and no other could be started
	made     int       // guarded by mu; how many cgroups there are
	free     []*cgroup // guarded by mu; those that hold no call
}

// A cgroup holds the processes of one call at a time. One that never had to be killed
// is used again for later calls: to make one costs more than to start a process in
// it. The kernel kills whatever is born into one that was killed before.
type cgroup struct {
	home              *cgroupHome
	path              string
	dir, kill, events *os.File
	killed            atomic.Bool  // or not to be had again for another reason
	memory            *memoryGroup // nil unless it bounds memory, too
}

// openCgroupHome makes the home below the cgroup that we live in.
func openCgroupHome() (*cgroupHome, error) {
	h, err := makeCgroupHome()
	if err != nil {
		return nil, err
	}
	if h.watchdog, err = startWatchdog(h.path); err != nil {
		return nil, errors.Join(err, h.home.remove())
	}
	return h, nil
}

// makeCgroupHome makes the home where its cgroups can bound memory, if that can be had.
func makeCgroupHome() (*cgroupHome, error) {
	if home, err := makeDelegatedHome(); err == nil {
		return &cgroupHome{home: home, memory: true}, nil
	}
	tree, err := findHierarchy(unified)
	if err != nil {
		return nil, err
	}
	home, err := makeHome(tree, tree.own)
	return &cgroupHome{home: home}, err
}

// take gives a cgroup that holds no process and that a watchdog watches, for a call with
// a limit on memory, or with none, which is zero.
func (h *cgroupHome) take(limit int64) (*cgroup, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.watch(); err != nil {
		return nil, err
	}
	for i, c := range slices.Backward(h.free) {
		if c.memory == nil || c.memory.fits(limit) {
			h.free = slices.Delete(h.free, i, i+1)
			return c, nil
		}
	}
	h.made++
	return h.make(filepath.Join(h.path, strconv.Itoa(h.made)))
}

// put gives back a cgroup whose processes are dead.
func (h *cgroupHome) put(c *cgroup) error {
	if c.killed.Load() || !c.childless() || (c.memory != nil && !c.memory.reusable(false)) {
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
		name := filepath.Join(h.name, filepath.Base(path))
		if c.memory, err = openMemoryGroup(memoryCgroup2, path, name); err != nil {
			return nil, errors.Join(err, c.remove())
		}
	}
	return c, nil
}

// close ends the watchdog, and removes the home of calls that have all ended.
func (h *cgroupHome) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	for _, c := range h.free {
		err = errors.Join(err, c.remove())
	}
	h.free = nil
	if h.watchdog != nil {
		err = errors.Join(err, h.watchdog.close())
		h.watchdog = nil
	}
	_ = writeFile(filepath.Join(h.path, "cgroup.kill"), "1") // unless the watchdog has removed it
	return errors.Join(err, h.home.remove())
}

func (c *cgroup) killAll() error {
	c.killed.Store(true)
	_, err := c.kill.Write([]byte("1"))
	return err
}

// empty reports whether no process lives in the cgroup.
func (c *cgroup) empty() (bool, error) {
	var b [256]byte
	n, err := unix.Pread(fdOf(c.events), b[:], 0) // one read gives the whole file
	if err != nil {
		c.killed.Store(true) // somebody has removed it: no other call can have it
	}
	return bytes.Contains(b[:max(n, 0)], []byte("populated 0")), err
}

// drain waits until no process lives in the cgroup.
func (c *cgroup) drain() error {
	for {
		if empty, err := c.empty(); empty || err != nil {
			return err
		}
		if err := c.home.await(fdOf(c.events), unix.POLLPRI); err != nil {
			return err
		}
	}
}

// childless reports whether nobody has made a cgroup in it.
func (c *cgroup) childless() bool {
	var st unix.Stat_t
	return unix.Fstat(fdOf(c.dir), &st) == nil && links(st) == 0
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
	return removeCgroup(c.path)
}
