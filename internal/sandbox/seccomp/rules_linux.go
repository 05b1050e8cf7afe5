//go:build linux && (amd64 || arm64)

package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// rules gives what is refused, in the order it is printed. No call is in two of them.
func (p Policy) rules() []rule {
	return slices.Concat(archRules(), behindPointers(), alwaysRefused(), byArgument(), firstProcess(), setIDRules(), p.socketRules())
}

// behindPointers are calls whose arguments a filter cannot see. To libraries ENOSYS says
// that the kernel is old: they use clone and openat.
func behindPointers() []rule {
	return []rule{{about: "flags and modes behind a pointer", answer: missing, calls: []call{
		{"clone3", unix.SYS_CLONE3},
		{"openat2", unix.SYS_OPENAT2},
	}}}
}

func alwaysRefused() []rule {
	return []rule{
		never("mounts", []call{
			{"mount", unix.SYS_MOUNT},
			{"umount2", unix.SYS_UMOUNT2},
			{"move_mount", unix.SYS_MOVE_MOUNT},
			{"mount_setattr", unix.SYS_MOUNT_SETATTR},
			{"open_tree", unix.SYS_OPEN_TREE},
			{"open_tree_attr", unix.SYS_OPEN_TREE_ATTR},
			{"fsopen", unix.SYS_FSOPEN},
			{"fsconfig", unix.SYS_FSCONFIG},
			{"fsmount", unix.SYS_FSMOUNT},
			{"fspick", unix.SYS_FSPICK},
		}),
		never("another root", []call{{"chroot", unix.SYS_CHROOT}, {"pivot_root", unix.SYS_PIVOT_ROOT}}),
		never("namespaces", []call{{"unshare", unix.SYS_UNSHARE}, {"setns", unix.SYS_SETNS}}),
		never("other processes", []call{
			{"ptrace", unix.SYS_PTRACE},
			{"process_vm_readv", unix.SYS_PROCESS_VM_READV},
			{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV},
			{"pidfd_getfd", unix.SYS_PIDFD_GETFD},
			{"kcmp", unix.SYS_KCMP},
		}),
		never("keyrings", []call{{"keyctl", unix.SYS_KEYCTL}, {"add_key", unix.SYS_ADD_KEY}, {"request_key", unix.SYS_REQUEST_KEY}}),
		never("much of the kernel", []call{
			{"bpf", unix.SYS_BPF}, {"perf_event_open", unix.SYS_PERF_EVENT_OPEN}, {"userfaultfd", unix.SYS_USERFAULTFD},
		}),
		// Its rings do what other calls do, and no filter sees it.
		never("io_uring", []call{
			{"io_uring_setup", unix.SYS_IO_URING_SETUP}, {"io_uring_enter", unix.SYS_IO_URING_ENTER}, {"io_uring_register", unix.SYS_IO_URING_REGISTER},
		}),
		never("modules", []call{
			{"init_module", unix.SYS_INIT_MODULE}, {"finit_module", unix.SYS_FINIT_MODULE}, {"delete_module", unix.SYS_DELETE_MODULE},
		}),
		never("the machine", []call{
			{"reboot", unix.SYS_REBOOT},
			{"kexec_load", unix.SYS_KEXEC_LOAD},
			{"kexec_file_load", unix.SYS_KEXEC_FILE_LOAD},
			{"swapon", unix.SYS_SWAPON},
			{"swapoff", unix.SYS_SWAPOFF},
			{"acct", unix.SYS_ACCT},
			{"quotactl", unix.SYS_QUOTACTL},
			{"quotactl_fd", unix.SYS_QUOTACTL_FD},
			{"sethostname", unix.SYS_SETHOSTNAME},
			{"setdomainname", unix.SYS_SETDOMAINNAME},
			{"syslog", unix.SYS_SYSLOG},
			{"vhangup", unix.SYS_VHANGUP},
		}),
		// The last two can also just read, but which it is stands behind a pointer.
		never("the clock", []call{
			{"settimeofday", unix.SYS_SETTIMEOFDAY},
			{"clock_settime", unix.SYS_CLOCK_SETTIME},
			{"clock_adjtime", unix.SYS_CLOCK_ADJTIME},
			{"adjtimex", unix.SYS_ADJTIMEX},
		}),
		// A handle opens a file whatever directories are around it; to get one is harmless.
		never("files past their path", []call{
			{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT}, {"fanotify_init", unix.SYS_FANOTIFY_INIT}, {"fanotify_mark", unix.SYS_FANOTIFY_MARK},
		}),
		never("relics", append(archRelics(), call{"lookup_dcookie", unix.SYS_LOOKUP_DCOOKIE}, call{"nfsservctl", unix.SYS_NFSSERVCTL})),
	}
}

func never(about string, calls []call) rule {
	return rule{about: about, answer: refused, calls: calls}
}

func byArgument() []rule {
	return append(archByArgument(), []rule{
		{
			about: "namespaces", answer: refused, calls: []call{{"clone", unix.SYS_CLONE}},
			only: []all{{hasAny(argument{"flags", 0, whole}, namespaces()...)}},
		},
		{
			about: "other personalities", answer: refused, calls: []call{{"personality", unix.SYS_PERSONALITY}},
			unless: []all{{isOneOf(argument{"persona", 0, whole}, value{"0", 0}, value{"a query", ^uint32(0)})}},
		},
		{
			about: "terminal input", answer: refused, calls: []call{{"ioctl", unix.SYS_IOCTL}},
			only: []all{{isOneOf(argument{"command", 1, whole}, value{"TIOCSTI", unix.TIOCSTI}, value{"TIOCLINUX", unix.TIOCLINUX})}},
		},
		{
			// Any other filter only tightens, as the strictest answer counts. Who listens
			// decides about the calls of others, and may hold them up.
			about: "listeners for other processes' calls", answer: refused, calls: []call{{"seccomp", unix.SYS_SECCOMP}},
			only: []all{{hasAny(argument{"flags", 1, whole}, value{"SECCOMP_FILTER_FLAG_NEW_LISTENER", unix.SECCOMP_FILTER_FLAG_NEW_LISTENER})}},
		},
	}...)
}

// namespaces lacks CLONE_NEWTIME: to clone its bit is part of the exit signal.
func namespaces() []value {
	return []value{
		{"CLONE_NEWNS", unix.CLONE_NEWNS},
		{"CLONE_NEWCGROUP", unix.CLONE_NEWCGROUP},
		{"CLONE_NEWUTS", unix.CLONE_NEWUTS},
		{"CLONE_NEWIPC", unix.CLONE_NEWIPC},
		{"CLONE_NEWUSER", unix.CLONE_NEWUSER},
		{"CLONE_NEWPID", unix.CLONE_NEWPID},
		{"CLONE_NEWNET", unix.CLONE_NEWNET},
	}
}

// firstProcess keeps the command from slowing down who ends it. Process 1 is the call's own
// first one, and may run as the same user.
func firstProcess() []rule {
	const about = "the first process's share of the machine"
	one := value{"1", 1}
	return []rule{
		{
			about: about, answer: refused, calls: []call{
				{"sched_setscheduler", unix.SYS_SCHED_SETSCHEDULER},
				{"sched_setattr", unix.SYS_SCHED_SETATTR},
				{"sched_setaffinity", unix.SYS_SCHED_SETAFFINITY},
				{"prlimit64", unix.SYS_PRLIMIT64},
			},
			only: []all{{isOneOf(argument{"pid", 0, whole}, one)}},
		},
		{
			about: about, answer: refused, calls: []call{{"setpriority", unix.SYS_SETPRIORITY}},
			only: []all{{isOneOf(argument{"which", 0, whole}, value{"PRIO_USER", unix.PRIO_USER})}, {isOneOf(argument{"who", 1, whole}, one)}},
		},
	}
}

// setIDRules keep the command from leaving a program behind that runs as the owner of
// its workspace. That may be root, although the command is not.
func setIDRules() []rule {
	return append(archSetID(),
		setIDRule(all{setsID(1)}, call{"fchmod", unix.SYS_FCHMOD}),
		setIDRule(all{setsID(2)},
			call{"fchmodat", unix.SYS_FCHMODAT}, call{"fchmodat2", unix.SYS_FCHMODAT2},
			call{"mkdirat", unix.SYS_MKDIRAT}, call{"mknodat", unix.SYS_MKNODAT}),
		setIDRule(all{creates(2), setsID(3)}, call{"openat", unix.SYS_OPENAT}),
	)
}

func setIDRule(when all, calls ...call) rule {
	return rule{about: "set-id bits", answer: refused, calls: calls, only: []all{when}}
}

func setsID(mode int) test {
	return hasAny(argument{"mode", mode, whole}, value{"S_ISUID", unix.S_ISUID}, value{"S_ISGID", unix.S_ISGID})
}

// creates tells an open that may make a file: no other has a mode, whatever stands there.
func creates(flags int) test {
	return hasAny(argument{"flags", flags, whole}, value{"O_CREAT", unix.O_CREAT}, value{"O_TMPFILE", unix.O_TMPFILE &^ unix.O_DIRECTORY})
}
