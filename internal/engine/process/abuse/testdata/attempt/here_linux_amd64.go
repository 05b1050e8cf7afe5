package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// oldSetID gives the calls that only amd64 has.
func oldSetID() map[string]func(path string, mode uint32) error {
	return map[string]func(path string, mode uint32) error{
		"chmod": func(path string, mode uint32) error {
			if err := write(path, unix.O_CREAT); err != nil {
				return err
			}
			_, err := raw(unix.SYS_CHMOD, str(path), uintptr(mode))
			return err
		},
		"open": func(path string, mode uint32) error {
			_, err := raw(unix.SYS_OPEN, str(path), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, uintptr(mode))
			return err
		},
		"creat": func(path string, mode uint32) error {
			_, err := raw(unix.SYS_CREAT, str(path), uintptr(mode))
			return err
		},
		"mkdir": func(path string, mode uint32) error {
			_, err := raw(unix.SYS_MKDIR, str(path), uintptr(mode))
			return err
		},
		"mknod": func(path string, mode uint32) error {
			_, err := raw(unix.SYS_MKNOD, str(path), uintptr(mode|unix.S_IFREG), 0)
			return err
		},
	}
}

// here gives the attempts that only amd64 has.
func here() map[string]attempt {
	const x32 = 0x40000000
	return map[string]attempt{
		"x32":      alone(func([]string) error { _, err := raw(unix.SYS_GETPID | x32); return err }),
		"x32mount": alone(func([]string) error { _, err := raw(unix.SYS_MOUNT | x32); return err }),
		"i386":     alone(func([]string) error { return i386(20) }), // getpid
		"i386open": alone(func([]string) error { return i386(5) }),  // open
		"kexec":    alone(func([]string) error { _, err := raw(unix.SYS_KEXEC_LOAD); return err }),
	}
}

// i386 makes a system call of the 32-bit kind, which every process can.
func i386(nr byte) error {
	code := []byte{0xb8, nr, 0, 0, 0, 0xcd, 0x80, 0xc3} // mov eax, nr; int 0x80; ret
	page, err := unix.Mmap(-1, 0, len(code), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(page, code)
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return err
	}
	entry := unsafe.Pointer(&page[0])
	closure := unsafe.Pointer(&entry)
	if n := (*(*func() int32)(unsafe.Pointer(&closure)))(); n < 0 {
		return syscall.Errno(-n)
	}
	return nil
}
