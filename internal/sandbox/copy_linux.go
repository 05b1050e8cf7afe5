//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where no child may share our memory, as under an emulator or a filter around us that
// refuses CLONE_VFORK, the first process of a call is a plain fork. It runs the same list
// with the same instructions, in a copy of our memory. To copy the page tables takes time,
// the more the larger we are; nothing else is lost. The standard library would not do
// instead: its processes are made with CLONE_VFORK, too. What level 1 and 2 hold a command to is
// put on by calls of that list and of the reaper's, never by a thread of ours, so neither
// level needs anything else here.

// tryShared has a child that shares our memory fail, and sees that we are told by it.
func tryShared() error {
	fails := Call{Name: "close nothing", NR: unix.SYS_CLOSE, Args: []Arg{number(-1)}}
	_, pidfd, err := spawn(context.Background(), 0, -1, []Call{fails})
	reapFailed(pidfd)
	var step *StepError
	if errors.As(err, &step) && step.Step == fails.Name {
		return nil
	}
	if err == nil {
		err = errors.New("a child that was to share our memory had a copy of it")
	}
	return err
}

// spawnEither is for whoever does an errand of ours: it is made by spawn where that is
// possible.
func spawnEither(cgroup int, list []Call) (pid, pidfd int, err error) {
	pid, pidfd, err = spawn(context.Background(), 0, cgroup, list)
	if pid < 0 {
		return spawnCopy(context.Background(), 0, cgroup, list)
	}
	return pid, pidfd, err
}

// spawnCopy promises what spawn does. The child waits for a word from us before it runs
// the list: until then it cannot have ended, and its number is nobody else's.
func spawnCopy(ctx context.Context, flags uintptr, cgroup int, list []Call) (pid, pidfd int, err error) {
	// All that the child changes is its own, but for this page, where it says what failed.
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return -1, -1, err
	}
	defer func() { _ = unix.Munmap(page) }() // it was mapped
	call := (*vforkCall)(unsafe.Pointer(unsafe.SliceData(page)))
	call.nr, call.args, call.block = syscall.SYS_CLONE, [5]uintptr{uintptr(unix.SIGCHLD) | flags}, ^uint64(0)
	pid, list, end, err := forkCopy(call, cgroup, list)
	if err != nil {
		return -1, -1, err
	}
	defer unix.Close(end)
	if pidfd, err = handleOf(pid); err != nil {
		return -1, -1, err
	}
	if !during(ctx, func() { kill(pidfd) }, func() { letGo(end) }) {
		kill(pidfd)
		return pid, pidfd, context.Cause(ctx)
	}
	if call.failErrno != 0 {
		return pid, pidfd, &StepError{Step: list[call.failStep].Name, Errno: unix.Errno(call.failErrno)}
	}
	return pid, pidfd, nil
}

// handleOf gives a descriptor of a child that waits; without one, the child is ended.
func handleOf(pid int) (pidfd int, err error) {
	pidfd, err = unix.PidfdOpen(pid, 0)
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL) // it waits, or is not reaped
		_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
		return -1, fmt.Errorf("pidfd_open: %w", err)
	}
	return pidfd, nil
}

// forkCopy makes the child of a call, and gives its whole list and our end of a socket. The
// other one is the child's alone, so that it closes when the child executes a program:
// nothing is forked while we hold it.
func forkCopy(call *vforkCall, cgroup int, list []Call) (pid int, whole []Call, end int, err error) {
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, nil, -1, err
	}
	its, err := unix.FcntlInt(uintptr(ends[1]), unix.F_DUPFD_CLOEXEC, beyond(list))
	closeFDs(ends[1])
	if err != nil {
		closeFDs(ends[0])
		return -1, nil, -1, err
	}
	defer closeFDs(its)
	whole = append(awaitWord(its, ends[0], cgroup), list...)
	code, addr := assembleHere(whole)
	call.list = addr
	pid = vforkBlocking(call)
	runtime.KeepAlive(code)
	arenas.Put(code)
	if pid < 0 {
		closeFDs(ends[0])
		return -1, nil, -1, &StepError{Step: stepClone, Errno: unix.Errno(-pid)}
	}
	return pid, whole, ends[0], nil
}

// beyond gives a number that is in the way of none that a list gives to descriptors.
func beyond(list []Call) int {
	above := firstSpareFD
	for _, c := range list {
		if c.NR == unix.SYS_DUP3 {
			above = max(above, int(c.Args[1].n)+1)
		}
	}
	return above
}

// awaitWord is what the child does before its list. What it writes fails when we are dead:
// then nobody has let it go. It enters a cgroup by itself, since clone3 is refused by many a
// filter.
func awaitWord(its, ours, cgroup int) []Call {
	const wait, enter = "wait for the runtime", "enter the cgroup"
	calls := []Call{
		{Name: wait, NR: unix.SYS_CLOSE, Args: []Arg{number(ours)}},
		{Name: wait, NR: unix.SYS_READ, Args: []Arg{number(its), data(make([]byte, 1)), number(1)}},
		{Name: wait, NR: unix.SYS_WRITE, Args: []Arg{number(its), text("."), number(1)}},
	}
	if cgroup < 0 {
		return calls
	}
	return append(calls,
		Call{Name: enter, NR: unix.SYS_OPENAT, Args: []Arg{number(cgroup), text("cgroup.procs"), number(unix.O_WRONLY | unix.O_CLOEXEC)}},
		Call{Name: enter, NR: unix.SYS_WRITE, Args: []Arg{result(1), text("0"), number(1)}},
	)
}

// letGo gives the child the word, and returns when it has executed a program or ended.
func letGo(end int) {
	word := []byte{0}
	if err := unix.Sendto(end, word, unix.MSG_NOSIGNAL, nil); err != nil {
		return // it has ended
	}
	for {
		n, err := unix.Read(end, word)
		if n <= 0 && err != unix.EINTR {
			return
		}
	}
}
