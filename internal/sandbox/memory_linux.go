//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A memoryKind is the version of cgroups that holds memory, by its name in a report.
type memoryKind string

const (
	memoryUnheld  memoryKind = ""
	memoryCgroup1 memoryKind = "cgroup1"
	memoryCgroup2 memoryKind = "cgroup2"
)

// A memoryGroup is a cgroup seen as a bound on memory: what its processes hold, files
// in memory and what the kernel holds for them included.
type memoryGroup struct {
	home *memoryHome // nil where the cgroup is the containment of a call, too
	kind memoryKind
	path string
	// limit is what is in force; zero means that none was set yet.
	limit int64
	// door is the file to write to of version 1, by who enters, and the directory of
	// version 2, in which a process can be born.
	door, usage, events *os.File
}

// openMemoryGroup opens a cgroup that exists.
func openMemoryGroup(kind memoryKind, path string) (*memoryGroup, error) {
	g := &memoryGroup{kind: kind, path: path}
	door, mode, usage, events := "tasks", os.O_WRONLY, "memory.usage_in_bytes", "memory.oom_control"
	if kind == memoryCgroup2 {
		door, mode, usage, events = "", os.O_RDONLY, "memory.current", "memory.events"
	}
	for _, f := range []struct {
		into *(*os.File)
		name string
		mode int
	}{{&g.door, door, mode}, {&g.usage, usage, os.O_RDONLY}, {&g.events, events, os.O_RDONLY}} {
		var err error
		if *f.into, err = os.OpenFile(filepath.Join(path, f.name), f.mode, 0); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

func (g *memoryGroup) close() {
	for _, f := range []*os.File{g.door, g.usage, g.events} {
		if f != nil {
			f.Close()
		}
	}
}

// set bounds the memory, and leaves no swap to get around that.
func (g *memoryGroup) set(limit int64) error {
	if g.limit == limit {
		return nil
	}
	set := g.setVersion1
	if g.kind == memoryCgroup2 {
		set = g.setVersion2
	}
	if err := set(limit); err != nil {
		return err
	}
	g.limit = limit
	return nil
}

// setVersion1 bounds memory alone, and memory and swap together to the same, where the
// kernel counts swap; the second may never be less than the first.
func (g *memoryGroup) setVersion1(limit int64) error {
	const memory, both = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	n := strconv.FormatInt(limit, 10)
	noSwapCount := g.write(both, "-1")
	if err := g.write(memory, n); err != nil {
		return err
	}
	if noSwapCount != nil {
		return g.write("memory.swappiness", "0")
	}
	return g.write(both, n)
}

func (g *memoryGroup) setVersion2(limit int64) error {
	n := "max"
	if limit != durward.Unlimited {
		n = strconv.FormatInt(limit, 10)
	}
	if err := g.write("memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // without the file the kernel has no swap
	}
	return errors.Join(g.write("memory.oom.group", "1"), g.write("memory.max", n))
}

func (g *memoryGroup) write(file, value string) error {
	return writeFile(filepath.Join(g.path, file), value)
}

// writeFile writes to a file that exists.
func writeFile(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// hit reports whether memory ran out: the kernel has killed a process, or holds the
// processes back until somebody does. It says so before the first one is dead.
func (g *memoryGroup) hit() bool {
	for line := range strings.Lines(readAll(g.events)) {
		name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		if (name == "oom_kill" || name == "under_oom") && n != "0" {
			return true
		}
	}
	return false
}

// used is the memory in use, in bytes, give or take what the processors count ahead.
func (g *memoryGroup) used() (int64, error) {
	return strconv.ParseInt(strings.TrimSpace(readAll(g.usage)), 10, 64)
}

// reusable reports whether another call can have the cgroup: nobody lives in it, its
// limit was not hit, and next to nothing is left of the last call's memory. Files in
// memory may outlive a call, and what they take the next one would not have.
func (g *memoryGroup) reusable() bool {
	const counted = 256 << 10 // what each processor may count ahead
	left, err := g.used()
	slack := 1<<20 + counted*int64(runtime.NumCPU())
	if g.limit > 0 {
		slack = min(slack, g.limit/8)
	}
	return err == nil && left <= slack && g.empty() && !g.hit()
}

// empty reports whether nobody lives in the cgroup. The list is opened anew each time:
// version 1 shows to who keeps it open what it was a moment ago.
func (g *memoryGroup) empty() bool {
	members, err := os.ReadFile(filepath.Join(g.path, "cgroup.procs"))
	return err == nil && len(members) == 0
}

// readAll reads a small file of the kernel's from its start.
func readAll(f *os.File) string {
	var b [4096]byte
	n, _ := unix.Pread(fdOf(f), b[:], 0) // what cannot be read is empty
	return string(b[:max(n, 0)])
}

// enter gives the calls by which a process moves itself into the cgroup, and cgroup the
// descriptor of the one it is born in, or -1. A process that still shares our memory
// brings none of it along: memory belongs to the cgroup in which it was first used. Nor
// does the kernel kill it then, and us with it: it spares who is in a vfork.
func (g *memoryGroup) enter() (calls []Call, cgroup int) {
	if g.kind == memoryCgroup2 {
		return nil, fdOf(g.door)
	}
	return []Call{{Name: "enter the memory cgroup", NR: unix.SYS_WRITE, Args: []Arg{number(fdOf(g.door)), text("0"), number(1)}}}, -1
}

// A memoryHome is the cgroup under which each call gets one that bounds its memory,
// where its containment does not do that as well.
type memoryHome struct {
	kind memoryKind
	path string
	lock *os.File

	mu   sync.Mutex
	made int            // guarded by mu; how many cgroups there were
	free []*memoryGroup // guarded by mu; those that hold no call
	full []string       // guarded by mu; paths of those that still hold somebody
}

// take gives a cgroup that holds no process, with a limit.
func (h *memoryHome) take(limit int64) (*memoryGroup, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := len(h.free); n > 0; n = len(h.free) {
		g := h.free[n-1]
		h.free = h.free[:n-1]
		if g.set(limit) == nil {
			return g, nil
		}
		h.discard(g)
	}
	return h.make(limit)
}

// make needs mu.
func (h *memoryHome) make(limit int64) (*memoryGroup, error) {
	h.made++
	path := filepath.Join(h.path, strconv.Itoa(h.made))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	g, err := openMemoryGroup(h.kind, path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	g.home = h
	if err := g.set(limit); err != nil {
		h.discard(g)
		return nil, err
	}
	return g, nil
}

// put gives back a cgroup whose processes are dead, or should be.
func (h *memoryHome) put(g *memoryGroup) {
	keep := g.reusable()
	h.mu.Lock()
	defer h.mu.Unlock()
	if keep {
		h.free = append(h.free, g)
	} else {
		h.discard(g)
	}
}

// discard needs mu. What the last call left in memory goes on to count for our home.
func (h *memoryHome) discard(g *memoryGroup) {
	g.close()
	h.full = append(h.full, g.path)
	h.clear()
}

// clear removes those that hold nobody any more; it needs mu.
func (h *memoryHome) clear() {
	var still []string
	for _, path := range h.full {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			still = append(still, path)
		}
	}
	h.full = still
}

// close removes the home of calls that have all ended.
func (h *memoryHome) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.free {
		h.discard(g)
	}
	h.free = nil
	for range 100 {
		if h.clear(); len(h.full) == 0 {
			break
		}
		time.Sleep(time.Millisecond) // the kernel may still be busy with the dead
	}
	return errors.Join(os.Remove(h.path), h.lock.Close())
}

// bound takes a cgroup for the memory of the call, if that is what the plan says. It
// gives the calls by which the process enters it and the cgroup to be born in: born,
// unless version 2 holds the memory.
func (s *starter) bound(born int, h Host) ([]Call, int, error) {
	limit := s.request.Grant.Limits.Memory
	if s.group != nil && s.group.memory != nil {
		if s.plan.memory == memoryUnheld {
			return nil, born, s.group.memory.set(durward.Unlimited)
		}
		if err := s.group.memory.set(limit); err != nil {
			return nil, born, fmt.Errorf("memory limit: %w", err)
		}
		s.memory = s.group.memory
		return nil, born, nil
	}
	if s.plan.memory == memoryUnheld {
		return nil, born, nil
	}
	home, err := h.memory.find()
	if err != nil {
		return nil, born, err
	}
	if s.memory, err = home.take(limit); err != nil {
		return nil, born, fmt.Errorf("memory limit: %w", err)
	}
	calls, own := s.memory.enter()
	return calls, max(born, own), nil
}

// outOfMemory reports whether a start failed because its memory was too little. Short of
// memory the kernel fails calls with errors of all kinds.
func (s *starter) outOfMemory(err error) bool {
	const short = 64 << 10
	if s.memory == nil {
		return false
	}
	used, _ := s.memory.used() // what cannot be read is not short
	return errors.Is(err, unix.ENOMEM) || s.memory.hit() || used+short > s.memory.limit
}

func tooLittleMemory(err error) error {
	return &durward.Error{
		Reason: durward.LimitMemory, Op: "start", Rule: string(durward.CauseLimitMemory),
		Hint: "raise the limit in the policy", Err: fmt.Errorf("the command may use less memory than its start takes: %w", err),
	}
}

// OutOfMemory reports whether the kernel found the tree to need more memory than it may
// have. Once Exited is closed it knows about the main process.
func (p *Process) OutOfMemory() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory != nil && !p.outOfMemory {
		p.outOfMemory = p.memory.hit()
	}
	return p.outOfMemory
}

// leaveMemory gives the cgroup back when the tree is dead.
func (p *Process) leaveMemory() {
	p.OutOfMemory()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory.release()
	p.memory = nil
}

func (g *memoryGroup) release() {
	if g != nil && g.home != nil {
		g.home.put(g)
	}
}
