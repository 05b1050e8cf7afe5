//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// Start has a new process run the plan and then the command. The ends in stdio stay
// the caller's to close. When it fails, no instruction of the command has run and
// nothing is left: the error has reason SandboxError, DirUnreadable or
// ProgramNotExecutable and wraps a [*StepError]; or it is the cause of ctx, when that
// ends first.
func Start(ctx context.Context, p Plan, r Request, stdio Stdio, h Host) (*Process, error) {
	if r.Program.script || p.apart {
		if err := r.Program.unchanged(); err != nil {
			return nil, err
		}
	}
	s := &starter{plan: p, request: r, stdio: stdio, began: monotonic(), control: -1, status: -1}
	defer s.closeLent()
	proc, err := s.start(ctx, h)
	if err != nil {
		r.Spares.refill(p, h)
		short := s.shortage(err)
		s.closeOwn()
		if short != NoShortage {
			return nil, tooLittleMemory(short, err)
		}
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
			return nil, err
		}
		return nil, startError(err)
	}
	return proc, nil
}

// A starter holds what lives only while a process is started, and what goes over to
// the process when that succeeds.
type starter struct {
	plan    Plan
	request Request
	stdio   Stdio
	began   time.Duration // on the monotonic clock

	lent    []int // the child's ends of our pipes
	control int   // write end, or -1
	status  int   // read end, or -1
	group   *cgroup
	memory  *memoryGroup
	users   *os.File  // the user namespace of the call, or nil
	net     *os.File  // its network namespace, where that is a kept one
	kept    *keptRoom // the room that it gets a copy of, or nil
	guard   *guard    // nil where nothing is to be watched
	rules   int       // the ruleset of level 1, or zero
}

func (s *starter) start(ctx context.Context, h Host) (*Process, error) {
	place := []placement{
		{fdOf(s.stdio.Stdin), 0},
		{fdOf(s.stdio.Stdout), 1},
		{fdOf(s.stdio.Stderr), 2},
		{fdOf(s.request.Program.file), reaperProgramFD},
	}
	born := -1
	if s.plan.Containment == Cgroup {
		group, err := h.cgroups.take(s.memoryLimit())
		if err != nil {
			return nil, err
		}
		s.group = group
		place = append(place, placement{fdOf(group.kill), reaperKillFD})
		born = fdOf(group.dir)
	}
	if s.plan.rules != nil {
		rules, err := h.rules.Take(*s.plan.rules)
		if err != nil {
			return nil, err
		}
		defer rules.Close()
		s.rules = rules.FD()
		place = append(place, placement{s.rules, reaperRulesFD})
	}
	if s.plan.apart {
		more, err := s.furnish(h)
		if err != nil {
			return nil, err
		}
		place = append(place, more...)
		defer h.rooms.give(s.kept)
	}
	if s.plan.users {
		users, err := h.users.take(account{s.plan.UID, s.plan.GID})
		if err != nil {
			return nil, err
		}
		s.users = users
		place = append(place, placement{fdOf(users), reaperUsersFD})
	}
	memory, born, err := s.bound(born, h)
	if err != nil {
		return nil, err
	}
	if err := s.guardFor(); err != nil {
		return nil, err
	}
	pid, pidfd, err := s.firstProcess(ctx, place, memory, born)
	if err != nil {
		reapFailed(pidfd)
		return nil, err
	}
	proc := &Process{
		plan: s.plan, eager: s.plan.follow, pid: pid, pidfd: pidfd, control: s.control, status: s.status, group: s.group, memory: s.memory,
		users: s.users, net: s.net, guard: s.guard, spares: s.request.Spares, host: h,
		began: s.began, exited: make(chan struct{}), gone: make(chan struct{}),
	}
	if s.memory != nil {
		proc.bounds = s.memory.name
	}
	if s.plan.direct {
		proc.setup = monotonic() - s.began // vfork returned because the program was executed
	}
	s.closeLent() // or the end of the reaper would not end its pipe
	if s.plan.follow {
		if err := proc.confirm(ctx); err != nil {
			return nil, err
		}
	}
	if proc.guard != nil {
		proc.guard.done.Go(func() { proc.guard.follow(proc.Kill) })
	}
	go proc.watch()
	return proc, nil
}

// firstProcess gives the first process of the call, which is on its way: a spare one, or
// a new one.
func (s *starter) firstProcess(ctx context.Context, place []placement, memory []Call, born int) (pid, pidfd int, err error) {
	if r := s.spare(); r != nil && s.hand(r) {
		return r.pid, r.pidfd, nil
	}
	reaper := -1
	if !s.plan.direct {
		program, err := reaperProgram()
		if err != nil {
			return -1, -1, err
		}
		pipes, err := s.reaperPipes()
		if err != nil {
			return -1, -1, err
		}
		place = append(place, pipes...)
		reaper = fdOf(program)
	}
	return spawn(ctx, s.namespaces(), born, append(memory, s.shared(place, reaper)...))
}

// monotonic reads the clock that the command's process reads, too.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail
	return time.Duration(t.Nano())
}

// reaperPipes makes the reaper's two pipes and writes the block, which waits in the
// pipe until the reaper reads it.
func (s *starter) reaperPipes() ([]placement, error) {
	if err := s.pipe(&s.status, fromChild, 0); err != nil {
		return nil, err
	}
	if err := s.pipe(&s.control, toChild, unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	if _, err := unix.Write(s.control, s.plan.block.text); err != nil {
		return nil, err
	}
	return []placement{{s.lent[0], reaperStatusFD}, {s.lent[1], reaperControlFD}}, nil
}

const fromChild, toChild = 0, 1 // which end of a pipe is ours

// pipe makes a pipe and keeps our end in ours. Neither end is known to the poller: a
// reader of records waits in the kernel, which costs a thread and saves two wake-ups
// for each command.
func (s *starter) pipe(ours *int, end, flags int) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|flags); err != nil {
		return err
	}
	*ours = p[end]
	s.lent = append(s.lent, p[1-end])
	return nil
}

// A placement is a descriptor of ours and the number it has in the child.
type placement struct {
	fd, number int
}

// shared is the whole list of the process that shares our memory. The descriptors are
// first copied out of the way of every number in use, then put in place.
func (s *starter) shared(place []placement, reaper int) []Call {
	calls := defaultSignals()
	if !s.plan.apart {
		calls = append(calls, Call{Name: "enter the working directory", NR: unix.SYS_FCHDIR, Args: []Arg{number(fdOf(s.request.Dir))}})
	}
	calls = append(calls, s.plan.Share...)
	calls = append(calls, placed(place, reaper)...)
	calls = append(calls, s.room()...)
	if s.plan.direct {
		return append(calls, s.plan.Command...)
	}
	return append(calls, executeReaper(s.plan.argv, s.plan.env))
}

// onlyReaper is the list that does nothing but some calls and execute the reaper's
// program, under a name.
func onlyReaper(name string, place []placement, reaper int, inside []Call) []Call {
	return append(append(placed(place, reaper), inside...), executeReaper([]string{name}, nil))
}

// executeReaper stands behind the calls of placed.
func executeReaper(argv, env []string) Call {
	return Call{Name: "execute the reaper", NR: unix.SYS_EXECVEAT, Args: []Arg{
		number(reaperSelfFD), text(""), vector(argv), vector(env), number(unix.AT_EMPTY_PATH),
	}}
}

// placed gives the descriptors their numbers and sees to it that no other is
// inherited. The reaper's program, unless negative, can be executed then.
func placed(place []placement, reaper int) []Call {
	var calls []Call
	above := 0
	for _, p := range place {
		above = max(above, p.number+1)
	}
	if reaper >= 0 {
		place = append(slices.Clip(place), placement{reaper, reaperSelfFD})
	}
	for _, p := range place {
		calls = append(calls, copyDescriptor(p.fd))
	}
	for _, p := range place {
		calls = append(calls, Call{Name: "place descriptors", NR: unix.SYS_DUP3, Args: []Arg{
			result(len(place)), number(p.number), number(0),
		}})
	}
	return append(calls, closeOnExec(above))
}

// copyDescriptor copies fd to a number that is in nobody's way; it passes over the
// absence of one.
func copyDescriptor(fd int) Call {
	c := Call{Name: "copy descriptors", NR: unix.SYS_FCNTL, Args: []Arg{
		number(fd), number(unix.F_DUPFD_CLOEXEC), number(firstSpareFD),
	}}
	if fd < 0 {
		c.Allow = unix.EBADF
	}
	return c
}

// closeOnExec closes every descriptor from first on when the next program is executed.
func closeOnExec(first int) Call {
	return Call{Name: "close descriptors", NR: unix.SYS_CLOSE_RANGE, Args: []Arg{
		number(first), number(uint32(math.MaxUint32)), number(unix.CLOSE_RANGE_CLOEXEC),
	}}
}

// fdOf gives the number of a file without taking it out of the poller.
func fdOf(f *os.File) int {
	fd := -1
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(n uintptr) { fd = int(n) })
	}
	return fd
}

// reapFailed waits for a child whose list failed; it has ended already.
func reapFailed(pidfd int) {
	if pidfd >= 0 {
		_ = waitEnd(pidfd)
		unix.Close(pidfd)
	}
}

func (s *starter) closeLent() {
	closeFDs(s.lent...)
	s.lent = nil
}

func closeFDs(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func (s *starter) closeOwn() {
	closeFDs(s.control, s.status)
	s.memory.release(false)
	if s.guard != nil {
		s.guard.close() // nothing of the command has run
	}
	for _, f := range []*os.File{s.users, s.net} {
		if f != nil {
			f.Close()
		}
	}
	if s.group != nil {
		s.group.killed.Store(true)
		_ = s.group.home.put(s.group) // it holds no process that lives on
	}
}

// startError gives a failed step the reason a caller can act on.
func startError(err error) error {
	e := &durward.Error{Reason: durward.SandboxError, Op: "start", Hint: "run durward doctor", Err: err}
	var step *StepError
	if !errors.As(err, &step) {
		return e
	}
	e.Rule = step.Step
	if step.Errno == unix.E2BIG {
		e.Reason = durward.ArgTooLong
		e.Hint = "pass less in arguments and environment; the rest can go through the input"
		return e
	}
	switch step.Step {
	case stepReadDir:
		e.Reason = durward.DirUnreadable
		e.Hint = "make the directory readable for the user the command runs as (chmod o+rx), give it another owner, or run durward as its owner"
	case stepExecute:
		e.Reason = durward.ProgramNotExecutable
		e.Hint = "check that the file is a program for this machine, or a script whose interpreter exists, and that the user the command runs as may execute it"
	}
	return e
}
