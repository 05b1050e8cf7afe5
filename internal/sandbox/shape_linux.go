//go:build linux && (amd64 || arm64)

package sandbox

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A shape is all that a plan depends on, but for the words of the command: calls of one
// shape have one plan. It is comparable, so that whatever it holds is part of a key.
type shape struct {
	containment Containment
	copied      bool    // no process can share our memory, or another one's
	own         account // the runtime's
	id          identity
	hostUID     uint32 // the user outside of our user namespace
	ownUsers    bool   // processes are counted in a user namespace of the call
	memory      memoryKind
	victim      bool // the kernel can be had to kill the command before the runtime
	keyrings    bool
	most        hardLimits
	prepared    bool // the command's process is there before the call, see [warmStart]

	restraint
	view string // what is seen at level 2, printed
	dir  string // where the command begins there
	// program is its path there; empty for one that has none.
	program string
	gaps    gaps
	// machineFiles are those of /proc that are hidden there.
	machineFiles string

	mode     durward.Mode
	stepDown bool
	needs    needs
	limits   durward.Limits

	terminal, follow, outlive bool
	linger                    time.Duration
	script                    string // path of a script; empty for a program that is executed by descriptor
}

// shapeOf chooses who runs the command and what holds it, at a level.
func shapeOf(at durward.Level, r Request, h Host) (shape, error) {
	id, err := identify(r.Grant, at, h, r.Dir)
	if err != nil {
		return shape{}, err
	}
	s := shape{
		containment: h.bestFor(r), copied: h.SharedErr != nil, own: account{h.UID, h.GID}, id: id, victim: h.VictimErr == nil, keyrings: h.Keyrings, most: h.MaxLimits,
		hostUID: outside(h.uidMap, id.uid), machineFiles: h.machineFiles, restraint: restraint{at: at},
		mode: r.Grant.Mode, stepDown: r.Grant.StepDown, limits: r.Grant.Limits,
		terminal: r.Terminal, follow: r.Follow, outlive: r.Outlive, linger: r.Linger,
	}
	if s.containment == "" {
		return s, unavailable("", "run durward doctor", "no way to end a whole process tree works on this host")
	}
	if s.needs, err = needsOf(r.Grant.Require); err != nil {
		return s, err
	}
	if s.confines() && h.landlock != nil {
		s.abi = h.landlock()
	}
	if r.Program.script {
		s.script = r.Program.scriptPath()
	}
	s.memory = h.memoryHeldBy(s.limits, s.containment)
	s.ownUsers = s.countsProcesses(h)
	return s, nil
}

// countsProcesses reports whether the number of processes can be limited: within a
// user namespace that only this call lives in, and never for host root.
func (s shape) countsProcesses(h Host) bool {
	if !h.UserNamespace || s.limits.Pids <= 0 {
		return false
	}
	return s.id.change || (s.own.uid != 0 && s.containment == PIDNamespace)
}

// hardLimits are limits by resource number.
type hardLimits [unix.RLIMIT_RTTIME + 1]uint64

// needs are requirements by the order of [durward.Guarantees], each as a set of the forms
// in which it was asked for.
type needs [12]uint8

// form gives a requirement's bit in such a set, without its guarantee.
func form(kernel, firm bool) uint8 {
	n := 0
	if kernel {
		n |= 1
	}
	if firm {
		n |= 2
	}
	return 1 << n
}

func needsOf(list []durward.Requirement) (needs, error) {
	var n needs
	for _, q := range list {
		i := slices.Index(durward.Guarantees(), q.Guarantee)
		if i < 0 {
			return n, unavailable("require", "name one of the guarantees that durward doctor lists", "%s is no guarantee", q)
		}
		n[i] |= form(q.Kernel, q.Firm)
	}
	return n, nil
}

// list gives the requirements.
func (n needs) list() []durward.Requirement {
	var list []durward.Requirement
	for i, g := range durward.Guarantees() {
		for _, kernel := range []bool{false, true} {
			for _, firm := range []bool{false, true} {
				if n[i]&form(kernel, firm) != 0 {
					list = append(list, durward.Requirement{Guarantee: g, Kernel: kernel, Firm: firm})
				}
			}
		}
	}
	return list
}

// plans remembers the plans of shapes. The zero value is ready.
type plans struct {
	mu    sync.Mutex
	known map[shape]Plan // guarded by mu
}

// mostPlans bounds what is remembered. Hosts run calls of few shapes.
const mostPlans = 64

// of gives the plan of a shape that sees a view. Its slices are shared and not to be
// changed.
func (p *plans) of(s shape, v view) (Plan, error) {
	p.mu.Lock()
	plan, ok := p.known[s]
	p.mu.Unlock()
	if ok {
		return plan, nil
	}
	plan, err := compile(s, v)
	if err != nil {
		return plan, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= mostPlans {
		p.known = make(map[shape]Plan)
	}
	p.known[s] = plan
	return plan, nil
}
