//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// A Plan is all that will be done to start one command: pure data.
type Plan struct {
	Containment Containment
	// Namespaces are the clone flags of the first process.
	Namespaces uintptr
	// Share is run by the process that still shares our memory; it ends by executing the
	// reaper, or the command itself where there is no reaper. At level 2 Sources, Room and
	// Own make the tree of files of the call before that, when the descriptors stand where
	// they should; where the room of an earlier call is kept, Enter takes the place of Room.
	Share, Sources, Room, Own, Enter []Call
	// Before and After are run by the reaper on either side of the fork, Command by
	// the command's process, End by the reaper when the call is over.
	Before, Command, After, End []Call
	// Report is what holds once every call of the plan has succeeded.
	Report durward.Report

	// UID and GID are whom the command runs as, in the numbers of our own namespace.
	UID, GID uint32

	shape     shape // what it was compiled from
	argv, env []string
	copies    []place   // of what can be written
	ways      []way     // out of the network namespace
	watched   []guarded // what has to stay as it is while the command runs
	copied    bool      // the first process is a copy of ours
	waits     bool      // the reaper waits on a pipe for the start of the command
	follow    bool      // the start is waited for, and the end told at once
	direct    bool      // no reaper: the command is our own child
	block     block     // what the reaper is told
	// warm is what a spare reaper is told; nil where none will do. One for key does.
	warm *warmStart
	key  shape
	// ahead is what a spare has done of Own before there is a call, and then the rest.
	ahead, then []Call
	keepsStore  bool // the rest needs the private file system
	memory      memoryKind
	users       bool            // the command enters a user namespace that is kept
	owners      bool            // some of what is root's is to look like the command's
	ownNet      bool            // the call enters a network namespace that is kept
	freshNet    bool            // the call enters a network namespace that nobody has lived in, if one is ready
	apart       bool            // the command has a tree of files of its own
	rules       *landlock.Rules // of level 1, for this call
	// Scratch is whether the private directory of the request is used, and has to be made.
	Scratch bool
}

// String prints the plan, one call to a line.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "containment %s, level %d, user %d, namespaces %s%s\n", p.Containment, p.Report.Level, p.Report.Identity.Host, p.namespaces(), p.birth())
	if p.rules != nil {
		for line := range strings.Lines(p.rules.String()) {
			b.WriteString("landlock " + line)
		}
	}
	for _, part := range []struct {
		name  string
		calls []Call
	}{{"share", p.Share}, {"sources", p.Sources}, {"room", p.Room}, {"own", p.Own}, {"before", p.Before}, {"command", p.Command}, {"after", p.After}, {"end", p.End}} {
		for _, c := range part.calls {
			fmt.Fprintf(&b, "%-8s %s\n", part.name, c)
		}
	}
	return b.String()
}

// compile gives the plan of all calls of a shape.
func compile(s shape, v view) (Plan, error) {
	p := Plan{
		shape: s, Containment: s.containment, UID: s.id.uid, GID: s.id.gid, memory: s.memory, follow: s.follow, copied: s.copied,
		direct: s.containment == Cgroup && !s.id.change,
		users:  s.ownUsers && s.own.uid == 0,
		owners: v.owned(),
		apart:  s.isolates(),
		ways:   v.ways,
		copies: v.layered(),
		ownNet: s.keepsNet(), freshNet: s.listens() && s.own.uid == 0,
	}
	p.Namespaces, p.Share = s.firstProcess()
	if s.isolates() {
		p.Sources, p.Room, p.Enter = v.sources(), v.room(), enterRoom()
		p.ahead, p.then = s.private(v)
		p.Own = slices.Concat(p.ahead, p.then)
		if v.hands() {
			p.Own = append(p.Own, shut("let go of what was handed over", roomHandFD, roomHandFD))
		}
		if s.listens() {
			p.Sources = append(loopback(), p.Sources...)
		}
	}
	if !p.direct {
		p.waits = s.waitsForStart()
		p.Before = s.reaperBefore()
		p.After = s.reaperAfter()
	}
	if p.Containment == Cgroup {
		p.End = []Call{{Name: "kill the cgroup", NR: unix.SYS_WRITE, Args: []Arg{number(reaperKillFD), text("1"), number(1)}, Allow: AnyError}}
	}
	p.Command = slices.Concat(s.first(p.direct), s.restrained(), s.calledFor())
	if !p.direct {
		p.Command = append(p.Command, s.noteTime(), execute(s.script, reaperArgv(), reaperEnvp()))
	}
	var err error
	if p.Report, err = s.report(); err != nil || p.direct {
		return p, err
	}
	if p.block, err = p.told(s); err != nil || !s.suitsSpare(v) {
		return p, err
	}
	p.keepsStore = v.keepsStore()
	s.prepared = p.apart && !v.covered()
	p.key = s.key()
	p.warm, err = p.warmStart(s)
	return p, err
}

// retell has the reaper told what a changed plan says.
func (p *Plan) retell() (err error) {
	if !p.direct {
		p.block, err = p.told(p.shape)
	}
	return err
}

// told gives what the reaper is told.
func (p Plan) told(s shape) (block, error) {
	return reaperLists{
		before: p.Before, command: p.Command, after: p.After, end: p.End,
		cloneFlags: s.howToFork(), eager: s.follow, noted: s.notedAt(), linger: s.linger, outlive: s.outlive, sweep: s.containment == Subreaper,
	}.encode()
}

// howToFork gives the clone flags of the command's process. It has the reaper's memory,
// which costs less than a copy, and the reaper waits until it is executed: to the kernel
// two who share their memory and run are one when it looks for somebody to kill.
// A reaper that nobody else can stand in for may not wait, but for a start that is waited
// for.
func (s shape) howToFork() uintptr {
	switch {
	case s.copied: // what is refused to us is refused to the reaper
	case s.prepared: // the reaper does what it has to meanwhile
	case s.containment != Subreaper:
		return uintptr(unix.SIGCHLD | unix.CLONE_VM | unix.CLONE_VFORK)
	case s.follow:
		return uintptr(unix.SIGCHLD | unix.CLONE_VFORK)
	}
	return uintptr(unix.SIGCHLD)
}

// forksCopy reports whether the command's process has a copy of the reaper's memory.
func (s shape) forksCopy() bool { return s.copied || s.prepared || s.containment == Subreaper }

// waitsForStart reports whether the reaper has to be told that the program was executed.
func (s shape) waitsForStart() bool { return s.follow && (s.copied || s.prepared) }

// first has the kernel look here, before it looks at us, for somebody to kill when
// memory runs out: whatever the call's own limit, a cgroup around us or the machine may
// have less to give. To ask for that takes no privilege, but the process's own files,
// which a hidden one does not own; root does not need to, and what shares our own memory
// is not hidden. Only root keeps the command from taking it back.
func (s shape) first(direct bool) []Call {
	const name, most = "be killed before the runtime", "1000"
	if !s.victim {
		return nil
	}
	dir, file := number(unix.AT_FDCWD), victimFile
	if s.isolates() {
		dir, file = number(reaperProcFD), strings.TrimPrefix(victimFile, "/proc/")
	}
	calls := []Call{
		{Name: name, NR: unix.SYS_OPENAT, Args: []Arg{dir, text(file), number(unix.O_WRONLY | unix.O_CLOEXEC)}},
		{Name: name, NR: unix.SYS_WRITE, Args: []Arg{result(1), text(most), number(len(most))}},
	}
	if direct || s.own.uid == 0 {
		return calls
	}
	dumpable := func(n int) Call {
		return Call{Name: name, NR: unix.SYS_PRCTL, Args: []Arg{number(unix.PR_SET_DUMPABLE), number(n)}}
	}
	return append(append([]Call{dumpable(1)}, calls...), dumpable(0))
}

// firstProcess gives the namespaces of the first process and what it does while it
// shares our memory. Without privilege any namespace needs a user namespace around it;
// the maps are written before any program runs in it.
func (s shape) firstProcess() (uintptr, []Call) {
	if s.containment != PIDNamespace {
		return 0, nil
	}
	namespaces := uintptr(unix.CLONE_NEWPID)
	if s.isolates() {
		namespaces |= unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
		if s.network != durward.NetFull && !s.keepsNet() {
			namespaces |= unix.CLONE_NEWNET
		}
	}
	if s.own.uid == 0 {
		return namespaces, nil
	}
	return namespaces | unix.CLONE_NEWUSER, idMaps(s.own)
}

// listens reports whether the call has a loopback of its own.
func (s shape) listens() bool {
	return s.isolates() && (s.network == durward.NetLoopback || s.network == durward.NetAllowlist)
}

// keepsNet reports whether the call's network namespace is one that is kept.
func (s shape) keepsNet() bool {
	return s.isolates() && s.network == durward.NetNone && s.own.uid == 0
}

// loopback makes the interface of a network namespace work.
func loopback() []Call {
	const name = "loopback network"
	request := append(make([]byte, 0, 40), "lo"...)
	request = binary.NativeEndian.AppendUint16(request[:16], unix.IFF_UP)
	return []Call{
		{Name: name, NR: unix.SYS_SOCKET, Args: []Arg{number(unix.AF_INET), number(unix.SOCK_DGRAM | unix.SOCK_CLOEXEC), number(0)}},
		{Name: name, NR: unix.SYS_IOCTL, Args: []Arg{result(1), number(unix.SIOCSIFFLAGS), data(request[:40])}},
	}
}

// namespaces names those that the first process makes, and the one that it only enters.
func (p Plan) namespaces() string {
	if p.ownNet {
		return namespaceNames(p.Namespaces) + ", an empty net"
	}
	return namespaceNames(p.Namespaces)
}

// birth says how the first process is made, where that is not as usual.
func (p Plan) birth() string {
	if p.copied {
		return ", forked"
	}
	return ""
}

// namespaceNames lists what clone makes, as unshare(1) does.
func namespaceNames(flags uintptr) string {
	var names []string
	for _, n := range []struct {
		flag uintptr
		name string
	}{
		{unix.CLONE_NEWUSER, "user"},
		{unix.CLONE_NEWNS, "mount"},
		{unix.CLONE_NEWPID, "pid"},
		{unix.CLONE_NEWIPC, "ipc"},
		{unix.CLONE_NEWUTS, "uts"},
		{unix.CLONE_NEWNET, "net"},
	} {
		if flags&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "+")
}

// idMaps makes the user and group known in the user namespace that the process was born
// in.
func idMaps(of account) []Call {
	var calls []Call
	for _, m := range accountMaps(of) {
		name := "own user namespace: " + m.file
		calls = append(calls,
			Call{Name: name, NR: unix.SYS_OPENAT, Args: []Arg{number(unix.AT_FDCWD), text("/proc/self/" + m.file), number(unix.O_WRONLY | unix.O_CLOEXEC)}},
			Call{Name: name, NR: unix.SYS_WRITE, Args: []Arg{result(1), data([]byte(m.content)), number(len(m.content))}},
		)
	}
	return calls
}

func (s shape) reaperBefore() []Call {
	calls := []Call{
		// Whoever kills our process group does not kill it. A session would cost more.
		{Name: "reaper's own process group", NR: unix.SYS_SETPGID, Args: []Arg{number(0), number(0)}},
		{Name: "hide the reaper from ptrace", NR: unix.SYS_PRCTL, Args: []Arg{number(unix.PR_SET_DUMPABLE), number(0)}},
		{Name: "wait for children", NR: unix.SYS_SIGNALFD4, Args: []Arg{
			number(-1), signalSet(unix.SIGCHLD), number(8), number(unix.SFD_NONBLOCK | unix.SFD_CLOEXEC),
		}},
		{Name: "wait for children", NR: unix.SYS_DUP3, Args: []Arg{result(1), number(reaperSignalFD), number(unix.O_CLOEXEC)}},
	}
	if s.forksCopy() {
		calls = append(calls, Call{Name: "share a page", NR: unix.SYS_MMAP, Args: []Arg{
			number(reaperShared), named("a page", os.Getpagesize()), number(unix.PROT_READ | unix.PROT_WRITE),
			number(unix.MAP_SHARED | unix.MAP_ANONYMOUS | unix.MAP_FIXED), number(-1), number(0),
		}})
	}
	if s.containment != PIDNamespace {
		calls = append(calls, Call{Name: "adopt orphans", NR: unix.SYS_PRCTL, Args: []Arg{number(unix.PR_SET_CHILD_SUBREAPER), number(1)}})
	}
	return calls
}

func ownSession(name string) Call { return Call{Name: name, NR: unix.SYS_SETSID} }

func (s shape) reaperAfter() []Call {
	calls := []Call{shut("let go of the streams", 0, 2)}
	if s.prepared {
		calls = append(calls, Call{Name: "let go of the call", NR: unix.SYS_CLOSE, Args: []Arg{number(reaperCallFD)}})
	} else {
		calls = append(calls, Call{Name: "let go of the program", NR: unix.SYS_CLOSE, Args: []Arg{number(reaperProgramFD)}})
	}
	if s.isolates() {
		calls = append(calls, Call{Name: "let go of the machine's /proc", NR: unix.SYS_CLOSE, Args: []Arg{number(reaperProcFD)}})
	}
	if s.waitsForStart() {
		calls = append(calls, waitForStart()...)
	}
	return calls
}

// waitForStart waits until nobody else holds the end of a pipe that closes when the program
// is executed, or the process that was to do it ends: then it has said why. The end of the
// control pipe ends that wait, too.
func waitForStart() []Call {
	const name = "wait for the start"
	return []Call{
		{Name: name, NR: unix.SYS_CLOSE, Args: []Arg{number(reaperHoldFD)}},
		{Name: name, NR: unix.SYS_PPOLL, Args: []Arg{data(polled(reaperWaitFD, reaperControlFD)), number(2), number(0), number(0), number(0)}},
		{Name: name, NR: unix.SYS_CLOSE, Args: []Arg{number(reaperWaitFD)}},
	}
}

// polled are descriptors as ppoll takes them, for what can be read.
func polled(fds ...int) []byte {
	var list []byte
	for _, fd := range fds {
		list = binary.NativeEndian.AppendUint32(list, uint32(fd))
		list = binary.NativeEndian.AppendUint16(list, unix.POLLIN)
		list = binary.NativeEndian.AppendUint16(list, 0)
	}
	return list
}

// restrained is what happens in the command's own process, whatever the command: its own
// session, the drop of privilege, and what level 1 adds.
func (s shape) restrained() []Call {
	calls := []Call{
		ownSession("own session"),
		{Name: "umask", NR: unix.SYS_UMASK, Args: []Arg{number(0o077)}},
		{Name: "nice", NR: unix.SYS_SETPRIORITY, Args: []Arg{number(unix.PRIO_PROCESS), number(0), number(0)}, Allow: unix.EACCES},
	}
	if s.keyrings {
		calls = append(calls, Call{Name: "own session keyring", NR: unix.SYS_KEYCTL, Args: []Arg{number(unix.KEYCTL_JOIN_SESSION_KEYRING), number(0)}})
	}
	if s.id.change {
		calls = append(calls, dropCalls(s.id, s.ownUsers)...)
	}
	calls = append(calls, Call{Name: "unblock signals", NR: unix.SYS_RT_SIGPROCMASK, Args: []Arg{number(sigSetMask), signalSet(), number(0), number(8)}})
	return append(calls, s.confine()...)
}

// calledFor is what follows from the call alone, in a process that has given up all it has
// to. The command can perhaps not work in the directory that it was put into: an identity
// that was taken has to be able to read it, our own to enter it.
func (s shape) calledFor() []Call {
	needed := unix.X_OK
	if s.id.change {
		needed |= unix.R_OK
	}
	calls := []Call{{Name: stepReadDir, NR: unix.SYS_FACCESSAT, Args: []Arg{number(unix.AT_FDCWD), text("."), number(needed)}}}
	if s.terminal {
		calls = append(calls, Call{Name: "controlling terminal", NR: unix.SYS_IOCTL, Args: []Arg{number(0), number(unix.TIOCSCTTY), number(0)}})
	}
	calls = append(calls, s.limitCalls()...)
	if s.ownUsers {
		calls = append(calls, s.limit("process count", unix.RLIMIT_NPROC, s.processLimit())...)
	}
	return append(calls, closeOnExec(3))
}

// noteTime is the last but one.
func (s shape) noteTime() Call {
	return Call{Name: "note the time", NR: unix.SYS_CLOCK_GETTIME, Args: []Arg{number(unix.CLOCK_MONOTONIC), number(s.notedAt())}}
}

// processLimit counts the reaper too where it lives in the same user namespace.
func (s shape) processLimit() int64 {
	if s.own.uid != 0 {
		return s.limits.Pids + 1
	}
	return s.limits.Pids
}

// dropCalls changes to the identity, in its user namespace if it has one. Nobody but root
// may enter the namespace; what that gives is gone when the program is executed.
func dropCalls(id identity, ownUsers bool) []Call {
	u, g := number(id.uid), number(id.gid)
	calls := []Call{{Name: "give up groups", NR: unix.SYS_SETGROUPS, Args: []Arg{number(0), number(0)}}}
	if ownUsers {
		calls = append(calls, Call{Name: "own user namespace", NR: unix.SYS_SETNS, Args: []Arg{number(reaperUsersFD), number(unix.CLONE_NEWUSER)}})
	}
	return append(calls,
		Call{Name: "become the group", NR: unix.SYS_SETRESGID, Args: []Arg{g, g, g}},
		Call{Name: "become the user", NR: unix.SYS_SETRESUID, Args: []Arg{u, u, u}},
	)
}

const stepReadDir = "read the working directory"

func (s shape) limitCalls() []Call {
	calls := s.limit("core size", unix.RLIMIT_CORE, 0)
	for _, r := range []struct {
		name     string
		resource int
		value    int64
	}{
		{"open files", unix.RLIMIT_NOFILE, s.limits.OpenFiles},
		{"file size", unix.RLIMIT_FSIZE, s.limits.FileSize},
		{"address space", unix.RLIMIT_AS, s.limits.AddressSpace},
		{"processor time", unix.RLIMIT_CPU, wholeSeconds(s.limits.CPU)},
	} {
		if r.value > 0 {
			calls = append(calls, s.limit(r.name, r.resource, r.value)...)
		}
	}
	return calls
}

// wholeSeconds rounds up: the kernel counts seconds, and ours is the outer limit.
func wholeSeconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d + time.Second - 1) / time.Second)
}

// limit sets both values of a resource limit, never above what the runtime has.
func (s shape) limit(name string, resource int, value int64) []Call {
	if value < 0 {
		return nil
	}
	return []Call{setLimit(name, resource, min(uint64(value), s.most[resource]))}
}

// setLimit sets both values of a resource limit.
func setLimit(name string, resource int, v uint64) Call {
	pair := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, v), v)
	return Call{Name: name, NR: unix.SYS_PRLIMIT64, Args: []Arg{number(0), number(resource), data(pair), number(0)}}
}

const sigSetMask = 2

func signalSet(signals ...unix.Signal) Arg {
	var set uint64
	for _, s := range signals {
		set |= 1 << (uint(s) - 1)
	}
	return data(binary.NativeEndian.AppendUint64(nil, set))
}

// execute is the last call: it executes the opened file itself, or a script by the
// path it was opened by.
func execute(script string, argv, envp Arg) Call {
	if script != "" {
		return Call{Name: stepExecute, NR: unix.SYS_EXECVE, Args: []Arg{text(script), argv, envp}}
	}
	return Call{Name: stepExecute, NR: unix.SYS_EXECVEAT, Args: []Arg{number(reaperProgramFD), text(""), argv, envp, number(unix.AT_EMPTY_PATH)}}
}

const stepExecute = "execute the program"
