//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"math"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A warmStart is what a spare reaper is told, and the lists of it.
type warmStart struct {
	block
	before, command, after []Call
	// adds is what the call adds to the list of the command's process, where that waits
	// for it.
	adds []Call
}

// warmStart gives what a spare is told for calls of a shape, nil where that does not fit:
// a process of its own has its tree of files made before it is told anything.
func (p Plan) warmStart(s shape) (*warmStart, error) {
	told := p
	if s.prepared {
		told.Before, told.Command, told.After = s.waitsBefore(), s.waitsForCall(), s.reaperAfter()
	} else {
		told.Before = append(p.takesOver(), p.Before...)
	}
	b, err := told.told(s)
	if errors.Is(err, errBlockTooLarge) {
		return nil, nil
	}
	w := &warmStart{block: b, before: told.Before, command: told.Command, after: told.After}
	if s.prepared {
		w.adds = s.addedByCall()
		w.command = slices.Concat(w.command, w.adds, []Call{execute(s.script, reaperArgv(), reaperEnvp())})
	}
	return w, err
}

// Where the descriptors of a call come out: the first free numbers, in their order. Below
// level 2 a reaper has only those of its pipes; a cell has the rules and /proc as well. All
// but the streams and the program are taken up before the fork.
const (
	spareDirFD    = reaperProgramFD + 1
	spareMemoryFD = reaperUsersFD + 1
	_             = uint(reaperRulesFD - spareMemoryFD - 1) // the next one

	cellMemoryFD = reaperProgramFD + 1
	_            = uint(reaperUsersFD - cellMemoryFD - 1) // the next one
	_            = uint(reaperRulesFD - reaperUsersFD - 1)
)

// suitsSpare reports whether a spare can do what the plan asks of the first process. What
// is mounted for a call alone comes last, when the reaper has been executed, and no process
// but root's may mount anything then. A process that is there before the call was born in
// the cgroup of its memory; any other spare enters that, which version 2 has no door for.
func (s shape) suitsSpare(v view) bool {
	switch {
	case s.copied || s.containment != PIDNamespace || s.network == durward.NetAllowlist || s.copies:
		return false
	case !s.isolates():
		return s.memory != memoryCgroup2
	case !v.covered():
		return true
	}
	return s.own.uid == 0 && s.memory != memoryCgroup2 && !slices.ContainsFunc(v.taken(), v.overCover)
}

// covered reports whether anything is covered.
func (v view) covered() bool {
	return slices.ContainsFunc(v.places, func(p place) bool { return p.kind > written })
}

// key gives what the calls have in common that a spare can do: nothing below level 2, where
// a spare knows of nothing but the user it was made by.
func (s shape) key() shape {
	if !s.isolates() {
		return shape{}
	}
	s.dir, s.program, s.script = "", "", ""
	s.mode, s.stepDown, s.needs, s.terminal = "", false, needs{}, false
	limits := durward.Limits{Tmp: s.limits.Tmp}
	if s.prepared {
		limits.Memory = s.limits.Memory
	} else {
		s.follow, s.outlive, s.linger = false, false, 0
	}
	s.limits = limits
	return s
}

// takesOver is what a spare does first, to be what any other reaper is when it begins.
func (p Plan) takesOver() []Call {
	if p.apart {
		return p.takesOverCell()
	}
	s := p.shape
	calls := append(received(spareDescriptors),
		Call{Name: "enter the working directory", NR: unix.SYS_FCHDIR, Args: []Arg{number(spareDirFD)}},
		shut(stepTakeOver, spareDirFD, spareDirFD),
	)
	calls = append(calls, s.entersMemory(spareMemoryFD)...)
	if !s.confines() {
		calls = append(calls, shut(stepTakeOver, reaperRulesFD, reaperRulesFD))
	}
	if p.users {
		return append(calls, shut(stepTakeOver, spareMemoryFD, spareMemoryFD))
	}
	return append(calls, shut(stepTakeOver, reaperUsersFD, spareMemoryFD))
}

// takesOverCell covers parts of the tree of files, and enters it. What that opened does not
// stay open.
func (p Plan) takesOverCell() []Call {
	calls := append(received(cellDescriptors), p.shape.entersMemory(cellMemoryFD)...)
	last := cellMemoryFD
	if !p.users {
		last = reaperUsersFD
	}
	b := &builder{calls: append(calls, shut(stepTakeOver, cellMemoryFD, last))}
	b.reserve(roomRootFD, roomWorkFD)
	b.privateRoot()
	return slices.Concat(b.calls, p.then, []Call{shut(stepTakeOver, reaperProcFD+1, math.MaxUint32)})
}

func shut(name string, first, last int) Call {
	return Call{Name: name, NR: unix.SYS_CLOSE_RANGE, Args: []Arg{number(first), number(uint32(last)), number(0)}}
}

const stepTakeOver = "take over the call"

// received takes descriptors from the socket, which is no more than a pipe from then on.
func received(descriptors int) []Call {
	return []Call{
		{Name: stepTakeOver, NR: unix.SYS_RECVMSG, Args: []Arg{number(reaperControlFD), message(descriptors), number(0)}},
		noWaiting(),
	}
}

// noWaiting has the reaper look at its socket, and never wait there.
func noWaiting() Call {
	return Call{Name: stepTakeOver, NR: unix.SYS_FCNTL, Args: []Arg{number(reaperControlFD), number(unix.F_SETFL), number(unix.O_RDWR | unix.O_NONBLOCK)}}
}

func (s shape) entersMemory(door int) []Call {
	if s.memory != memoryCgroup1 {
		return nil
	}
	return []Call{{Name: "enter the memory cgroup", NR: unix.SYS_WRITE, Args: []Arg{number(door), text("0"), number(1)}}}
}

// A spare gets the streams, the program, the directory, the user namespace, the door of the
// memory cgroup and the ruleset; a cell the streams, the program, the door and the user
// namespace. The program stands in for what the plan has not.
const (
	spareDescriptors = 8
	cellDescriptors  = 6
)

// handed lists the descriptors that a spare gets.
func (s *starter) handed() []int {
	program := fdOf(s.request.Program.file)
	of := func(f *os.File) int {
		if f == nil {
			return program
		}
		return fdOf(f)
	}
	var door *os.File
	if s.memory != nil {
		door = s.memory.door
	}
	fds := []int{of(s.stdio.Stdin), of(s.stdio.Stdout), of(s.stdio.Stderr), program}
	if s.plan.apart {
		return append(fds, of(door), of(s.users))
	}
	rules := program
	if s.rules != nil {
		rules = s.rules.FD()
	}
	return append(fds, of(s.request.Dir), of(s.users), of(door), rules)
}

// send says what is to be done and with what.
func (r *spare) send(s *starter) error {
	told, err := s.plan.warm.with(s.plan.argv, s.plan.env)
	if err != nil {
		return err
	}
	if err := r.own.tell(told); err != nil {
		return err
	}
	return unix.Sendmsg(r.own.control, []byte{0}, unix.UnixRights(s.handed()...), nil, unix.MSG_NOSIGNAL)
}

// tell has the reaper read its block.
func (s *starter) tell(text []byte) error {
	n, err := unix.SendmsgN(s.control, text, nil, nil, unix.MSG_NOSIGNAL)
	if err == nil && n < len(text) {
		err = errBlockTooLarge // for the socket
	}
	return err
}
