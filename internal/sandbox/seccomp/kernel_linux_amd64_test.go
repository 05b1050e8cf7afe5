package seccomp

import (
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func attemptsHere() []attempt {
	list := []attempt{
		{"modify_ldt", unix.SYS_MODIFY_LDT, []any{0, 0, 0}, allow},
		{"modify_ldt", unix.SYS_MODIFY_LDT, []any{2, 0, 0}, allow},
		{"modify_ldt", unix.SYS_MODIFY_LDT, []any{1, 0, 0}, refused},
		{"modify_ldt", unix.SYS_MODIFY_LDT, []any{0x11, 0, 0}, refused},
		{"chmod", unix.SYS_CHMOD, []any{"file", 0o700}, allow},
		{"open", unix.SYS_OPEN, []any{"file", unix.O_RDONLY | unix.O_CLOEXEC, 0o6777}, allow},
		{"creat", unix.SYS_CREAT, []any{"file", 0o600}, allow},
		{"mkdir", unix.SYS_MKDIR, []any{"file", 0o700}, allow},
		{"mknod", unix.SYS_MKNOD, []any{"file", unix.S_IFREG | 0o600, 0}, allow},
		{"a number below those of x32", 0x80000000, nil, allow},
	}
	for _, mode := range []int{unix.S_ISUID | 0o755, unix.S_ISGID | 0o755, unix.S_ISUID | unix.S_ISGID | 1<<32} {
		list = append(list,
			attempt{"chmod", unix.SYS_CHMOD, []any{"file", mode}, refused},
			attempt{"open", unix.SYS_OPEN, []any{"made", unix.O_RDWR | unix.O_CREAT, mode}, refused},
			attempt{"open", unix.SYS_OPEN, []any{".", unix.O_RDWR | unix.O_TMPFILE, mode}, refused},
			attempt{"creat", unix.SYS_CREAT, []any{"made", mode}, refused},
			attempt{"mkdir", unix.SYS_MKDIR, []any{"made", mode}, refused},
			attempt{"mknod", unix.SYS_MKNOD, []any{"made", unix.S_IFREG | mode, 0}, refused},
		)
	}
	return list
}

var fatalTries = map[string]func(){
	"x32":        func() { syscall.RawSyscall(unix.SYS_GETPID|x32, 0, 0, 0) },
	"x32 mount":  func() { syscall.RawSyscall(unix.SYS_MOUNT|x32, 0, 0, 0) },
	"x32 top":    func() { syscall.RawSyscall(uintptr(whole-1), 0, 0, 0) },
	"i386":       func() { i386(20) },  // getpid
	"i386 clone": func() { i386(435) }, // clone3, which is ENOSYS of our own
}

// i386 asks for a call of the 32-bit architecture, which every process can.
func i386(nr uint16) {
	code := []byte{0xb8, byte(nr), byte(nr >> 8), 0, 0, 0xcd, 0x80, 0xc3} // mov eax, nr; int 0x80; ret
	page, err := unix.Mmap(-1, 0, len(code), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	copy(page, code)
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		panic(err)
	}
	entry := unsafe.Pointer(&page[0])
	closure := unsafe.Pointer(&entry)
	(*(*func())(unsafe.Pointer(&closure)))()
	runtime.KeepAlive(page)
}

func TestForeignCallsKillTheProcess(t *testing.T) {
	for what := range fatalTries {
		t.Run(what, func(t *testing.T) {
			want := []syscall.Signal{unix.SIGSYS}
			if signal := deathOf(t, job{What: what, Bare: true}); signal != 0 {
				want = append(want, signal) // the kernel knows none of 32 bits
			}
			as(t, func(t *testing.T, user int) {
				if got := deathOf(t, job{User: user, What: what}); !slices.Contains(want, got) {
					t.Errorf("died of signal %d, want %v", got, want)
				}
			})
		})
	}
}

// deathOf gives the signal that ended a job once it had begun, 0 for none.
func deathOf(t *testing.T, j job) syscall.Signal {
	t.Helper()
	out, err := j.run(t)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || out != "loaded\n" {
		t.Fatalf("%q %v", out, err)
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return status.Signal()
	}
	return 0
}
