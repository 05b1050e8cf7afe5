//go:build linux && (amd64 || arm64)

package seccomp

import (
	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// socketRules name what may be made, so that every other family, type and protocol is
// refused: raw sockets and pings, MPTCP and SCTP, those of virtual machines and packets.
func (p Policy) socketRules() []rule {
	return []rule{
		{about: "sockets", answer: refused, calls: []call{{"socket", unix.SYS_SOCKET}}, unless: p.sockets()},
		{about: "pairs of sockets", answer: refused, calls: []call{{"socketpair", unix.SYS_SOCKETPAIR}}, unless: []all{p.pair()}},
	}
}

func (p Policy) sockets() []all {
	var may []all
	if p.Unix {
		may = append(may, all{family(unixFamily())})
	}
	switch p.Network {
	case durward.NetLoopback, durward.NetAllowlist:
		return append(may, internet())
	case durward.NetFull:
		return append(may, internet(), routeQueries())
	}
	return may
}

// internet leaves it to the kernel which type and protocol go together.
func internet() all {
	return all{
		family(value{"AF_INET", unix.AF_INET}, value{"AF_INET6", unix.AF_INET6}),
		kind(value{"SOCK_STREAM", unix.SOCK_STREAM}, value{"SOCK_DGRAM", unix.SOCK_DGRAM}),
		protocol(value{"0", 0}, value{"IPPROTO_TCP", unix.IPPROTO_TCP}, value{"IPPROTO_UDP", unix.IPPROTO_UDP}),
	}
}

// routeQueries are only that for who has no capability in its network namespace.
func routeQueries() all {
	return all{family(value{"AF_NETLINK", unix.AF_NETLINK}), protocol(value{"NETLINK_ROUTE", unix.NETLINK_ROUTE})}
}

func (p Policy) pair() all {
	if p.Unix {
		return all{family(unixFamily())}
	}
	return all{family(unixFamily()), kind(value{"SOCK_STREAM", unix.SOCK_STREAM}, value{"SOCK_SEQPACKET", unix.SOCK_SEQPACKET})}
}

func unixFamily() value { return value{"AF_UNIX", unix.AF_UNIX} }

func family(one ...value) test   { return isOneOf(argument{"family", 0, whole}, one...) }
func protocol(one ...value) test { return isOneOf(argument{"protocol", 2, whole}, one...) }

// kind leaves out the flags that share a word with the type.
func kind(one ...value) test { return isOneOf(argument{"type", 1, 0xf}, one...) }
