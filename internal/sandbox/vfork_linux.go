//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe" // for go:linkname, too

	"golang.org/x/sys/unix"
)

// A vforkCall is what the assembly of vfork reads and writes. It lives on the heap:
// a child that shares our memory holds addresses inside it.
type vforkCall struct {
	nr   uintptr // clone or clone3
	args [5]uintptr
	list uintptr // run by the child; its last step executes a program
	// block is the mask during the call, mask the one that was in force before.
	block uint64
	//lint:ignore U1000 the assembly keeps it
	mask uint64
	// failStep and failErrno are written by a child whose step failed.
	failStep, failErrno uintptr

	clone3 clone3Args
	pidfd  int32
}

// clone3Args is struct clone_args of the kernel.
type clone3Args struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// vfork starts a child that shares our memory and runs call.list, and returns when
// the child has executed a program or ended. It gives the process id, or a negated
// error number when no child was made. The calling thread is stopped meanwhile, with
// every signal blocked; the child never runs Go code, so none of the runtime's state
// has to be guarded.
func vfork(call *vforkCall) (pid int)

// vforkBlocking tells the scheduler that the thread may be away for long, as any
// system call does: somebody may hold the program's file back from being executed.
//
//go:nosplit
//go:norace
func vforkBlocking(call *vforkCall) (pid int) {
	entersyscall()
	pid = vfork(call)
	exitsyscall()
	return pid
}

// Package runtime keeps these two reachable for code that makes system calls itself.
//
//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// Memory is shared with the child instead of copied because copying the page tables
// of a large process takes milliseconds.
const (
	vforkFlags      = syscall.CLONE_VM | syscall.CLONE_VFORK | clonePidfd
	clonePidfd      = 0x1000
	cloneIntoCgroup = 0x200000000
	sysClone3       = 435
)

// spawn runs a list of calls in a new process and gives its id and a descriptor for
// it. The namespaces to make are in flags. When cgroup is not negative, the child is
// born in the cgroup that this descriptor names.
//
// When ctx ends while the child is on its way, the child is killed. When that happens
// or a call fails, the child still waits to be reaped, so pidfd is valid together with
// the error.
func spawn(ctx context.Context, flags uintptr, cgroup int, list []Call) (pid, pidfd int, err error) {
	code, addr := assembleHere(list)
	call := &vforkCall{block: ^uint64(0), list: addr, pidfd: -1}
	pidfdAddr := uintptr(unsafe.Pointer(&call.pidfd))
	if cgroup < 0 {
		call.nr = syscall.SYS_CLONE
		call.args = [5]uintptr{vforkFlags | flags, 0, pidfdAddr}
	} else {
		call.clone3 = clone3Args{
			flags: uint64(vforkFlags|flags) | cloneIntoCgroup, pidfd: uint64(pidfdAddr), cgroup: uint64(cgroup),
		}
		call.nr = sysClone3
		call.args = [5]uintptr{uintptr(unsafe.Pointer(&call.clone3)), unsafe.Sizeof(call.clone3)}
	}
	inTime := during(ctx, func() { kill(int(atomic.LoadInt32(&call.pidfd))) }, func() { pid = vforkBlocking(call) })
	runtime.KeepAlive(code)
	arenas.Put(code)
	if pid < 0 {
		return -1, -1, &StepError{Step: stepClone, Errno: syscall.Errno(-pid)}
	}
	if !inTime {
		kill(int(call.pidfd))
		return pid, int(call.pidfd), context.Cause(ctx)
	}
	if call.failErrno != 0 {
		return pid, int(call.pidfd), &StepError{Step: list[call.failStep].Name, Errno: syscall.Errno(call.failErrno)}
	}
	return pid, int(call.pidfd), nil
}

// startGrace is what a start that is on its way gets to finish when its call has ended.
// Most have finished already and only wait to be told so; then the command runs, and
// is ended like any other.
const startGrace = 200 * time.Millisecond

// during runs work, and interrupt beside it when ctx has ended for startGrace and work
// has not; it reports whether that was not needed. When it returns interrupt is over,
// too: a descriptor that it uses may be closed and its number given to somebody else.
func during(ctx context.Context, interrupt, work func()) (inTime bool) {
	finished, over := make(chan struct{}), make(chan struct{})
	inTime = true
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		grace := time.NewTimer(startGrace)
		defer grace.Stop()
		select {
		case <-finished:
		case <-grace.C:
			inTime = false
			interrupt()
		}
	})
	work()
	close(finished)
	if !stop() {
		<-over
	}
	return inTime
}

// kill kills the process that a descriptor names; a negative one names none.
func kill(pidfd int) {
	if pidfd >= 0 {
		_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0) // ESRCH: it has ended
	}
}
