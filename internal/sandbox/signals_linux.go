//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os/signal"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const lastSignal = 64

// A sigaction is the kernel's: handler, flags, restorer, mask.
type sigaction [4]uint64

// defaultSignals gives the signals that this process ignores their default action
// back: that much is inherited through an exec.
func defaultSignals() []Call {
	var calls []Call
	ignored := ignoredAtStart()
	for n := 1; n <= lastSignal; n++ {
		if ignored&(1<<(n-1)) == 0 && !signal.Ignored(syscall.Signal(n)) {
			continue
		}
		calls = append(calls, Call{Name: "default signals", NR: unix.SYS_RT_SIGACTION, Args: []Arg{
			number(n), data(make([]byte, unsafe.Sizeof(sigaction{}))), number(0), number(8),
		}})
	}
	return calls
}

// ignoredAtStart asks the kernel once which signals are ignored, one bit for each:
// the runtime of Go leaves what was inherited for some of them, and knows of changes
// that are made through it.
var ignoredAtStart = sync.OnceValue(func() (set uint64) {
	const ignore = 1
	for n := 1; n <= lastSignal; n++ {
		var old sigaction
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), 0, uintptr(unsafe.Pointer(&old)), 8, 0, 0)
		if errno == 0 && old[0] == ignore {
			set |= 1 << (n - 1)
		}
	}
	return set
})
