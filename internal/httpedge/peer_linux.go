package httpedge

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel. A poll tells a reset or closed connection from one whose peer
// ended its side; the socket of a peer on this machine tells the rest.
func peerOf(c *conn) peerState {
	sc, ok := c.Conn.(syscall.Conn)
	if !ok {
		return c.noted()
	}
	switch events := pollEvents(sc); {
	case events&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0:
		return peerGone
	case events&unix.POLLRDHUP == 0:
		return peerThere
	}
	return localPeer(addrPort(c.RemoteAddr()), addrPort(c.LocalAddr()))
}

// pollEvents gives the state of the connection without waiting; a connection that we
// closed counts as hung up.
func pollEvents(sc syscall.Conn) (events int16) {
	raw, err := sc.SyscallConn()
	if err != nil {
		return unix.POLLHUP
	}
	err = raw.Control(func(fd uintptr) {
		set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		// An interrupted poll says nothing; the next look will.
		if _, err := unix.Poll(set, 0); err == nil {
			events = set[0].Revents
		}
	})
	if err != nil {
		return unix.POLLHUP
	}
	return events
}

// localPeer looks for the peer's own socket in this network namespace. A socket that a
// process still holds can receive the answer, unless its receiving side was shut down
// as well; one that belongs to nobody only waits for the end of the connection.
func localPeer(peer, us netip.AddrPort) peerState {
	reply := sockDiag(diagRequest(peer, us))
	if len(reply) < diagReplyBytes || binary.NativeEndian.Uint16(reply[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return peerQuiet // not on this machine, or behind a translated address
	}
	inode := binary.NativeEndian.Uint32(reply[diagReplyBytes-4:])
	if inode == 0 || diagShutdown(reply[diagReplyBytes:])&receiveShut != 0 {
		return peerGone
	}
	return peerThere
}

// The messages of sock_diag(7): a netlink header of 16 bytes, then inet_diag_req_v2 or
// inet_diag_msg, whose last member is the inode; then attributes.
const (
	diagRequestBytes = 16 + 56
	diagReplyBytes   = 16 + 72
	attrShutdown     = 8 // INET_DIAG_SHUTDOWN
	receiveShut      = 1 // RCV_SHUTDOWN
)

// diagRequest asks for the one TCP socket with these ends.
func diagRequest(local, remote netip.AddrPort) []byte {
	m := make([]byte, 0, diagRequestBytes)
	m = binary.NativeEndian.AppendUint32(m, diagRequestBytes)
	m = binary.NativeEndian.AppendUint16(m, unix.SOCK_DIAG_BY_FAMILY)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST)
	m = append(m, make([]byte, 8)...) // sequence and port
	family := byte(unix.AF_INET6)
	if local.Addr().Is4() {
		family = unix.AF_INET
	}
	m = append(m, family, unix.IPPROTO_TCP, 0, 0)
	m = binary.NativeEndian.AppendUint32(m, ^uint32(0)) // any state
	m = binary.BigEndian.AppendUint16(m, local.Port())
	m = binary.BigEndian.AppendUint16(m, remote.Port())
	m = append(m, padded(local.Addr())...)
	m = append(m, padded(remote.Addr())...)
	m = append(m, 0, 0, 0, 0)                              // any interface
	return binary.NativeEndian.AppendUint64(m, ^uint64(0)) // no cookie
}

func padded(a netip.Addr) []byte {
	p := make([]byte, 16)
	copy(p, a.AsSlice())
	return p
}

// sockDiag sends one request and gives the kernel's answer, or nil.
func sockDiag(request []byte) []byte {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil
	}
	reply := make([]byte, 4096)
	// The kernel has answered by the time the request is sent.
	n, from, err := unix.Recvfrom(fd, reply, 0)
	if kernel, ok := from.(*unix.SockaddrNetlink); err != nil || !ok || kernel.Pid != 0 {
		return nil
	}
	return reply[:n]
}

// diagShutdown finds which sides of the socket were shut down.
func diagShutdown(attrs []byte) byte {
	const header = 4
	for len(attrs) > header {
		length := int(binary.NativeEndian.Uint16(attrs))
		if length < header || length > len(attrs) {
			return 0
		}
		if binary.NativeEndian.Uint16(attrs[2:]) == attrShutdown && length > header {
			return attrs[header]
		}
		attrs = attrs[min(len(attrs), (length+3)&^3):]
	}
	return 0
}
