//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// networkVariable makes the test binary first somebody who makes a network, then somebody
// who runs tests in it.
const networkVariable = "DURWARD_TEST_NETWORK"

// In a network namespace of the test's own every address is the namespace's: those of the
// public internet, of private networks and of metadata services. Somebody listens at these
// ports of them all, so that a connection that was not to be made is seen whatever it
// led to.
var (
	streamPorts = []int{53, 80, 443, 5432, 8080}
	packetPorts = []int{53, 443}
)

// firstSocket is the descriptor of the first of them.
const firstSocket = 100

// inInternet runs a test in such a namespace.
func inInternet(t *testing.T, test func(*testing.T, *internet)) {
	t.Helper()
	if os.Getenv(networkVariable) == "made" {
		test(t, openInternet(t))
		return
	}
	t.Parallel()
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	c.Env = append(os.Environ(), networkVariable+"="+own, attemptVariable+"="+program(t))
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE},
		}
	}
	out, err := c.CombinedOutput()
	t.Logf("in a network of its own:\n%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("the tests there: %v", err)
	}
}

// makeInternet makes the network and goes on as a program that may make none.
func makeInternet(around string) error {
	if own, err := os.Readlink("/proc/self/ns/net"); err != nil || own == around {
		return fmt.Errorf("the network namespace %s is everybody's: %v", own, err)
	}
	if err := errors.Join(raiseLoopback(), ownEverything(unix.AF_INET), ownEverything(unix.AF_INET6)); err != nil {
		return err
	}
	for i, port := range append(slices.Clone(streamPorts), packetPorts...) {
		kind := unix.SOCK_STREAM
		if i >= len(streamPorts) {
			kind = unix.SOCK_DGRAM
		}
		if err := leaveSocket(firstSocket+i, kind, port); err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := os.Setenv(networkVariable, "made"); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// ownEverything has the loopback answer for every address of a family.
func ownEverything(family int) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const length, loopback = unix.SizeofNlMsghdr + unix.SizeofRtMsg + 8, 1
	m := binary.NativeEndian.AppendUint32(nil, length)
	m = binary.NativeEndian.AppendUint16(m, unix.RTM_NEWROUTE)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_CREATE|unix.NLM_F_ACK)
	m = append(m, make([]byte, 8)...) // sequence and sender
	m = append(m, byte(family), 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0)
	m = binary.NativeEndian.AppendUint16(m, 8)
	m = binary.NativeEndian.AppendUint16(m, unix.RTA_OIF)
	m = binary.NativeEndian.AppendUint32(m, loopback)
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 512)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < 20 {
		return fmt.Errorf("%d bytes of an answer: %w", n, err)
	}
	if errno := -int32(binary.NativeEndian.Uint32(answer[16:])); errno != 0 {
		return unix.Errno(errno)
	}
	return nil
}

// leaveSocket makes one for the program that comes after this.
func leaveSocket(as, kind, port int) error {
	fd, err := unix.Socket(unix.AF_INET6, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet6{Port: port}); err != nil {
		return err
	}
	if kind == unix.SOCK_STREAM {
		if err := unix.Listen(fd, 512); err != nil {
			return err
		}
	}
	return unix.Dup3(fd, as, 0)
}

// An internet is all the world that can be reached, and keeps who was.
type internet struct {
	streams []net.Listener
	packets []net.PacketConn
	work    sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	visits  []*visit // guarded by mu
}

// A visit is a connection or a packet that arrived.
type visit struct {
	to   string // host:port; for packets the port alone
	from string

	sent  int64 // guarded by the internet's mu
	ended bool  // guarded by the internet's mu; packets have no end to wait for
}

func openInternet(t *testing.T) *internet {
	t.Helper()
	w := &internet{}
	w.changed = sync.NewCond(&w.mu)
	for i := range len(streamPorts) + len(packetPorts) {
		unix.CloseOnExec(firstSocket + i)
		f := os.NewFile(uintptr(firstSocket+i), "socket")
		var err error
		if i < len(streamPorts) {
			var l net.Listener
			if l, err = net.FileListener(f); err == nil {
				w.streams = append(w.streams, l)
				w.work.Go(func() { w.accept(l) })
			}
		} else {
			var p net.PacketConn
			if p, err = net.FilePacketConn(f); err == nil {
				w.packets = append(w.packets, p)
				w.work.Go(func() { w.receive(p) })
			}
		}
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(w.close)
	return w
}

// close waits for those who are served: all of them have gone by then, or hang.
func (w *internet) close() {
	for _, l := range w.streams {
		l.Close()
	}
	for _, p := range w.packets {
		p.Close()
	}
	w.work.Wait()
}

// source tells where a visit came from. A port of TCP and the same of UDP are two.
func (v *visit) source() string {
	if strings.HasPrefix(v.to, "packet to ") {
		return "udp " + v.from
	}
	return "tcp " + v.from
}

func (w *internet) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		v := &visit{to: unmapped(conn.LocalAddr()), from: unmapped(conn.RemoteAddr())}
		w.note(func() { w.visits = append(w.visits, v) })
		w.work.Go(func() {
			defer w.note(func() { v.ended = true })
			defer conn.Close()
			w.answer(conn, v)
		})
	}
}

func (w *internet) receive(p net.PacketConn) {
	for {
		_, from, err := p.ReadFrom(make([]byte, 64))
		if err != nil {
			return
		}
		_, port, _ := net.SplitHostPort(p.LocalAddr().String())
		w.note(func() {
			w.visits = append(w.visits, &visit{to: "packet to " + port, from: unmapped(from), ended: true})
		})
	}
}

// answer tells a visitor whom it reached, and waits for it to go.
func (w *internet) answer(conn net.Conn, v *visit) {
	in := bufio.NewReader(conn)
	line, _ := in.ReadString('\n') // who says nothing gets nothing
	switch {
	case strings.HasSuffix(line, " HTTP/1.1\r\n"):
		head, body := "200 OK", "reached "+v.to
		if strings.Contains(line, " /redirect ") {
			head, body = "302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/", ""
		}
		fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", head, len(body), body)
		if half, ok := conn.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	case line == "fill\n":
		for page := make([]byte, 64<<10); ; {
			n, err := conn.Write(page)
			w.note(func() { v.sent += int64(n) })
			if err != nil {
				return
			}
		}
	case line != "":
		fmt.Fprintf(conn, "reached %s\n", v.to)
	}
	_, _ = io.Copy(io.Discard, in)
}

func (w *internet) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	w.changed.Broadcast()
}

// unmapped gives an address of version 4 as such.
func unmapped(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()).String()
}

// came gives who was reached since it was last asked, in order. Who connected before is
// seen: the test connects to every port itself and waits until that has come.
func (w *internet) came(t *testing.T) []string {
	t.Helper()
	var own []string
	for i, port := range append(slices.Clone(streamPorts), packetPorts...) {
		network := "tcp4"
		if i >= len(streamPorts) {
			network = "udp4"
		}
		conn, err := net.Dial(network, fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_, err = conn.Write([]byte("\n"))
			own = append(own, network[:3]+" "+unmapped(conn.LocalAddr()))
			defer conn.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.await(t, "the test's own connections", func() bool {
		return !slices.ContainsFunc(own, func(from string) bool {
			return !slices.ContainsFunc(w.visits, func(v *visit) bool { return v.source() == from })
		})
	})
	var list []string
	for _, v := range w.visits {
		if !slices.Contains(own, v.source()) {
			list = append(list, v.to)
		}
	}
	w.visits = nil
	return list
}

// gone waits until everybody who came has gone, and gives how much they were sent.
func (w *internet) gone(t *testing.T) (sent int64) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.await(t, "the end of all connections", func() bool {
		return !slices.ContainsFunc(w.visits, func(v *visit) bool { return !v.ended })
	})
	for _, v := range w.visits {
		sent += v.sent
	}
	return sent
}

// await waits until a condition holds. It is called, and calls, with mu held.
func (w *internet) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := false
	timer := time.AfterFunc(30*time.Second, func() { w.note(func() { late = true }) })
	defer timer.Stop()
	for !ok() {
		if late {
			t.Fatalf("%s: not in time", what)
		}
		w.changed.Wait()
	}
}
