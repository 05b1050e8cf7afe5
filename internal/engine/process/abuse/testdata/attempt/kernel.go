//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel gives what a command has no business with. All of it is refused whatever the
// arguments, so these are such as do little if it is not.
func kernel() map[string]attempt {
	list := map[string]attempt{
		"mount":         alone(func([]string) error { return unix.Mount("none", ".", "tmpfs", 0, "") }),
		"bind-mount":    alone(func([]string) error { return unix.Mount(".", ".", "", unix.MS_BIND, "") }),
		"remount":       alone(func([]string) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }),
		"shared":        alone(func([]string) error { return unix.Mount("", "/", "", unix.MS_SHARED, "") }),
		"umount":        alone(func([]string) error { return unix.Unmount("/proc", unix.MNT_DETACH) }),
		"pivot_root":    alone(func([]string) error { return unix.PivotRoot(".", ".") }),
		"chroot":        alone(func([]string) error { return unix.Chroot(".") }),
		"open_tree":     alone(func([]string) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err }),
		"move_mount":    alone(func([]string) error { return unix.MoveMount(unix.AT_FDCWD, ".", unix.AT_FDCWD, "/tmp", 0) }),
		"fsopen":        alone(func([]string) error { _, err := unix.Fsopen("tmpfs", 0); return err }),
		"fspick":        alone(func([]string) error { _, err := unix.Fspick(unix.AT_FDCWD, "/", 0); return err }),
		"mount_setattr": alone(func([]string) error { return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{}) }),

		"unshare": alone(func(a []string) error { return unix.Unshare(namespaces[a[0]]) }),
		"setns":   alone(setns),
		"clone":   alone(cloneInto),
		"clone3":  alone(func([]string) error { _, err := raw(unix.SYS_CLONE3, 0, 0); return err }),

		"ptrace":       alone(func(a []string) error { return unix.PtraceAttach(number(a[0])) }),
		"ptrace-seize": alone(func(a []string) error { return unix.PtraceSeize(number(a[0])) }),
		"ptrace-me":    alone(func([]string) error { _, err := raw(unix.SYS_PTRACE, unix.PTRACE_TRACEME); return err }),
		"vmread":       alone(vmread),
		"vmwrite": alone(func(a []string) error {
			_, err := raw(unix.SYS_PROCESS_VM_WRITEV, uintptr(number(a[0])), 0, 0, 0, 0, 0)
			return err
		}),
		"getfd": alone(func(a []string) error {
			fd, err := unix.PidfdOpen(number(a[0]), 0)
			if err != nil {
				fd = 0 // refused before anybody looks at it
			}
			_, err = unix.PidfdGetfd(fd, 0, 0)
			return err
		}),
		"kcmp": alone(func(a []string) error {
			_, err := raw(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(number(a[0])), 0, 0, 0)
			return err
		}),

		"keyctl": alone(func([]string) error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
			return err
		}),
		"add_key": alone(func([]string) error {
			_, err := unix.AddKey("user", "durward-abuse", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}),
		"request_key": alone(func([]string) error { _, err := unix.RequestKey("user", "durward-abuse", "", 0); return err }),

		"io_uring": alone(func([]string) error {
			var p [120]byte
			_, err := raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&p)))
			return err
		}),
		"io_uring_enter":    alone(func([]string) error { _, err := raw(unix.SYS_IO_URING_ENTER, 0); return err }),
		"io_uring_register": alone(func([]string) error { _, err := raw(unix.SYS_IO_URING_REGISTER, 0); return err }),
		"userfaultfd":       alone(func([]string) error { _, err := raw(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1); return err }), // for faults of its own only
		"bpf": alone(func([]string) error {
			var attr [64]byte
			_, err := raw(unix.SYS_BPF, 5, uintptr(unsafe.Pointer(&attr)), 64)
			return err
		}),
		"perf": alone(func([]string) error {
			_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}, 0, -1, -1, 0)
			return err
		}),

		"tiocsti": alone(func([]string) error {
			var c byte = '\n'
			_, err := raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
			return err
		}),
		"tiocsti64": alone(func([]string) error {
			var c byte = '\n' // the kernel looks at 32 bits of the command
			_, err := raw(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, uintptr(unsafe.Pointer(&c)))
			return err
		}),
		"tioclinux": alone(func([]string) error {
			var c byte = 2
			_, err := raw(unix.SYS_IOCTL, 0, unix.TIOCLINUX, uintptr(unsafe.Pointer(&c)))
			return err
		}),
	}
	return list
}

var namespaces = map[string]int{
	"user": unix.CLONE_NEWUSER, "mnt": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID, "ipc": unix.CLONE_NEWIPC,
	"uts": unix.CLONE_NEWUTS, "net": unix.CLONE_NEWNET, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	// A user namespace is what a process without privilege takes the others with.
	"user+mnt": unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
}

// setns enters a namespace by its file, or, where that cannot be had, by nothing.
func setns(a []string) error {
	runtime.LockOSThread()
	fd, err := unix.Open("/proc/self/ns/"+a[0], unix.O_RDONLY, 0)
	if err != nil {
		fd = -1
	}
	return unix.Setns(fd, 0)
}

// cloneInto has a child born in a namespace. The child ends at once.
func cloneInto(a []string) error {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(namespaces[a[0]])|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err := syscall.Wait4(int(pid), nil, 0, nil)
	return err
}

func vmread(a []string) error {
	var into [8]byte
	local := []unix.Iovec{{Base: &into[0], Len: 8}}
	_, err := unix.ProcessVMReadv(number(a[0]), local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EFAULT) {
		return nil // nothing is there, and nobody kept us from looking
	}
	return err
}
