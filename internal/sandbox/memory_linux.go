//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// controller gives the kind's tree of cgroups, as in [findHierarchy].
func (k memoryKind) controller() string {
	if k == memoryCgroup2 {
		return unified
	}
	return "memory"
}

// A memoryGroup is a cgroup seen as a bound on memory: what its processes hold, files
// in memory and what the kernel holds for them included.
type memoryGroup struct {
	home *memoryHome // nil where the cgroup is the containment of a call, too
	kind memoryKind
	path string
	name string // what the kernel calls it in /proc/PID/cgroup
	// limit is what is in force; zero means that none was set yet.
	limit int64
	// door is the file to write to of version 1, by who enters, and the directory of
	// version 2, in which a process can be born.
	door, usage, events *os.File
	// highest is what version 1 keeps of the most that was ever in use, until it is
	// written to; nil for version 2.
	highest *os.File
}

// openMemoryGroup opens a cgroup that exists.
func openMemoryGroup(kind memoryKind, path, name string) (*memoryGroup, error) {
	g := &memoryGroup{kind: kind, path: path, name: name}
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
	if kind == memoryCgroup1 {
		if err := g.openHighest(); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

// openHighest takes the counter of memory and swap together, where the kernel has one:
// that limit is never the higher one.
func (g *memoryGroup) openHighest() (err error) {
	g.highest, err = os.OpenFile(filepath.Join(g.path, "memory.memsw.max_usage_in_bytes"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		g.highest, err = os.OpenFile(filepath.Join(g.path, "memory.max_usage_in_bytes"), os.O_RDWR, 0)
	}
	return err
}

func (g *memoryGroup) close() {
	for _, f := range []*os.File{g.door, g.usage, g.events, g.highest} {
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

// shortage says whether memory ran out, and whose: the kernel has killed a process, or
// holds the processes back until somebody does. It says so before the first one is dead.
//
// The kernel counts here, too, whom it kills because of a limit further up, and says
// that memory is short below every such limit. So either is the call's own doing only if
// its own limit was in the way.
func (g *memoryGroup) shortage() Shortage {
	events := readAll(g.events)
	killed := counter(events, "oom_kill") > 0
	waits := counter(events, "oom_kill_disable") > 0 && counter(events, "under_oom") > 0
	switch {
	case (killed || waits) && g.reached("oom"):
		return OwnShortage
	case killed:
		return OuterShortage
	}
	return NoShortage
}

// reached reports whether the cgroup's own limit was in the way. Version 2 tells how:
// "max" is any time, "oom" only those when nothing could be freed. Version 1 has a count
// of failures, which not every kernel keeps for each limit; what was in use at most it
// does keep. The kernel kills nobody for more than eight pages that it cannot have.
func (g *memoryGroup) reached(how string) bool {
	if g.kind == memoryCgroup2 {
		return counter(readAll(g.events), how) > 0
	}
	highest, err := parse(g.highest)
	return err == nil && highest+int64(8*os.Getpagesize()) >= g.limit
}

// counter reads one of "NAME NUMBER", a line each; one that is not there is zero.
func counter(text, name string) int64 {
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, name+" "); ok {
			count, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64) // the kernel's number
			return count
		}
	}
	return 0
}

// used is the memory in use, in bytes, give or take what the processors count ahead.
func (g *memoryGroup) used() (int64, error) { return parse(g.usage) }

func parse(f *os.File) (int64, error) { return strconv.ParseInt(strings.TrimSpace(readAll(f)), 10, 64) }

// begin sets the limit for a call, whose own the counts are from here on.
func (g *memoryGroup) begin(limit int64) error {
	if g.highest != nil {
		if _, err := unix.Pwrite(fdOf(g.highest), []byte("0"), 0); err != nil {
			return err
		}
	}
	return g.set(limit)
}

// reusable reports whether another call can have the cgroup: nobody lives in it or has
// made another in it, nothing was counted that the next call would be blamed for, and
// next to nothing is left of the last call's memory. Files in memory may outlive a call,
// and what they take the next one would not have. To ask who lives in it can take as
// long as to start a process, and need not be asked of one that is sealed: nobody of
// its call lives any more, nor could they move anybody in.
func (g *memoryGroup) reusable(sealed bool) bool {
	const counted = 256 << 10 // what each processor may count ahead
	left, err := g.used()
	slack := 1<<20 + counted*int64(runtime.NumCPU())
	return err == nil && left <= slack && g.fits(g.limit) && (sealed || g.empty() && childless(g.path)) &&
		counter(readAll(g.events), "oom_kill") == 0 && (g.kind == memoryCgroup1 || !g.reached("max"))
}

// fits reports whether a call with such a limit, or with none, which is zero, would
// hardly notice what is left in the cgroup.
func (g *memoryGroup) fits(limit int64) bool {
	left, err := g.used()
	return limit <= 0 || err == nil && left <= limit/8
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
	home
	kind memoryKind

	mu   sync.Mutex
	made int            // guarded by mu; how many cgroups there were
	free []*memoryGroup // guarded by mu; those that hold no call
	full []string       // guarded by mu; paths of those that still hold somebody
	// putting are those that are being given back.
	putting sync.WaitGroup
}

// take gives a cgroup that holds no process, with a limit.
func (h *memoryHome) take(limit int64) (*memoryGroup, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, g := range slices.Backward(h.free) {
		if !g.fits(limit) {
			continue
		}
		h.free = slices.Delete(h.free, i, i+1)
		if g.begin(limit) == nil {
			return g, nil
		}
		h.discard(g)
	}
	return h.make(limit)
}

// make needs mu.
func (h *memoryHome) make(limit int64) (*memoryGroup, error) {
	h.made++
	number := strconv.Itoa(h.made)
	path := filepath.Join(h.path, number)
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	g, err := openMemoryGroup(h.kind, path, filepath.Join(h.name, number))
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
func (h *memoryHome) put(g *memoryGroup, sealed bool) {
	keep := g.reusable(sealed)
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
		if removeCgroup(path) != nil {
			still = append(still, path)
		}
	}
	h.full = still
}

// close removes the home of calls that have all ended.
func (h *memoryHome) close() error {
	h.putting.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.free {
		h.discard(g)
	}
	h.free, h.full = nil, nil
	return h.home.remove()
}

// memoryLimit is the limit that a cgroup of the call will have; zero for none.
func (s *starter) memoryLimit() int64 {
	if s.plan.memory == memoryUnheld {
		return 0
	}
	return s.plan.shape.limits.Memory
}

// bound takes a cgroup for the memory of the call, if that is what the plan says. It
// gives the calls by which the process enters it and the cgroup to be born in: born,
// unless version 2 holds the memory.
func (s *starter) bound(born int, h Host) ([]Call, int, error) {
	limit := s.memoryLimit()
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

// shortage says whether a start failed for lack of memory. Short of memory the kernel
// fails calls with errors of all kinds.
func (s *starter) shortage(err error) Shortage {
	const short = 64 << 10
	if s.memory == nil {
		return NoShortage
	}
	used, _ := s.memory.used() // what cannot be read is not short
	switch {
	case s.memory.reached("max") || used+short > s.memory.limit:
		return OwnShortage
	case errors.Is(err, unix.ENOMEM):
		return OuterShortage
	}
	return s.memory.shortage()
}

func tooLittleMemory(of Shortage, err error) error {
	e := &durward.Error{
		Reason: durward.LimitMemory, Op: "start", Rule: string(durward.CauseLimitMemory),
		Hint: "raise the limit in the policy", Err: fmt.Errorf("the command may use less memory than its start takes: %w", err),
	}
	if of == OuterShortage {
		e.Rule, e.Hint = "", HintOuterShortage
		e.Err = fmt.Errorf("the machine, or a cgroup that durward lives in, ran out of memory: %w", err)
	}
	return e
}

// Shortage says whether the kernel found too little memory for the tree, and whose.
// Once Exited is closed it knows about the main process.
func (p *Process) Shortage() Shortage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory != nil && p.shortage == NoShortage {
		p.shortage = p.memory.shortage()
	}
	return p.shortage
}

// leaveMemory gives the cgroup back when the tree is dead.
func (p *Process) leaveMemory() {
	p.Shortage()
	p.mu.Lock()
	defer p.mu.Unlock()
	sealed := p.plan.Containment == PIDNamespace && p.plan.Report.Guarantees[durward.Mem].Held == durward.HeldKernel
	p.memory.release(sealed)
	p.memory = nil
}

// release gives the cgroup back in the background: no answer waits for that. The home
// waits for the end.
func (g *memoryGroup) release(sealed bool) {
	if g != nil && g.home != nil {
		g.home.putting.Go(func() { g.home.put(g, sealed) })
	}
}
