//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

func sockets() map[string]attempt {
	return map[string]attempt{
		// socket FAMILY TYPE PROTOCOL
		"socket": alone(func(a []string) error {
			_, err := unix.Socket(families[a[0]], types[a[1]], number(a[2]))
			return err
		}),
		"pair": alone(func(a []string) error {
			_, err := unix.Socketpair(families[a[0]], types[a[1]], 0)
			return err
		}),
		"tcp":      alone(func(a []string) error { return connect(a[0], unix.SOCK_STREAM, unix.IPPROTO_TCP) }),
		"mptcp":    alone(func(a []string) error { return connect(a[0], unix.SOCK_STREAM, unix.IPPROTO_MPTCP) }),
		"sctp":     alone(func(a []string) error { return connect(a[0], unix.SOCK_STREAM, unix.IPPROTO_SCTP) }),
		"udp":      alone(func(a []string) error { return send(a[0], unix.SOCK_DGRAM, 0) }),
		"udplite":  alone(func(a []string) error { return send(a[0], unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE) }),
		"icmp":     alone(func(a []string) error { return send(a[0], unix.SOCK_DGRAM, unix.IPPROTO_ICMP) }),
		"raw":      alone(func(a []string) error { return send(a[0], unix.SOCK_RAW, unix.IPPROTO_UDP) }),
		"fastopen": alone(fastOpen),
		"listen":   alone(func(a []string) error { return listen(a[0]) }),
		"loopback": alone(func([]string) error { return talkToMyself() }),
		"vsock": alone(func([]string) error {
			fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: 1})
		}),
		// Names that begin with "@" are abstract.
		"unix": alone(func(a []string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Connect(fd, &unix.SockaddrUnix{Name: a[0]})
		}),
		"unixgram": alone(func(a []string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: a[0]})
		}),
		// One end of a pair is a socket that nobody has looked at.
		"pairgram": alone(func(a []string) error {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: a[0]})
		}),
		"pairconnect": alone(func(a []string) error {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Connect(fds[0], &unix.SockaddrUnix{Name: a[0]})
		}),
		"bind": alone(func(a []string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: a[0]}), unix.Listen(fd, 1))
		}),
	}
}

var families = map[string]int{
	"inet": unix.AF_INET, "inet6": unix.AF_INET6, "unix": unix.AF_UNIX, "netlink": unix.AF_NETLINK, "packet": unix.AF_PACKET,
	"vsock": unix.AF_VSOCK, "alg": unix.AF_ALG, "xdp": unix.AF_XDP, "can": unix.AF_CAN, "bluetooth": unix.AF_BLUETOOTH,
	"tipc": unix.AF_TIPC, "smc": unix.AF_SMC, "key": unix.AF_KEY, "rds": unix.AF_RDS, "qipcrtr": unix.AF_QIPCRTR,
}

var types = map[string]int{
	"stream": unix.SOCK_STREAM, "dgram": unix.SOCK_DGRAM, "raw": unix.SOCK_RAW, "seqpacket": unix.SOCK_SEQPACKET,
	// Flags share a word with the type.
	"stream+": unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK,
}

// address gives the family and the form of "127.0.0.1:80" that the kernel takes.
func address(text string) (int, unix.Sockaddr, error) {
	ap, err := netip.ParseAddrPort(text)
	if err != nil {
		return 0, nil, err
	}
	if ap.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Addr: ap.Addr().As4(), Port: int(ap.Port())}, nil
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Addr: ap.Addr().As16(), Port: int(ap.Port())}, nil
}

func connect(to string, kind, protocol int) error {
	family, sa, err := address(to)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, kind, protocol)
	if err != nil {
		return err
	}
	return unix.Connect(fd, sa)
}

func send(to string, kind, protocol int) error {
	family, sa, err := address(to)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, kind, protocol)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte(strings.Repeat("x", 8)), 0, sa)
}

func fastOpen(a []string) error {
	family, sa, err := address(a[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, sa)
}

func listen(at string) error {
	family, sa, err := address(at)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Bind(fd, sa), unix.Listen(fd, 1))
}

// talkToMyself listens on the loopback address and connects to that.
func talkToMyself() error {
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(server, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(server, 1)); err != nil {
		return err
	}
	own, err := unix.Getsockname(server)
	if err != nil {
		return err
	}
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(client, own)
}
