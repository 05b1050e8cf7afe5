//go:build linux && (amd64 || arm64)

package seccomp

import (
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// An asked is what the kernel tells a filter of a call.
type asked struct {
	nr, arch uint32
	args     [6]uint64
}

// expected says in plain words what a filter is to answer.
func expected(p Policy, c asked) answer {
	if c.arch != arch {
		return kill
	}
	if a, known := expectedHere(c); known {
		return a
	}
	low := func(i int) uint32 { return uint32(c.args[i]) }
	setsID := func(i int) bool { return low(i)&(unix.S_ISUID|unix.S_ISGID) != 0 }
	switch c.nr {
	case unix.SYS_CLONE3, unix.SYS_OPENAT2:
		return missing
	case unix.SYS_CLONE:
		return refusedIf(low(0)&0x7e020000 != 0)
	case unix.SYS_PERSONALITY:
		return refusedIf(low(0) != 0 && low(0) != 0xffffffff)
	case unix.SYS_IOCTL:
		return refusedIf(low(1) == 0x5412 || low(1) == 0x541c)
	case unix.SYS_SECCOMP:
		return refusedIf(low(1)&8 != 0)
	case unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY, unix.SYS_PRLIMIT64:
		return refusedIf(low(0) == 1)
	case unix.SYS_SETPRIORITY:
		return refusedIf(low(0) == 2 || low(1) == 1)
	case unix.SYS_FCHMOD:
		return refusedIf(setsID(1))
	case unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_MKDIRAT, unix.SYS_MKNODAT:
		return refusedIf(setsID(2))
	case unix.SYS_OPENAT:
		return refusedIf(setsID(3) && makesFile(low(2)))
	case unix.SYS_SOCKET:
		return refusedIf(!expectedSocket(p, low(0), low(1), low(2)))
	case unix.SYS_SOCKETPAIR:
		kind := low(1) & 0xf
		return refusedIf(low(0) != unix.AF_UNIX || !p.Unix && kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET)
	}
	for _, nr := range refusedCalls {
		if uint32(nr) == c.nr {
			return refused
		}
	}
	return allow
}

// refusedCalls are refused whatever their arguments.
var refusedCalls = map[string]uintptr{
	"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "move_mount": unix.SYS_MOVE_MOUNT, "open_tree": unix.SYS_OPEN_TREE,
	"open_tree_attr": unix.SYS_OPEN_TREE_ATTR, "fsopen": unix.SYS_FSOPEN, "fsconfig": unix.SYS_FSCONFIG, "fsmount": unix.SYS_FSMOUNT,
	"fspick": unix.SYS_FSPICK, "mount_setattr": unix.SYS_MOUNT_SETATTR, "unshare": unix.SYS_UNSHARE, "setns": unix.SYS_SETNS,
	"pivot_root": unix.SYS_PIVOT_ROOT, "chroot": unix.SYS_CHROOT, "ptrace": unix.SYS_PTRACE,
	"process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
	"pidfd_getfd": unix.SYS_PIDFD_GETFD, "kcmp": unix.SYS_KCMP, "keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY,
	"request_key": unix.SYS_REQUEST_KEY, "bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN,
	"userfaultfd": unix.SYS_USERFAULTFD, "io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER,
	"io_uring_register": unix.SYS_IO_URING_REGISTER, "init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE,
	"delete_module": unix.SYS_DELETE_MODULE, "kexec_load": unix.SYS_KEXEC_LOAD, "kexec_file_load": unix.SYS_KEXEC_FILE_LOAD,
	"reboot": unix.SYS_REBOOT, "swapon": unix.SYS_SWAPON, "swapoff": unix.SYS_SWAPOFF, "acct": unix.SYS_ACCT,
	"quotactl": unix.SYS_QUOTACTL, "quotactl_fd": unix.SYS_QUOTACTL_FD, "settimeofday": unix.SYS_SETTIMEOFDAY,
	"clock_settime": unix.SYS_CLOCK_SETTIME, "clock_adjtime": unix.SYS_CLOCK_ADJTIME, "adjtimex": unix.SYS_ADJTIMEX,
	"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "fanotify_init": unix.SYS_FANOTIFY_INIT, "fanotify_mark": unix.SYS_FANOTIFY_MARK,
	"vhangup": unix.SYS_VHANGUP, "syslog": unix.SYS_SYSLOG, "lookup_dcookie": unix.SYS_LOOKUP_DCOOKIE, "nfsservctl": unix.SYS_NFSSERVCTL,
	"sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME,
}

func refusedIf(so bool) answer {
	if so {
		return refused
	}
	return allow
}

func makesFile(flags uint32) bool { return flags&(unix.O_CREAT|0o20000000) != 0 }

func expectedSocket(p Policy, family, kind, protocol uint32) bool {
	network := p.Network == durward.NetLoopback || p.Network == durward.NetAllowlist || p.Network == durward.NetFull
	switch family {
	case unix.AF_UNIX:
		return p.Unix
	case unix.AF_INET, unix.AF_INET6:
		return network && (kind&0xf == 1 || kind&0xf == 2) && (protocol == 0 || protocol == 6 || protocol == 17)
	case unix.AF_NETLINK:
		return p.Network == durward.NetFull && protocol == 0
	}
	return false
}
