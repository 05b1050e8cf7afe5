package seccomp

import "golang.org/x/sys/unix"

// refusedHere are refused whatever their arguments, on this architecture only.
var refusedHere = map[string]uintptr{
	"iopl": unix.SYS_IOPL, "ioperm": unix.SYS_IOPERM, "uselib": unix.SYS_USELIB, "_sysctl": unix.SYS__SYSCTL,
	"sysfs": unix.SYS_SYSFS, "ustat": unix.SYS_USTAT, "create_module": unix.SYS_CREATE_MODULE,
	"get_kernel_syms": unix.SYS_GET_KERNEL_SYMS, "query_module": unix.SYS_QUERY_MODULE,
}

func expectedHere(c asked) (answer, bool) {
	if c.nr&0x40000000 != 0 && c.nr != 0xffffffff {
		return kill, true
	}
	setsID := func(i int) bool { return c.args[i]&(unix.S_ISUID|unix.S_ISGID) != 0 }
	switch c.nr {
	case unix.SYS_MODIFY_LDT:
		return refusedIf(uint32(c.args[0]) != 0 && uint32(c.args[0]) != 2), true
	case unix.SYS_CHMOD, unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_MKNOD:
		return refusedIf(setsID(1)), true
	case unix.SYS_OPEN:
		return refusedIf(setsID(2) && makesFile(uint32(c.args[1]))), true
	}
	for _, nr := range refusedHere {
		if uint32(nr) == c.nr {
			return refused, true
		}
	}
	return 0, false
}
