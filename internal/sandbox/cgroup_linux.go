//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A cgroupHome is the cgroup (version 2) under which each call gets one of its own. A
// watchdog, one for the whole runtime, kills all of it when the runtime dies.
type cgroupHome struct {
	path   string
	lock   *os.File
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
	killed            atomic.Bool
	memory            *memoryGroup // nil unless it bounds memory, too
}

// openCgroupHome makes the home below the cgroup that we live in.
func openCgroupHome() (*cgroupHome, error) {
	h, err := makeCgroupHome()
	if err != nil {
		return nil, err
	}
	if h.watchdog, err = startWatchdog(h.path); err != nil {
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

// take gives a cgroup that holds no process and that a watchdog watches.
func (h *cgroupHome) take() (*cgroup, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.watch(); err != nil {
		return nil, err
	}
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
	if h.watchdog != nil {
		err = errors.Join(err, h.watchdog.close()) // it removes the home
		h.watchdog = nil
	}
	_ = os.Remove(h.path) // or has been killed before it could
	return errors.Join(err, h.lock.Close())
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
		if err := c.home.await(fdOf(c.events), unix.POLLPRI); err != nil {
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
