//go:build linux && (amd64 || arm64)

package seccomp

import (
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// BenchmarkCall is what a system call costs with a filter and without: one that the
// kernel knows to be allowed, one whose arguments are looked at, and one that is refused.
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name string
		nr   uintptr
		args [3]uintptr
	}{
		{"allowed", unix.SYS_GETPPID, [3]uintptr{}},
		{"looked at", unix.SYS_IOCTL, [3]uintptr{^uintptr(0), unix.TCGETS}},
		{"refused", unix.SYS_PTRACE, [3]uintptr{^uintptr(0), ^uintptr(0)}},
	} {
		call := func(b *testing.B) {
			for b.Loop() {
				syscall.RawSyscall(c.nr, c.args[0], c.args[1], c.args[2])
			}
		}
		b.Run(c.name+"/bare", call)
		b.Run(c.name+"/filtered", func(b *testing.B) {
			onThread(func() {
				loadFor(b, Compile(Policy{}).Program())
				call(b)
			})
		})
	}
}

// BenchmarkLoad includes a thread to load the filter on.
func BenchmarkLoad(b *testing.B) {
	program := Compile(Policy{}).Program()
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			onThread(func() {})
		}
	})
	b.Run("filtered", func(b *testing.B) {
		for b.Loop() {
			onThread(func() { loadFor(b, program) })
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		Compile(Policy{Network: durward.NetFull, Unix: true})
	}
}

func loadFor(b *testing.B, program []unix.SockFilter) {
	if err := load(program, 0); err != nil {
		b.Error(err)
	}
}

// onThread runs do on a thread that ends with it.
func onThread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		do()
	}()
	<-done
}
