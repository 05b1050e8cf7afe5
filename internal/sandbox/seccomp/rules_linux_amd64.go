package seccomp

import "golang.org/x/sys/unix"

const (
	archName = "amd64"
	arch     = unix.AUDIT_ARCH_X86_64
)

// x32 is the bit that marks a number of the x32 architecture, which the kernel tells
// from our own by nothing else.
const x32 = 0x40000000

// archRules lets -1 pass, although it has the bit: the kernel knows no such call, and a
// tracer from outside has one skipped by writing it.
func archRules() []rule {
	return []rule{{about: "numbers of x32", answer: kill, spans: []span{{x32, 2*x32 - 1}, {3 * x32, whole - 1}}}}
}

func archRelics() []call {
	return []call{
		{"iopl", unix.SYS_IOPL},
		{"ioperm", unix.SYS_IOPERM},
		{"uselib", unix.SYS_USELIB},
		{"_sysctl", unix.SYS__SYSCTL},
		{"sysfs", unix.SYS_SYSFS},
		{"ustat", unix.SYS_USTAT},
		{"create_module", unix.SYS_CREATE_MODULE},
		{"get_kernel_syms", unix.SYS_GET_KERNEL_SYMS},
		{"query_module", unix.SYS_QUERY_MODULE},
	}
}

func archByArgument() []rule {
	return []rule{{
		about: "segments", answer: refused, calls: []call{{"modify_ldt", unix.SYS_MODIFY_LDT}},
		unless: []all{{isOneOf(argument{"function", 0, whole}, value{"a read", 0}, value{"a read of the default", 2})}},
	}}
}

func archSetID() []rule {
	return []rule{
		setIDRule(all{setsID(1)},
			call{"chmod", unix.SYS_CHMOD}, call{"creat", unix.SYS_CREAT}, call{"mkdir", unix.SYS_MKDIR}, call{"mknod", unix.SYS_MKNOD}),
		setIDRule(all{creates(1), setsID(2)}, call{"open", unix.SYS_OPEN}),
	}
}
