//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// The first process of a call can be made before there is a call: a reaper in its own
// process-id space that waits to be told what to do. The descriptors of the call follow
// what it is told.
//
// Below level 2 it holds nothing but the two ends that it was born with, and any call can
// have it. At level 2 it is a cell: it has namespaces of its own and a tree of files that
// nobody has lived in, all that a call of one view needs but for what covers parts of that,
// the working directory and the program. A call that finds one ready pays for little more
// than its command.

// Spares are reapers that wait. The zero value is ready and has none; it gets one
// whenever a call has ended that could have used one. It may be used from any goroutine.
type Spares struct {
	mu     sync.Mutex
	free   []*spare       // guarded by mu; the oldest first
	shut   bool           // guarded by mu; nothing is made any more
	making sync.WaitGroup // entered under mu, unless shut
}

// mostSpares bounds those that wait at once.
const mostSpares = 2

// A spare is a reaper that has not been told anything.
type spare struct {
	pid, pidfd, control, status int

	key    shape       // of the calls that it is for
	net    *os.File    // its network namespace, where that is a kept one
	mounts *os.File    // its mount namespace; nil below level 2
	end    *time.Timer // nil below level 2: a cell takes up room in the kernel
}

// Close ends those that wait.
func (s *Spares) Close() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.making.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.free {
		r.close()
	}
	s.free = nil
}

// Settle waits until none is being made.
func (s *Spares) Settle() { s.making.Wait() }

// take gives one for the calls of a key, or nil.
func (s *Spares) take(key shape) *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.free, func(r *spare) bool { return r.key == key })
	if i < 0 {
		return nil
	}
	r := s.free[i]
	s.free = slices.Delete(s.free, i, i+1)
	if r.end != nil {
		r.end.Stop()
	}
	return r
}

// refill makes one in the background when a call is over that could have used one. Where
// that fails, calls start as they would without. What was mounted for the call goes then,
// too: to take mounts down takes longer than the end of a process.
func (s *Spares) refill(p Plan, h Host, mounts *os.File) {
	if s == nil || p.warm.text == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	full := s.waiting(p.key) >= mostSpares
	switch {
	case s.shut:
		mounts.Close() // of nil it is an error that does no harm
		return
	case full && mounts == nil:
		return
	}
	s.making.Go(func() {
		runtime.Gosched() // whoever waits for the end of the call goes first
		mounts.Close()
		if full {
			return
		}
		r, err := makeSpare(p, h)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.put(r)
	})
}

// waiting counts those for a key. The caller holds mu.
func (s *Spares) waiting(key shape) int {
	n := 0
	for _, r := range s.free {
		if r.key == key {
			n++
		}
	}
	return n
}

// put has one wait, in the place of the oldest where there are too many. The caller holds mu.
func (s *Spares) put(r *spare) {
	if len(s.free) == mostSpares {
		s.free[0].close()
		s.free = slices.Delete(s.free, 0, 1)
	}
	s.free = append(s.free, r)
	if r.key != (shape{}) {
		r.end = time.AfterFunc(keptTime, func() { s.forget(r) })
	}
}

// forget gives up one that no call has taken.
func (s *Spares) forget(r *spare) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.free, r); i >= 0 {
		s.free = slices.Delete(s.free, i, i+1)
		r.close()
	}
}

// makeSpare starts a reaper for calls like that of a plan.
func makeSpare(p Plan, h Host) (*spare, error) {
	program, err := reaperProgram()
	if err != nil {
		return nil, err
	}
	s := &starter{plan: p, control: -1, status: -1, hand: -1}
	defer s.closeLent()
	place, err := s.spareEnds()
	var tree []Call
	if err == nil && p.apart {
		var more []placement
		more, err = s.furnish(h)
		defer func() { h.rooms.give(s.kept) }()
		place, tree = append(place, more...), append(s.tree(), p.ahead...)
	}
	pidfd := -1
	var pid int
	if err == nil {
		list := slices.Concat(defaultSignals(), p.Share, placed(place, fdOf(program)), tree, p.kept(), []Call{
			shut("let go of the streams", 0, 2), executeReaper([]string{"durward-reaper"}, nil),
		})
		pid, pidfd, err = spawn(context.Background(), s.namespaces(), -1, list)
	}
	if err != nil {
		reapFailed(pidfd)
		s.closeOwn()
		return nil, err
	}
	r := &spare{pid: pid, pidfd: pidfd, control: s.control, status: s.status, key: p.key, net: s.net}
	if p.apart {
		r.mounts, _ = os.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid)) // without it the end takes longer
	}
	return r, nil
}

// kept has what hides something stay at hand.
func (p Plan) kept() []Call {
	b := &builder{}
	if p.keepsStore {
		b.keep(roomStoreFD)
	}
	return b.calls
}

// spareEnds makes the pipe for records and, for what the reaper is told, a socket:
// descriptors go through no pipe.
func (s *starter) spareEnds() ([]placement, error) {
	if err := s.pipe(&s.status, fromChild, 0); err != nil {
		return nil, err
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	s.control = ends[0]
	s.lent = append(s.lent, ends[1])
	return []placement{{s.lent[0], reaperStatusFD}, {s.lent[1], reaperControlFD}}, unix.SetNonblock(s.control, true)
}

// close ends a spare that was not used.
func (r *spare) close() {
	if r.end != nil {
		r.end.Stop()
	}
	closeFDs(r.control, r.status)
	kill(r.pidfd)
	reapFailed(r.pidfd)
	for _, f := range []*os.File{r.net, r.mounts} {
		f.Close() // of nil it is an error that does no harm
	}
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

// suitsSpare reports whether a spare reaper can do what the plan asks of the first process.
func (s shape) suitsSpare() bool {
	return !s.copied && s.containment == PIDNamespace && s.network != durward.NetAllowlist && !s.copies && s.memory != memoryCgroup2
}

// suitsCell reports whether what is mounted for a call alone can come last: when the reaper
// has been executed, and no process but root's may mount anything.
func (v view) suitsCell(root bool) bool {
	covers := slices.ContainsFunc(v.places, func(p place) bool { return p.kind > written })
	return (root || !covers) && !slices.ContainsFunc(v.taken(), v.overCover)
}

// key gives what the calls have in common that a spare can do: nothing below level 2, where
// a spare knows of nothing but the user it was made by.
func (s shape) key() shape {
	if !s.isolates() {
		return shape{}
	}
	s.dir, s.program, s.script = "", "", ""
	s.limits = durward.Limits{Tmp: s.limits.Tmp}
	s.mode, s.stepDown, s.needs, s.terminal, s.follow, s.linger = "", false, needs{}, false, false, 0
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
		{Name: stepTakeOver, NR: unix.SYS_FCNTL, Args: []Arg{number(reaperControlFD), number(unix.F_SETFL), number(unix.O_RDWR | unix.O_NONBLOCK)}},
	}
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

// spare takes a spare that can do the call, if there is one.
func (s *starter) spare() *spare {
	if s.request.Spares == nil || s.plan.warm.text == nil || s.stdio.Stdin == nil || s.stdio.Stdout == nil || s.stdio.Stderr == nil {
		return nil
	}
	return s.request.Spares.take(s.plan.key)
}

// instruct has a spare do the call. It reports whether the spare was there to be told.
func (s *starter) instruct(r *spare) bool {
	told, err := s.plan.warm.with(s.plan.argv, s.plan.env)
	if err == nil {
		err = r.send(told, s.handed())
	}
	if err != nil {
		r.close()
		return false
	}
	s.control, s.status, s.net, s.mounts = r.control, r.status, r.net, r.mounts
	s.plan.Before = s.plan.warmBefore
	return true
}

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
	rules := s.rules
	if rules == 0 {
		rules = program
	}
	return append(fds, of(s.request.Dir), of(s.users), of(door), rules)
}

// send says what is to be done and with what.
func (r *spare) send(told []byte, fds []int) error {
	n, err := unix.SendmsgN(r.control, told, nil, nil, unix.MSG_NOSIGNAL)
	if err == nil && n < len(told) {
		err = errBlockTooLarge // for the socket
	}
	if err != nil {
		return err
	}
	return unix.Sendmsg(r.control, []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
}
