//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A memoryProbe finds out, when it is first asked, whether the kernel can bound the
// memory of a call, and keeps the answer.
type memoryProbe struct {
	once sync.Once
	home *memoryHome
	err  error
}

func (p *memoryProbe) find() (*memoryHome, error) {
	p.once.Do(func() { p.home, p.err = openMemoryHome() })
	return p.home, p.err
}

// settle waits until each cgroup that calls have left can be used again.
func (p *memoryProbe) settle() {
	if home, _ := p.find(); home != nil {
		home.putting.Wait()
	}
}

// release frees what was found, and keeps the home from being looked for later.
func (p *memoryProbe) release() error {
	p.once.Do(func() { p.err = errors.New("released") })
	if p.home == nil {
		return nil
	}
	return p.home.close()
}

// Memory says what bounds the memory of calls on this host, by its name in a report,
// or why the kernel cannot: then the runtime looks at it now and then.
func (h Host) Memory() (by string, err error) {
	kind, err := h.memoryKind(h.best())
	return string(kind), err
}

// WithoutMemory gives the host as it would be if the kernel could not bound memory.
func (h Host) WithoutMemory() Host {
	h.memory = nil
	return h
}

// memoryKind tells what bounds memory beside a containment. A process lives in one
// cgroup of version 2, so that of the containment has to do both.
func (h Host) memoryKind(c Containment) (memoryKind, error) {
	if h.memory == nil {
		return memoryUnheld, errors.New("no cgroup bounds memory")
	}
	if c == Cgroup && h.cgroups.memory {
		return memoryCgroup2, nil
	}
	home, err := h.memory.find()
	switch {
	case err != nil:
		return memoryUnheld, err
	case c == Cgroup && home.kind == memoryCgroup2:
		return memoryUnheld, errors.New("the cgroups of calls have no memory controller")
	}
	return home.kind, nil
}

// memoryHeldBy is what bounds the memory of a call.
func (h Host) memoryHeldBy(l durward.Limits, c Containment) memoryKind {
	if l.Memory <= 0 {
		return memoryUnheld
	}
	kind, _ := h.memoryKind(c) // whatever is wrong, the runtime looks itself
	return kind
}

// openMemoryHome makes a home in the first hierarchy that is seen to work.
func openMemoryHome() (*memoryHome, error) {
	h, err2 := openMemoryHome2()
	if err2 == nil {
		return h, nil
	}
	h, err1 := openMemoryHome1()
	if err1 == nil {
		return h, nil
	}
	return nil, errors.Join(err2, err1)
}

func openMemoryHome1() (*memoryHome, error) {
	tree, err := findHierarchy("memory")
	if err != nil {
		return nil, err
	}
	home, err := makeHome(tree, tree.own)
	if err != nil {
		return nil, err
	}
	return tryMemoryHome(&memoryHome{home: home, kind: memoryCgroup1})
}

func openMemoryHome2() (*memoryHome, error) {
	home, err := makeDelegatedHome()
	if err != nil {
		return nil, err
	}
	return tryMemoryHome(&memoryHome{home: home, kind: memoryCgroup2})
}

// makeDelegatedHome makes a home whose cgroups have the memory controller. A cgroup of
// version 2 that holds processes, as ours does, gives no controller to those below it
// unless it is the root of all; so the home may lie further up, as near as can be, but
// never outside a limit that was put on us.
func makeDelegatedHome() (home, error) {
	tree, err := findHierarchy(unified)
	if err != nil {
		return home{}, err
	}
	var tried []error
	for parent := tree.own; ; parent = filepath.Dir(parent) {
		made, err := delegatedBelow(tree, parent)
		if err == nil {
			return made, nil
		}
		tried = append(tried, err)
		if parent == tree.mount || !strings.HasPrefix(parent, tree.mount) || limited(parent) {
			return home{}, errors.Join(tried...)
		}
	}
}

func delegatedBelow(tree hierarchy, parent string) (home, error) {
	if !hasMemory(parent, "cgroup.controllers") {
		return home{}, fmt.Errorf("%s has no memory controller", parent)
	}
	made, err := makeHome(tree, parent)
	if err != nil {
		return home{}, err
	}
	if err := delegate(parent, made.path); err != nil {
		return home{}, errors.Join(err, made.remove())
	}
	return made, nil
}

// delegate sees to it that the cgroups below home have the memory controller.
func delegate(parent, home string) error {
	if !hasMemory(home, "cgroup.controllers") {
		if err := writeFile(filepath.Join(parent, subtree), "+memory"); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(home, subtree), "+memory")
}

const subtree = "cgroup.subtree_control"

func hasMemory(cgroup, file string) bool {
	text, _ := os.ReadFile(filepath.Join(cgroup, file)) // what cannot be read has none
	return slices.Contains(strings.Fields(string(text)), "memory")
}

// limited reports whether a cgroup has a limit on memory or processor time. One on the
// number of processes most have, and the call has its own.
func limited(cgroup string) bool {
	for _, file := range []string{"memory.max", "memory.high", "cpu.max"} {
		text, err := os.ReadFile(filepath.Join(cgroup, file))
		if err == nil && !strings.HasPrefix(string(text), "max") {
			return true
		}
	}
	return false
}

// tryMemoryHome keeps a home if its cgroups bound memory.
func tryMemoryHome(h *memoryHome) (*memoryHome, error) {
	g, err := h.take(4 * probeMemory)
	if err == nil {
		err = g.counts()
		h.put(g, false)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", h.kind, err), h.close())
	}
	return h, nil
}

// probeMemory is what a process takes to see that it counts, in a cgroup that allows
// four times as much. It stays below the limit: each process that the kernel kills for
// its memory is told to the operator of the machine.
const probeMemory = 1 << 20

// counts has the reaper's program take memory, and sees that the cgroup counts it.
func (g *memoryGroup) counts() error {
	if err := g.set(4 * probeMemory); err != nil {
		return err
	}
	enter, born := g.enter()
	h, err := startHelper(errand{enter: enter, cgroup: born, list: []Call{{Name: "take memory", NR: unix.SYS_MMAP, Args: []Arg{
		number(0), number(probeMemory), number(unix.PROT_READ | unix.PROT_WRITE),
		number(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_POPULATE), number(-1), number(0),
	}}}})
	if err != nil {
		return err
	}
	defer h.end()
	if err := h.ready(); err != nil {
		return err
	}
	used, err := g.used()
	if err == nil && used < probeMemory {
		err = errors.New("the memory of processes is not counted")
	}
	return err
}

// tryMemory sees whether the cgroups of a containment bound memory.
func (h *cgroupHome) tryMemory() error {
	c, err := h.take(4 * probeMemory)
	if err != nil {
		return err
	}
	return errors.Join(c.memory.counts(), c.killAll(), c.drain(), h.put(c))
}
