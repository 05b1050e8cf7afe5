//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
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
	s := newStarter(p)
	s.request, s.stdio, s.began = r, stdio, monotonic()
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
	plan    *Plan // of this call alone
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
	mounts  *os.File  // its mount namespace at level 2, or nil
	owners  *os.File  // the user namespace by which files change their owners, or nil; it is not ours
	kept    *keptRoom // the room that it gets a copy of, or nil
	guard   *guard    // nil where nothing is to be watched
	ways    []Way     // out of the network namespace
	copies  []Copy    // of what can be written
	hand    int       // where these are handed over, or -1

	rules *landlock.Ruleset // of level 1, or nil

	// Of a spare in which the command's process waits: where it does, or -1, and the root
	// of its room.
	call int
	root *os.File
	rest []byte // what such a one is to be told
}

func newStarter(p Plan) *starter {
	return &starter{plan: &p, control: -1, status: -1, hand: -1, call: -1}
}

func (s *starter) start(ctx context.Context, h Host) (*Process, error) {
	if err := s.guardFor(); err != nil {
		return nil, err
	}
	pid, pidfd, err := s.firstProcess(ctx, h)
	if err != nil {
		reapFailed(pidfd)
		return nil, err
	}
	if err := s.takeHanded(h); err != nil {
		kill(pidfd) // it is process 1 of the call
		reapFailed(pidfd)
		return nil, err
	}
	if s.mounts == nil {
		s.holdMounts(pid)
	}
	proc := &Process{
		plan: s.plan, eager: s.plan.follow, pid: pid, pidfd: pidfd, control: s.control, status: s.status, group: s.group, memory: s.memory,
		users: s.users, net: s.net, mounts: s.mounts, guard: s.guard, spares: s.request.Spares, ways: s.ways, copies: s.copies, host: h,
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
func (s *starter) firstProcess(ctx context.Context, h Host) (pid, pidfd int, err error) {
	r := s.spare()
	if r != nil && r.key.prepared {
		if s.instruct(r) {
			return r.pid, r.pidfd, nil
		}
		r = nil
	}
	place, memory, born, err := s.equip([]placement{
		{fdOf(s.stdio.Stdin), 0},
		{fdOf(s.stdio.Stdout), 1},
		{fdOf(s.stdio.Stderr), 2},
		{fdOf(s.request.Program.file), reaperProgramFD},
	}, h)
	switch {
	case err != nil && r != nil:
		r.close()
		fallthrough
	case err != nil:
		return -1, -1, err
	case r != nil && s.instruct(r):
		return r.pid, r.pidfd, nil
	}
	if s.plan.apart {
		more, err := s.furnish(h)
		if err != nil {
			return -1, -1, err
		}
		place = append(place, more...)
		defer h.rooms.give(s.kept)
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
	list := s.shared(memory, place, reaper)
	if s.plan.copied {
		return spawnCopy(ctx, s.namespaces(), born, list)
	}
	return spawn(ctx, s.namespaces(), born, list)
}

// equip takes what a call of the plan lives in, and adds its descriptors. It gives the
// calls by which the process enters it, and the cgroup to be born in.
func (s *starter) equip(place []placement, h Host) (all []placement, enter []Call, born int, err error) {
	born = -1
	if s.plan.Containment == Cgroup {
		if s.group, err = h.cgroups.take(s.memoryLimit()); err != nil {
			return nil, nil, born, err
		}
		if !s.plan.direct { // it is the reaper that kills
			place = append(place, placement{fdOf(s.group.kill), reaperKillFD})
		}
		born = fdOf(s.group.dir)
	}
	if s.plan.rules != nil {
		if s.rules, err = h.rules.Take(*s.plan.rules); err != nil {
			return nil, nil, born, err
		}
		place = append(place, placement{s.rules.FD(), reaperRulesFD})
	}
	if s.plan.users {
		if s.users, err = h.users.take(account{s.plan.UID, s.plan.GID}); err != nil {
			return nil, nil, born, err
		}
		place = append(place, placement{fdOf(s.users), reaperUsersFD})
	}
	if enter, born, err = s.bound(born, h); err != nil {
		return nil, nil, born, err
	}
	place, err = s.openHand(place)
	return place, enter, born, err
}

// holdMounts keeps the mount namespace of a call beyond its last process, whose end would
// otherwise wait until all is taken down. Where that is not to be had, it does.
func (s *starter) holdMounts(pid int) {
	if s.plan.apart && ownProc() {
		s.mounts, _ = os.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	}
}

// ownProc reports whether numbers of processes mean in /proc what they mean to us: it may be
// that of another process-id space.
var ownProc = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
})

var errForeignProc = errors.New("/proc is that of another process-id space: mount our own there (unshare --mount-proc)")

// monotonic reads the clock that the command's process reads, too.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail
	return time.Duration(t.Nano())
}

// reaperPipes makes the reaper's two pipes and writes the block, which waits in the
// pipe until the reaper reads it.
func (s *starter) reaperPipes() ([]placement, error) {
	first := len(s.lent)
	if err := s.pipe(&s.status, fromChild, 0); err != nil {
		return nil, err
	}
	if err := s.pipe(&s.control, toChild, unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	if _, err := unix.Write(s.control, s.plan.block.text); err != nil {
		return nil, err
	}
	place := []placement{{s.lent[first], reaperStatusFD}, {s.lent[first+1], reaperControlFD}}
	if !s.plan.waits {
		return place, nil
	}
	return s.startPipe(place)
}

// startPipe makes the pipe that ends when the program is executed.
func (s *starter) startPipe(place []placement) ([]placement, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	s.lent = append(s.lent, p[:]...)
	return append(place, placement{p[0], reaperWaitFD}, placement{p[1], reaperHoldFD}), nil
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
func (s *starter) shared(memory []Call, place []placement, reaper int) []Call {
	var dir, tree []Call
	if !s.plan.apart {
		dir = []Call{{Name: "enter the working directory", NR: unix.SYS_FCHDIR, Args: []Arg{number(fdOf(s.request.Dir))}}}
	} else {
		tree = s.tree()
	}
	last := s.plan.Command
	if !s.plan.direct {
		last = []Call{executeReaper(s.plan.argv, s.plan.env)}
	}
	return slices.Concat(memory, defaultSignals(), dir, s.plan.Share, placed(place, reaper), tree, s.plan.Own, last)
}

// tree is what makes the tree of files, as far as the machine's root is there.
func (s *starter) tree() []Call {
	var net []Call
	if s.net != nil {
		net = []Call{enterNet()}
	}
	room := s.plan.Room
	if s.kept != nil {
		room = s.plan.Enter
	}
	return slices.Concat(net, s.plan.Sources, room)
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
	above := 0
	for _, p := range place {
		above = max(above, p.number+1)
	}
	if reaper >= 0 {
		place = append(slices.Clip(place), placement{reaper, reaperSelfFD})
	}
	if !slices.ContainsFunc(place, func(p placement) bool { return p.fd < firstSpareFD }) {
		return append(placedAtOnce(place), closeOnExec(above))
	}
	calls := make([]Call, 0, 2*len(place)+1)
	args := make([]Arg, 0, 6*len(place)) // of all of them
	for _, p := range place {
		args = append(args, number(p.fd), number(unix.F_DUPFD_CLOEXEC), number(firstSpareFD))
		calls = append(calls, Call{Name: "copy descriptors", NR: unix.SYS_FCNTL, Args: args[len(args)-3:]})
		if p.fd < 0 {
			calls[len(calls)-1].Allow = unix.EBADF // there is none
		}
	}
	for _, p := range place {
		args = append(args, result(len(place)), number(p.number), number(0))
		calls = append(calls, Call{Name: "place descriptors", NR: unix.SYS_DUP3, Args: args[len(args)-3:]})
	}
	return append(calls, closeOnExec(above))
}

// placedAtOnce is for descriptors none of which stands where another one is to go, as it is in a
// program that has more than a few.
func placedAtOnce(place []placement) []Call {
	calls := make([]Call, len(place), len(place)+1)
	args := make([]Arg, 0, 3*len(place)) // of all of them
	for i, p := range place {
		args = append(args, number(p.fd), number(p.number), number(0))
		calls[i] = Call{Name: "place descriptors", NR: unix.SYS_DUP3, Args: args[len(args)-3:]}
	}
	return calls
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
	if s.rules != nil {
		s.rules.Close()
		s.rules = nil
	}
}

func closeFDs(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func (s *starter) closeOwn() {
	closeFDs(s.control, s.status, s.hand, s.call)
	closeWays(s.ways)
	for _, c := range s.copies {
		c.Close()
	}
	s.memory.release(false)
	if s.guard != nil {
		s.guard.close() // nothing of the command has run
	}
	for _, f := range []*os.File{s.users, s.net, s.mounts, s.root} {
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
	if step.Errno == unix.ENOSYS && step.Step != stepClone && lacksOpenat2() {
		e.Reason, e.Hint = durward.SandboxUnavailable, openat2Hint
		return e
	}
	if strings.HasPrefix(step.Step, stepListen) {
		e.Reason, e.Hint = durward.SandboxUnavailable, "leave what it is for out of network.allow, or use a machine whose network namespaces can have it"
		return e
	}
	if strings.HasPrefix(step.Step, stepCopy) {
		e.Reason, e.Hint = durward.SandboxUnavailable, "leave copyOnWrite out, or use a file system and a kernel whose overlayfs can have it"
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

// stepClone is the making of the first process.
const stepClone = "clone"

const openat2Hint = "use Linux 5.6 or newer, and allow openat2 in the seccomp filter around durward (a unit of systemd: without RestrictSUIDSGID, and without DynamicUser, which brings it)"

// lacksOpenat2 reports whether this process has no openat2, by which files are found without
// following a link.
func lacksOpenat2() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err == nil {
		unix.Close(fd)
	}
	return err == unix.ENOSYS
}
