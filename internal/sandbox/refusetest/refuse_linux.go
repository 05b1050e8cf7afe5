// Package refusetest has the kernel refuse this process system calls, as an older kernel or
// an outer sandbox would: it is for tests, and for good.
package refusetest

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls has system calls, by their numbers, answer with an error in every thread of this
// process and in all that it starts.
func Calls(errno unix.Errno, numbers ...uint32) error {
	program := []unix.SockFilter{Look(Number)}
	for _, nr := range numbers {
		program = append(program, Unless(nr, 1), Refuse(errno))
	}
	return Load(append(program, Allow))
}

// Load has every thread of this process live under a filter.
func Load(program []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	whole := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&whole)))
	if errno != 0 {
		return errno
	}
	if thread != 0 {
		return fmt.Errorf("thread %d lives under another filter", thread)
	}
	return nil
}

// What the numbers of [Look] are of.
const (
	// Number is that of the call.
	Number = 0
	// First is its first argument, the lower half.
	First = 16
)

// Look loads one word of what the kernel is asked for.
func Look(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// Unless skips instructions where what was looked at is another value.
func Unless(value uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: value}
}

// UnlessAny skips instructions where what was looked at has none of the bits.
func UnlessAny(bits uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: skip, K: bits}
}

// Refuse answers with an error.
func Refuse(errno unix.Errno) unix.SockFilter {
	return give(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

// Allow lets the call through.
var Allow = give(unix.SECCOMP_RET_ALLOW)

func give(answer uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer}
}
