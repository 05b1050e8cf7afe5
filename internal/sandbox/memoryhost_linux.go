//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

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

// openMemoryHome makes a home in the first hierarchy where a limit is seen to work.
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
	path, lock, err := makeHome(tree.own)
	if err != nil {
		return nil, err
	}
	return tryMemoryHome(&memoryHome{kind: memoryCgroup1, path: path, lock: lock})
}

func openMemoryHome2() (*memoryHome, error) {
	path, lock, err := makeDelegatedHome()
	if err != nil {
		return nil, err
	}
	return tryMemoryHome(&memoryHome{kind: memoryCgroup2, path: path, lock: lock})
}

// makeDelegatedHome makes a home whose cgroups have the memory controller. A cgroup of
// version 2 that holds processes, as ours does, gives no controller to those below it
// unless it is the root of all; so the home may lie further up, as near as can be, but
// never outside a limit that was put on us.
func makeDelegatedHome() (string, *os.File, error) {
	tree, err := findHierarchy(unified)
	if err != nil {
		return "", nil, err
	}
	var tried []error
	for parent := tree.own; ; parent = filepath.Dir(parent) {
		path, lock, err := makeHome(parent)
		if err == nil {
			if err = delegate(parent, path); err == nil {
				return path, lock, nil
			}
			err = errors.Join(err, os.Remove(path), lock.Close())
		}
		tried = append(tried, err)
		if parent == tree.mount || !strings.HasPrefix(parent, tree.mount) || limited(parent) {
			return "", nil, errors.Join(tried...)
		}
	}
}

// delegate sees to it that the cgroups below home have the memory controller.
func delegate(parent, home string) error {
	if !hasMemory(home, "cgroup.controllers") {
		if !hasMemory(parent, "cgroup.controllers") {
			return fmt.Errorf("%s has no memory controller", parent)
		}
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

func limited(cgroup string) bool {
	text, err := os.ReadFile(filepath.Join(cgroup, "memory.max"))
	return err == nil && strings.TrimSpace(string(text)) != "max"
}

// tryMemoryHome keeps a home if a limit has an effect in it.
func tryMemoryHome(h *memoryHome) (*memoryHome, error) {
	g, err := h.take(probeMemory)
	if err == nil {
		err = g.overrun()
		h.put(g)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", h.kind, err), h.close())
	}
	return h, nil
}

const probeMemory = 4 << 20

// overrun has the reaper's program take four times the limit, and sees it killed.
func (g *memoryGroup) overrun() error {
	program, err := reaperProgram()
	if err != nil {
		return err
	}
	s := &starter{control: -1, status: -1}
	defer s.closeLent()
	defer s.closeOwn()
	if err := s.pipe(&s.control, toChild, unix.O_NONBLOCK); err != nil {
		return err
	}
	block, err := reaperLists{before: []Call{
		{Name: "take memory", NR: unix.SYS_MMAP, Args: []Arg{
			number(0), number(4 * probeMemory), number(unix.PROT_READ | unix.PROT_WRITE),
			number(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_POPULATE), number(-1), number(0),
		}},
		{Name: "exit", NR: unix.SYS_EXIT_GROUP, Args: []Arg{number(0)}},
	}}.encode()
	if err != nil {
		return err
	}
	if _, err := unix.Write(s.control, block); err != nil {
		return err
	}
	place := []placement{{s.lent[0], reaperControlFD}}
	list, born := g.enter()
	list = append(list, s.placed(place, fdOf(program))...)
	list = append(list, executeReaper(len(place), []string{"durward-probe"}, nil))
	_, pidfd, err := spawn(context.Background(), 0, born, list)
	if err != nil {
		reapFailed(pidfd)
		return err
	}
	return g.killedWithin(probeTime, pidfd)
}

// killedWithin waits for the end of a process that memory runs out for.
func (g *memoryGroup) killedWithin(d time.Duration, pidfd int) error {
	defer closeFDs(pidfd)
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(d.Milliseconds())) // an early end kills early
	kill(pidfd)
	if err := waitEnd(pidfd); err != nil {
		return err
	}
	if !g.hit() {
		return errors.New("a limit on memory has no effect")
	}
	return nil
}

// tryMemory sees whether a limit has an effect in the cgroups of a containment.
func (h *cgroupHome) tryMemory() error {
	c, err := h.take()
	if err != nil {
		return err
	}
	if err = c.memory.set(probeMemory); err == nil {
		err = c.memory.overrun()
	}
	return errors.Join(err, c.drain(), h.put(c))
}
