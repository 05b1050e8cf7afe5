//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// A command that may reach some hosts has a network namespace with nothing in it but
// sockets on which the runtime listens. The first process of the call makes them there and
// hands them over:
//
//	127.0.0.2:3128   the proxy, for all that the allowlist allows
//	127.1.0.1:5432   db.example:5432, for programs that know no proxy; the name is in /etc/hosts
//	10.1.2.3:5432    itself: the namespace has the address as its own
//
// What answers at each is not the sandbox's business.

// A way is where one will be.
type way struct {
	at     netip.AddrPort
	target netguard.Target
}

// mostWays bounds them: each is a socket that is made for every call.
const mostWays = 128

// proxyAt is where the proxy is, unless a target has that address.
var proxyAt = netip.MustParseAddrPort("127.0.0.2:3128")

// waysOf gives the ways of an allowlist, that to the proxy first.
func waysOf(n durward.Network) ([]way, error) {
	if n.Mode != durward.NetAllowlist {
		return nil, nil
	}
	list, err := netguard.ParseAllow(n.Allow)
	if err != nil {
		return nil, err
	}
	ways := []way{{at: proxyAt}}
	targets := list.Targets()
	own, taken := make(map[netguard.Host]netip.Addr), literals(targets)
	for n, t := range targets {
		if own[t.Host] == (netip.Addr{}) {
			own[t.Host] = insideAddr(t.Host, n, taken)
		}
		ways = append(ways, way{netip.AddrPortFrom(own[t.Host], t.Port), t})
	}
	if len(ways) > mostWays {
		return nil, unavailable("network.allow", "allow names below a domain (*.example.com:443), or fewer of them",
			"%d hosts and ports are named one by one; a call can have %d", len(ways)-1, mostWays-1)
	}
	for slices.ContainsFunc(ways[1:], func(w way) bool { return w.at == ways[0].at }) {
		ways[0].at = netip.AddrPortFrom(ways[0].at.Addr(), ways[0].at.Port()+1)
	}
	return ways, nil
}

// literals gives the addresses that targets name.
func literals(targets []netguard.Target) []netip.Addr {
	var list []netip.Addr
	for _, t := range targets {
		if addr, ok := t.Host.Addr(); ok {
			list = append(list, addr)
		}
	}
	return list
}

// insideAddr gives the address of a host in the namespace: its own where it is one, and the
// n-th of those that are nobody's where it has a name.
func insideAddr(h netguard.Host, n int, taken []netip.Addr) netip.Addr {
	if addr, ok := h.Addr(); ok {
		return addr
	}
	if h == localhost {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}) // which it is for every program
	}
	addr := netip.AddrFrom4([4]byte{127, 1, 0, byte(n + 1)})
	for network := byte(1); slices.Contains(taken, addr); network++ {
		addr = netip.AddrFrom4([4]byte{127, 1, network, byte(n + 1)})
	}
	return addr
}

const localhost = "localhost"

// hostsFile is the private /etc/hosts: the names that can be connected to without a proxy.
const hostsFile = "/etc/hosts"

// hosts gives what it holds.
func hosts(ways []way) []byte {
	text := []byte("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
	var told []netguard.Host
	for _, w := range ways {
		h := w.target.Host
		if _, literal := h.Addr(); h == "" || h == localhost || literal || slices.Contains(told, h) {
			continue
		}
		told = append(told, h)
		text = fmt.Appendf(text, "%s %s\n", w.at.Addr(), h)
	}
	return text
}

// proxyEnv gives the variables by which programs find the proxy.
func proxyEnv(ways []way) []string {
	if len(ways) == 0 {
		return nil
	}
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"=http://"+ways[0].at.String(), strings.ToLower(name)+"=http://"+ways[0].at.String())
	}
	const direct = "localhost,127.0.0.1,::1"
	return append(env, "NO_PROXY="+direct, "no_proxy="+direct)
}

// String says where a way is and whom it leads to.
func (w way) String() string {
	if w.target.Host == "" {
		return w.at.String() + " to the proxy"
	}
	return w.at.String() + " to " + w.target.String()
}

// stepListen begins the names of the steps that make ways.
const stepListen = "listen at "

// hosts puts the private /etc/hosts at its place, where the machine's is not.
func (b *builder) hosts() {
	if len(b.view.ways) > 0 && !b.view.coversHosts() {
		b.directory(path.Join(storeRoot, path.Dir(hostsFile)))
		b.writeHosts(storeRoot + hostsFile)
	}
}

func (b *builder) writeHosts(at string) {
	text := hosts(b.view.ways)
	b.add(stepHosts, unix.SYS_OPENAT, number(roomStoreFD), data(append([]byte(at), 0)), number(unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC), number(0o444))
	b.add(stepHosts, unix.SYS_WRITE, result(1), data(text), number(len(text)))
}

// coverHosts mounts it over the one that is given.
func (b *builder) coverHosts() {
	if !b.view.coversHosts() {
		return
	}
	b.open(stepHosts, roomRootFD, strings.TrimPrefix(hostsFile, "/"))
	b.add(stepHosts, unix.SYS_OPEN_TREE, number(roomStoreFD), text(hostsStore), number(cloneTree))
	b.onto(stepHosts, result(1), 2)
}

// coversHosts reports whether the machine's /etc/hosts is given with a directory around it,
// and a private one has to be mounted over it.
func (v view) coversHosts() bool { return len(v.ways) > 0 && v.inside(place{path: hostsFile}) }

const stepHosts = "private " + hostsFile

// ways makes the sockets and hands them over.
func (b *builder) ways(list []way) {
	if len(list) == 0 {
		return
	}
	have := make(map[netip.Addr]bool)
	for i, w := range list {
		name, address := stepListen+w.String(), sockaddr(w.at)
		if addr := w.at.Addr(); !addr.IsLoopback() && !have[addr] {
			have[addr] = true
			b.ownAddress(name, addr, i)
		}
		b.place(name, unix.SYS_SOCKET, roomWorkFD, number(familyOf(w.at.Addr())), number(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), number(0))
		if w.at.Addr().Is6() {
			b.add(name, unix.SYS_SETSOCKOPT, number(roomWorkFD), number(unix.IPPROTO_IPV6), number(unix.IPV6_FREEBIND), data([]byte{1, 0, 0, 0}), number(4))
		}
		b.add(name, unix.SYS_BIND, number(roomWorkFD), data(address), number(len(address)))
		b.add(name, unix.SYS_LISTEN, number(roomWorkFD), number(wayBacklog))
		b.add(name, unix.SYS_SENDMSG, number(roomHandFD), handover(roomWorkFD), number(unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL))
	}
}

// wayBacklog is how many connections wait to be accepted.
const wayBacklog = 128

// ownAddress has the loopback interface, which has n others at most, answer for an address.
// To give it one of version 6 takes until later; a route does not, and does the same.
func (b *builder) ownAddress(name string, addr netip.Addr, n int) {
	b.place(name, unix.SYS_SOCKET, roomWorkFD, number(familyOf(addr)), number(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), number(0))
	if addr.Is6() {
		b.add(name, unix.SYS_IOCTL, number(roomWorkFD), number(unix.SIOCADDRT), data(localRoute(addr)))
		return
	}
	b.add(name, unix.SYS_IOCTL, number(roomWorkFD), number(unix.SIOCSIFADDR), data(interfaceRequest(n, addr)))
	b.add(name, unix.SYS_IOCTL, number(roomWorkFD), number(unix.SIOCSIFNETMASK), data(interfaceRequest(n, netip.AddrFrom4([4]byte{255, 255, 255, 255}))))
}

// localRoute is a struct in6_rtmsg for one address that is the namespace's own.
func localRoute(addr netip.Addr) []byte {
	const upLocal, first = 0x80000001, 1 // RTF_UP and RTF_LOCAL; the loopback is the first interface of every namespace
	b := append(addr.AsSlice(), make([]byte, 32)...)
	b = binary.NativeEndian.AppendUint32(b, unix.RTN_LOCAL)
	b = binary.NativeEndian.AppendUint32(b, uint32(addr.BitLen())) // and no bits of a source, in the upper half
	b = append(b, make([]byte, 16)...)
	return binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(b, upLocal), first)
}

// interfaceRequest is a struct ifreq about the n-th further address of the loopback.
func interfaceRequest(n int, addr netip.Addr) []byte {
	request := make([]byte, 40)
	copy(request[:15], fmt.Sprintf("lo:%d", n))
	copy(request[16:], sockaddr(netip.AddrPortFrom(addr, 0)))
	return request
}

func familyOf(addr netip.Addr) int {
	if addr.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// sockaddr is a struct sockaddr_in or sockaddr_in6.
func sockaddr(at netip.AddrPort) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(familyOf(at.Addr())))
	b = binary.BigEndian.AppendUint16(b, at.Port())
	if at.Addr().Is4() {
		return append(append(b, at.Addr().AsSlice()...), make([]byte, 8)...)
	}
	b = append(b, 0, 0, 0, 0) // flow
	return append(append(b, at.Addr().AsSlice()...), 0, 0, 0, 0)
}
