//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"sync"

	"golang.org/x/sys/unix"
)

// The first process of a call can be made before there is a call: a reaper in its own
// process-id space that waits to be told what to do. It holds nothing but the two ends
// that it was born with; the descriptors of the call follow what it is told. That takes
// a sixth off the time of a call, for one small process that waits.

// Spares are reapers that wait. The zero value is ready and has none; it gets one
// whenever a call has ended that could have used one. It may be used from any goroutine.
type Spares struct {
	mu     sync.Mutex
	free   []*spare       // guarded by mu
	shut   bool           // guarded by mu; nothing is made any more
	making sync.WaitGroup // entered under mu, unless shut
}

// mostSpares bounds those that wait at once.
const mostSpares = 2

// A spare is a reaper that has not been told anything.
type spare struct {
	pid, pidfd, control, status int
}

// Close ends those that wait.
func (s *Spares) Close() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.making.Wait()
	for _, r := range s.free {
		r.end()
	}
	s.free = nil
}

// Settle waits until none is being made.
func (s *Spares) Settle() { s.making.Wait() }

// take gives one, or nil.
func (s *Spares) take() *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	r := s.free[last]
	s.free = s.free[:last]
	return r
}

// refill makes one in the background when a call is over that could have used one. Where
// that fails, calls start as they would without.
func (s *Spares) refill(p Plan, h Host) {
	if s == nil || p.warm.text == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut || len(s.free) >= mostSpares {
		return
	}
	s.making.Go(func() {
		r, err := makeSpare(account{h.UID, h.GID})
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.free) < mostSpares {
			s.free = append(s.free, r)
		} else {
			r.end()
		}
	})
}

// makeSpare starts a reaper that holds the two ends only.
func makeSpare(of account) (*spare, error) {
	program, err := reaperProgram()
	if err != nil {
		return nil, err
	}
	s := &starter{control: -1, status: -1}
	defer s.closeLent()
	if err := s.spareEnds(); err != nil {
		s.closeOwn()
		return nil, err
	}
	place := []placement{{s.lent[0], reaperStatusFD}, {s.lent[1], reaperControlFD}}
	namespaces, list := shape{containment: PIDNamespace, own: of}.firstProcess()
	list = append(append(defaultSignals(), list...), placed(place, fdOf(program))...)
	list = append(list,
		Call{Name: "let go of the streams", NR: unix.SYS_CLOSE_RANGE, Args: []Arg{number(0), number(2), number(0)}},
		executeReaper([]string{"durward-reaper"}, nil),
	)
	pid, pidfd, err := spawn(context.Background(), namespaces, -1, list)
	if err != nil {
		reapFailed(pidfd)
		s.closeOwn()
		return nil, err
	}
	return &spare{pid, pidfd, s.control, s.status}, nil
}

// spareEnds makes the pipe for records and, for what the reaper is told, a socket:
// descriptors go through no pipe.
func (s *starter) spareEnds() error {
	if err := s.pipe(&s.status, fromChild, 0); err != nil {
		return err
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.control = ends[0]
	s.lent = append(s.lent, ends[1])
	return unix.SetNonblock(s.control, true)
}

// end ends a spare that was not used.
func (r *spare) end() {
	closeFDs(r.control, r.status)
	kill(r.pidfd)
	reapFailed(r.pidfd)
}

// Where the descriptors of a call come out: the first free numbers, in their order, in a
// reaper that has only those of its pipes. All but the streams and the program are
// taken up before the fork.
const (
	spareDirFD    = reaperProgramFD + 1
	spareMemoryFD = reaperUsersFD + 1
	_             = uint(reaperRulesFD - spareMemoryFD - 1) // the next one
)

// suitsSpare reports whether a spare reaper can do what the plan asks of the first
// process.
func (s shape) suitsSpare() bool {
	return s.containment == PIDNamespace && s.memory != memoryCgroup2 && !s.isolates()
}

// takeOver is what a spare does first, to be what any other reaper is when it begins.
func (s shape) takeOver() []Call {
	const name = "take over the call"
	shut := func(first, last int) Call {
		return Call{Name: name, NR: unix.SYS_CLOSE_RANGE, Args: []Arg{number(first), number(last), number(0)}}
	}
	calls := []Call{
		{Name: name, NR: unix.SYS_RECVMSG, Args: []Arg{number(reaperControlFD), message(spareDescriptors), number(0)}},
		{Name: name, NR: unix.SYS_FCNTL, Args: []Arg{number(reaperControlFD), number(unix.F_SETFL), number(unix.O_RDWR | unix.O_NONBLOCK)}},
		{Name: "enter the working directory", NR: unix.SYS_FCHDIR, Args: []Arg{number(spareDirFD)}},
		shut(spareDirFD, spareDirFD),
	}
	if s.memory == memoryCgroup1 {
		calls = append(calls, Call{Name: "enter the memory cgroup", NR: unix.SYS_WRITE, Args: []Arg{number(spareMemoryFD), text("0"), number(1)}})
	}
	if !s.confines() {
		calls = append(calls, shut(reaperRulesFD, reaperRulesFD))
	}
	if s.ownUsers && s.own.uid == 0 {
		return append(calls, shut(spareMemoryFD, spareMemoryFD))
	}
	return append(calls, shut(reaperUsersFD, spareMemoryFD))
}

// spareDescriptors is how many descriptors a spare gets: the streams, the program, the
// directory, the user namespace, the door of the memory cgroup and the ruleset. Where the
// plan has one of the last three not, the directory stands in for it.
const spareDescriptors = 8

// spare takes a spare that can do the call, if there is one.
func (s *starter) spare() *spare {
	if s.request.Spares == nil || s.plan.warm.text == nil || s.stdio.Stdin == nil || s.stdio.Stdout == nil || s.stdio.Stderr == nil {
		return nil
	}
	return s.request.Spares.take()
}

// hand has a spare do the call. It reports whether the spare was there to be told.
func (s *starter) hand(r *spare) bool {
	told, err := s.plan.warm.with(s.plan.argv, s.plan.env)
	if err == nil {
		dir := fdOf(s.request.Dir)
		fds := []int{fdOf(s.stdio.Stdin), fdOf(s.stdio.Stdout), fdOf(s.stdio.Stderr), fdOf(s.request.Program.file), dir, dir, dir, dir}
		if s.users != nil {
			fds[5] = fdOf(s.users)
		}
		if s.memory != nil {
			fds[6] = fdOf(s.memory.door)
		}
		if s.rules != 0 {
			fds[7] = s.rules
		}
		err = r.send(told, fds)
	}
	if err != nil {
		r.end()
		return false
	}
	s.control, s.status = r.control, r.status
	s.plan.Before = s.plan.warmBefore
	return true
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
