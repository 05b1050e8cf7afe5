//go:build linux && (amd64 || arm64)

package sandbox

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A siginfo is the part of the kernel's siginfo_t that waitid fills in; the package
// unix gives the structure without these members.
type siginfo struct {
	signo, errno, code int32
	_                  int32
	pid                int32
	uid                uint32
	value              int32
	_                  [100]byte
}

// wait fills in i from the process that the descriptor names. A zero code means that
// it has not ended.
func (i *siginfo) wait(pidfd, options int, usage *unix.Rusage) error {
	*i = siginfo{}
	return unix.Waitid(unix.P_PIDFD, pidfd, (*unix.Siginfo)(unsafe.Pointer(i)), options, usage)
}

// status gives the wait status a parent would see.
func (i *siginfo) status() syscall.WaitStatus {
	const exited, dumped = 1, 3
	switch i.code {
	case exited:
		return syscall.WaitStatus(i.value << 8)
	case dumped:
		return syscall.WaitStatus(i.value | 0x80)
	}
	return syscall.WaitStatus(i.value)
}
