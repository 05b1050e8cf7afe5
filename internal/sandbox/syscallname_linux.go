//go:build linux && (amd64 || arm64)

package sandbox

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// syscallName names a call of a plan.
func syscallName(nr uintptr) string {
	switch nr {
	case unix.SYS_CLOCK_GETTIME:
		return "clock_gettime"
	case unix.SYS_CLOSE:
		return "close"
	case unix.SYS_CLOSE_RANGE:
		return "close_range"
	case unix.SYS_DUP3:
		return "dup3"
	case unix.SYS_EXECVE:
		return "execve"
	case unix.SYS_EXECVEAT:
		return "execveat"
	case unix.SYS_FACCESSAT:
		return "faccessat"
	case unix.SYS_FCHMODAT:
		return "fchmodat"
	case unix.SYS_FCHOWNAT:
		return "fchownat"
	case unix.SYS_FCHDIR:
		return "fchdir"
	case unix.SYS_FCNTL:
		return "fcntl"
	case unix.SYS_PPOLL:
		return "ppoll"
	case unix.SYS_IOCTL:
		return "ioctl"
	case unix.SYS_KEYCTL:
		return "keyctl"
	case unix.SYS_MMAP:
		return "mmap"
	case unix.SYS_OPENAT:
		return "openat"
	case unix.SYS_PRCTL:
		return "prctl"
	case unix.SYS_PRLIMIT64:
		return "prlimit64"
	case unix.SYS_RT_SIGACTION:
		return "rt_sigaction"
	case unix.SYS_RT_SIGPROCMASK:
		return "rt_sigprocmask"
	case unix.SYS_READ:
		return "read"
	case unix.SYS_RECVMSG:
		return "recvmsg"
	case unix.SYS_SENDFILE:
		return "sendfile"
	case unix.SYS_SETGROUPS:
		return "setgroups"
	case unix.SYS_SETSOCKOPT:
		return "setsockopt"
	case unix.SYS_SETPGID:
		return "setpgid"
	case unix.SYS_SETPRIORITY:
		return "setpriority"
	case unix.SYS_SETRESGID:
		return "setresgid"
	case unix.SYS_SETRESUID:
		return "setresuid"
	case unix.SYS_SETSID:
		return "setsid"
	case unix.SYS_SIGNALFD4:
		return "signalfd4"
	case unix.SYS_UMASK:
		return "umask"
	case unix.SYS_UNSHARE:
		return "unshare"
	case unix.SYS_WRITE:
		return "write"
	case unix.SYS_BIND:
		return "bind"
	case unix.SYS_LISTEN:
		return "listen"
	case unix.SYS_SENDMSG:
		return "sendmsg"
	case unix.SYS_CAPSET:
		return "capset"
	case unix.SYS_EXIT_GROUP:
		return "exit_group"
	case unix.SYS_FSCONFIG:
		return "fsconfig"
	case unix.SYS_FSMOUNT:
		return "fsmount"
	case unix.SYS_FSOPEN:
		return "fsopen"
	case unix.SYS_LANDLOCK_ADD_RULE:
		return "landlock_add_rule"
	case unix.SYS_LANDLOCK_CREATE_RULESET:
		return "landlock_create_ruleset"
	case unix.SYS_LANDLOCK_RESTRICT_SELF:
		return "landlock_restrict_self"
	case unix.SYS_MKDIRAT:
		return "mkdirat"
	case unix.SYS_MKNODAT:
		return "mknodat"
	case unix.SYS_MOUNT:
		return "mount"
	case unix.SYS_MOUNT_SETATTR:
		return "mount_setattr"
	case unix.SYS_MOVE_MOUNT:
		return "move_mount"
	case unix.SYS_OPENAT2:
		return "openat2"
	case unix.SYS_OPEN_TREE:
		return "open_tree"
	case unix.SYS_PIVOT_ROOT:
		return "pivot_root"
	case unix.SYS_SECCOMP:
		return "seccomp"
	case unix.SYS_SETNS:
		return "setns"
	case unix.SYS_SOCKET:
		return "socket"
	case unix.SYS_SYMLINKAT:
		return "symlinkat"
	case unix.SYS_UMOUNT2:
		return "umount2"
	}
	return "syscall" + strconv.Itoa(int(nr))
}
