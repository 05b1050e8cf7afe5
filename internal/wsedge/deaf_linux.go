package wsedge

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deaf reports whether the system at the other end has acknowledged nothing for so long,
// though it was asked more than once. A peer that reads nothing is asked now and then
// whether it has room by now, and its system answers each time.
func deaf(c net.Conn, long time.Duration) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false // closed
	}
	var info *unix.TCPInfo
	var failed error
	err = raw.Control(func(fd uintptr) {
		info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	if err != nil || failed != nil {
		return false
	}
	quiet := time.Duration(info.Last_ack_recv) * time.Millisecond
	return quiet >= long && (info.Retransmits > 1 || info.Probes > 1)
}
