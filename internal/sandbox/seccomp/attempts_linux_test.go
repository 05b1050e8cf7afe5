//go:build linux && (amd64 || arm64)

package seccomp

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// An attempt is one system call that the kernel is asked for.
type attempt struct {
	name string
	nr   uintptr
	// args are numbers, or the names of files in the directory.
	args []any
	want answer
}

// attempts has each rule broken and kept. What a filter fails to refuse harms nothing:
// the arguments make no sense, or are about a file that is there for that.
func attempts(p Policy) []attempt {
	list := slices.Concat(outright(), attemptsByArgument(), attemptsHere(), attemptsAtSetID(), attemptsAtSockets(p))
	for i, a := range list {
		list[i].name = fmt.Sprintf("%s %v", a.name, a.args)
	}
	return list
}

func outright() []attempt {
	list := []attempt{
		{"clone3", unix.SYS_CLONE3, nil, missing},
		{"openat2", unix.SYS_OPENAT2, nil, missing},
	}
	for _, calls := range []map[string]uintptr{refusedCalls, refusedHere} {
		for name, nr := range calls {
			list = append(list, attempt{name, nr, []any{-1, -1, -1, -1, -1, -1}, refused})
		}
	}
	return list
}

func attemptsByArgument() []attempt {
	// Without memory in common there is no clone with signal handlers in common.
	const impossible = unix.CLONE_SIGHAND
	list := []attempt{
		{"clone", unix.SYS_CLONE, []any{impossible}, allow},
		{"clone", unix.SYS_CLONE, []any{impossible | unix.CLONE_NEWTIME}, allow},
		{"clone", unix.SYS_CLONE, []any{impossible | unix.CLONE_NEWNET | 1<<40}, refused},
		{"personality", unix.SYS_PERSONALITY, []any{0}, allow},
		{"personality", unix.SYS_PERSONALITY, []any{0xffffffff}, allow},
		{"personality", unix.SYS_PERSONALITY, []any{-1}, allow},
		{"personality", unix.SYS_PERSONALITY, []any{0x0040000}, refused}, // ADDR_NO_RANDOMIZE
		{"personality", unix.SYS_PERSONALITY, []any{8 | 1<<32}, refused},
		{"ioctl", unix.SYS_IOCTL, []any{-1, unix.TCGETS}, allow},
		{"ioctl", unix.SYS_IOCTL, []any{-1, unix.TIOCSTI}, refused},
		{"ioctl", unix.SYS_IOCTL, []any{-1, unix.TIOCSTI | 1<<32}, refused},
		{"ioctl", unix.SYS_IOCTL, []any{-1, unix.TIOCLINUX}, refused},
		{"sched_setaffinity", unix.SYS_SCHED_SETAFFINITY, []any{0, 0, 0}, allow},
		{"sched_setaffinity", unix.SYS_SCHED_SETAFFINITY, []any{1, 0, 0}, refused},
		{"sched_setscheduler", unix.SYS_SCHED_SETSCHEDULER, []any{1 | 1<<32, 5, 0}, refused},
		{"sched_setattr", unix.SYS_SCHED_SETATTR, []any{1, 0, 0}, refused},
		{"prlimit64", unix.SYS_PRLIMIT64, []any{0, 0, 0, 0}, allow},
		{"prlimit64", unix.SYS_PRLIMIT64, []any{1, 0, 0, 0}, refused},
		{"setpriority", unix.SYS_SETPRIORITY, []any{unix.PRIO_PROCESS, 0, 0}, allow},
		{"setpriority", unix.SYS_SETPRIORITY, []any{unix.PRIO_PROCESS, 1, 19}, refused},
		{"setpriority", unix.SYS_SETPRIORITY, []any{unix.PRIO_PGRP, 1, 19}, refused},
		{"setpriority", unix.SYS_SETPRIORITY, []any{unix.PRIO_USER, 0, 19}, refused},
		{"seccomp", unix.SYS_SECCOMP, []any{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, 0}, allow},
		{"seccomp", unix.SYS_SECCOMP, []any{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, 0}, refused},
		{"landlock_create_ruleset", unix.SYS_LANDLOCK_CREATE_RULESET, []any{0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION}, allow},
		{"memfd_secret", unix.SYS_MEMFD_SECRET, []any{0xffff}, allow},
		{"name_to_handle_at", unix.SYS_NAME_TO_HANDLE_AT, []any{-1, -1, -1, -1, -1}, allow},
		{"close", unix.SYS_CLOSE, []any{-1}, allow},
		{"a number nobody has", 0x3fffffff, nil, allow},
		{"what a tracer writes", ^uintptr(0), nil, allow},
	}
	for _, flag := range namespaces() {
		list = append(list, attempt{"clone", unix.SYS_CLONE, []any{impossible | int(flag.n)}, refused})
	}
	return list
}

func attemptsAtSetID() []attempt {
	const here = unix.AT_FDCWD
	list := []attempt{
		{"fchmod", unix.SYS_FCHMOD, []any{-1, 0o755}, allow},
		{"fchmodat", unix.SYS_FCHMODAT, []any{here, "file", 0o1751}, allow},
		{"openat", unix.SYS_OPENAT, []any{here, "file", unix.O_RDONLY | unix.O_CLOEXEC, 0o6777}, allow},
		{"openat", unix.SYS_OPENAT, []any{here, "file", unix.O_RDONLY | unix.O_CREAT | unix.O_CLOEXEC, 0o600}, allow},
		{"openat", unix.SYS_OPENAT, []any{here, ".", unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, 0o6777}, allow},
		{"mkdirat", unix.SYS_MKDIRAT, []any{here, "file", 0o755}, allow},
		{"mknodat", unix.SYS_MKNODAT, []any{here, "file", unix.S_IFREG | 0o600, 0}, allow},
	}
	for _, mode := range []int{unix.S_ISUID | 0o755, unix.S_ISGID | 0o755, unix.S_ISUID | unix.S_ISGID, unix.S_ISGID | 1<<32} {
		list = append(list,
			attempt{"fchmod", unix.SYS_FCHMOD, []any{-1, mode}, refused},
			attempt{"fchmodat", unix.SYS_FCHMODAT, []any{here, "file", mode}, refused},
			attempt{"fchmodat2", unix.SYS_FCHMODAT2, []any{here, "file", mode, 0}, refused},
			attempt{"mkdirat", unix.SYS_MKDIRAT, []any{here, "made", mode}, refused},
			attempt{"mknodat", unix.SYS_MKNODAT, []any{here, "made", unix.S_IFREG | mode, 0}, refused},
			attempt{"openat", unix.SYS_OPENAT, []any{here, "made", unix.O_RDWR | unix.O_CREAT, mode}, refused},
			attempt{"openat", unix.SYS_OPENAT, []any{here, ".", unix.O_RDWR | unix.O_TMPFILE, mode}, refused},
		)
	}
	return list
}

func attemptsAtSockets(p Policy) []attempt {
	const (
		unixOnly = 1 << iota
		network
		full
		always
		never = 0
	)
	has := always
	if p.Unix {
		has |= unixOnly
	}
	switch p.Network {
	case durward.NetFull:
		has |= full | network
	case durward.NetLoopback, durward.NetAllowlist:
		has |= network
	}
	var list []attempt
	for _, s := range []struct {
		nr                     uintptr
		family, kind, protocol int
		where                  int
	}{
		{unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0, unixOnly},
		{unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0, unixOnly},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0, network},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_NONBLOCK, unix.IPPROTO_TCP, network},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP, network},
		{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, 0, network},
		{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM, 0, network},
		{unix.SYS_SOCKET, unix.AF_INET | 1<<40, unix.SOCK_STREAM, 0, network},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, never},
		{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_PACKET, 0, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, never},
		{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP, never},
		{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE, never},
		{unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0, never},
		{unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0, never},
		{unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_DGRAM, 0, never},
		{unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0, never},
		{unix.SYS_SOCKET, unix.AF_SMC, unix.SOCK_STREAM, 0, never},
		{unix.SYS_SOCKET, unix.AF_TIPC, unix.SOCK_STREAM, 0, never},
		{unix.SYS_SOCKET, unix.AF_KEY, unix.SOCK_RAW, 2, never},
		{unix.SYS_SOCKET, unix.AF_BLUETOOTH, unix.SOCK_RAW, 1, never},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, full},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_ROUTE, full},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, never},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG, never},
		{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT, never},
		{unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, always},
		{unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET | unix.SOCK_CLOEXEC, 0, always},
		{unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM, 0, unixOnly},
		{unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_RAW, 0, unixOnly}, // the kernel makes it a datagram one
		{unix.SYS_SOCKETPAIR, unix.AF_TIPC, unix.SOCK_SEQPACKET, 0, never},
		{unix.SYS_SOCKETPAIR, unix.AF_INET, unix.SOCK_STREAM, 0, never},
	} {
		a := attempt{"socket", s.nr, []any{s.family, s.kind, s.protocol}, refusedIf(s.where&has == 0)}
		if s.nr == unix.SYS_SOCKETPAIR {
			a.name, a.args = "socketpair", append(a.args, -1) // two descriptors that go nowhere
		}
		list = append(list, a)
	}
	return list
}
