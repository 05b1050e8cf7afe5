//go:build linux

package sandbox

import (
	"encoding/binary"
	"os"
	"testing"
	"time"
	"unsafe"
	"syscall"

	"golang.org/x/sys/unix"
)

func protoRun(t testing.TB, flags uintptr, argv []string) (rec []record) {
	rp, err := reaperProgram()
	if err != nil { t.Fatal(err) }
	var ctl, st [2]int
	unix.Pipe2(ctl[:], unix.O_CLOEXEC|unix.O_NONBLOCK)
	unix.Pipe2(st[:], unix.O_CLOEXEC)
	prog, err := unix.Open(argv[0], unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil { t.Fatal(err) }
	mask := binary.NativeEndian.AppendUint64(nil, 1<<(uint(unix.SIGCHLD)-1))
	zero := make([]byte, 8)
	l := reaperLists{
		cloneFlags: uintptr(unix.SIGCHLD)|unix.CLONE_VFORK,
		before: []Call{
			{Name: "sfd", NR: unix.SYS_SIGNALFD4, Args: []Arg{number(-1), data(mask), number(8), number(unix.SFD_NONBLOCK|unix.SFD_CLOEXEC)}},
			{Name: "sfd2", NR: unix.SYS_DUP3, Args: []Arg{result(0), number(reaperSignalFD), number(unix.O_CLOEXEC)}},
		},
		command: []Call{
			{Name: "setsid", NR: unix.SYS_SETSID},
			{Name: "sigmask", NR: unix.SYS_RT_SIGPROCMASK, Args: []Arg{number(2), data(zero), number(0), number(8)}},
			{Name: "cloexec", NR: unix.SYS_CLOSE_RANGE, Args: []Arg{number(3), number(int64(0xffffffff)), number(4)}},
			{Name: "exec", NR: unix.SYS_EXECVEAT, Args: []Arg{number(5), text(""), reaperArgv(), reaperEnvp(), number(unix.AT_EMPTY_PATH)}},
		},
		after: []Call{{Name: "close", NR: unix.SYS_CLOSE_RANGE, Args: []Arg{number(0), number(2), number(0)}}, {Name: "close", NR: unix.SYS_CLOSE, Args: []Arg{number(5)}}},
	}
	blk, err := l.encode()
	if err != nil { t.Fatal(err) }
	unix.Write(ctl[1], blk)
	var list []Call
	fds := []int{0, 1, 2, ctl[0], st[1], prog}
	for _, fd := range fds {
		list = append(list, Call{Name: "dup", NR: unix.SYS_FCNTL, Args: []Arg{number(fd), number(unix.F_DUPFD_CLOEXEC), number(firstSpareFD)}})
	}
	list = append(list, Call{Name: "dup", NR: unix.SYS_FCNTL, Args: []Arg{number(rp.Fd()), number(unix.F_DUPFD_CLOEXEC), number(firstSpareFD)}})
	for i := range fds {
		list = append(list, Call{Name: "dup3", NR: unix.SYS_DUP3, Args: []Arg{result(i), number(i), number(0)}})
	}
	list = append(list, Call{Name: "cloexec", NR: unix.SYS_CLOSE_RANGE, Args: []Arg{number(6), number(int64(0xffffffff)), number(4)}},
		Call{Name: "exec", NR: unix.SYS_EXECVEAT, Args: []Arg{result(len(fds)), text(""), vector(argv), vector([]string{"PATH=/bin"}), number(unix.AT_EMPTY_PATH)}})
	pidfd, err := spawn(flags, -1, list)
	if err != nil { t.Fatal(err) }
	for _, fd := range []int{ctl[0], st[1], prog} { unix.Close(fd) }
	for {
		var r record
		n, _ := unix.Read(st[0], unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r)))
		if n <= 0 { break }
		rec = append(rec, r)
	}
	var si unix.Siginfo
	unix.Waitid(unix.P_PIDFD, pidfd, &si, unix.WEXITED, nil)
	unix.Close(pidfd); unix.Close(ctl[1]); unix.Close(st[0])
	return rec
}

func TestProto(t *testing.T) {
	for _, c := range [][]string{{"/bin/true"}, {"/bin/sh", "-c", "echo hi $$; id; exit 7"}, {"/bin/sh", "-c", "kill -SEGV $$"}} {
		for _, r := range protoRun(t, unix.CLONE_NEWPID, c) {
			t.Log(c, r.kind, r.a, r.b, r.c)
		}
	}
}

func BenchmarkProto(b *testing.B) {
	exe := os.Getenv("STATIC")
	for b.Loop() { protoRun(b, unix.CLONE_NEWPID, []string{exe}) }
}
func BenchmarkProtoNoNS(b *testing.B) {
	exe := os.Getenv("STATIC")
	for b.Loop() { protoRun(b, 0, []string{exe}) }
}
func BenchmarkFloor(b *testing.B) {
	exe := os.Getenv("STATIC")
	for b.Loop() {
		pid, err := syscall.ForkExec(exe, []string{exe}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
		if err != nil { b.Fatal(err) }
		var ws syscall.WaitStatus
		syscall.Wait4(pid, &ws, 0, nil)
	}
}
var _ = time.Now
