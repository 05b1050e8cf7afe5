//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

var (
	// unreachable is what connecting ends with where there is no network.
	unreachable = []string{"EPERM", "EACCES", "ENETUNREACH", "ECONNREFUSED", "EADDRNOTAVAIL", "EHOSTUNREACH"}
	// unmade is what making a socket ends with that nobody may make. The kernel may not
	// know of it at all.
	unmade = []string{"EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EINVAL"}
)

func TestV22Sockets(t *testing.T) {
	list := []try{
		{"tcp $tcp", unreachable, true},
		{"fastopen $tcp", unreachable, false},
		{"udp $udp", unreachable, true},
		{"mptcp $tcp", unreachable, false},
		{"listen 127.0.0.1:0", unreachable, true},
		{"listen [::]:0", unreachable, false},
		{"socket inet stream 0", eperm, true},
		{"socket inet stream+ 0", eperm, true},
		{"socket inet6 stream 0", eperm, false},
		{"socket inet dgram 0", eperm, true},
		{"udp 192.0.2.1:53", unreachable, false},
		{"tcp 169.254.169.254:80", unreachable, false},
	}
	row{id: "V22", needs: "net", from: 1}.tries(t, append(list, oddSockets()...))
}

// oddSockets are those that no mode of the network has.
func oddSockets() []try {
	list := []try{{"vsock", append([]string{"ENODEV", "ECONNRESET"}, unmade...), false}}
	for _, what := range []string{
		"icmp 127.0.0.1:0", "raw 127.0.0.1:0", "sctp 127.0.0.1:9", "udplite 127.0.0.1:9",
		"socket inet raw 1", "socket inet raw 255", "socket inet6 raw 58", "socket inet dgram 1", "socket inet6 dgram 58",
		"socket inet stream 262", "socket inet6 stream 262", "socket inet stream 132", "socket inet seqpacket 132", "socket inet dgram 33",
		"socket netlink raw 9", "socket netlink raw 15", "socket netlink dgram 16", "socket netlink raw 4", "socket netlink raw 12",
		"socket packet raw 768", "socket packet dgram 768", "socket vsock stream 0", "socket vsock dgram 0", "socket vsock seqpacket 0",
		"socket alg seqpacket 0", "socket xdp raw 0", "socket can raw 1", "socket bluetooth raw 1", "socket tipc stream 0",
		"socket smc stream 0", "socket key raw 2", "socket rds seqpacket 0", "socket qipcrtr dgram 0",
	} {
		list = append(list, try{what, unmade, false})
	}
	return list
}

// With the whole network the odd ones stay refused.
func TestV22OddSocketsOfFullNetwork(t *testing.T) {
	row{id: "V22", needs: "syscalls", from: 1}.each(t, func(s *scene) {
		s.base = s.base.with("network", "{mode: full}")
		s.must(s.attempt("socket", "netlink", "raw", "0"))
		for _, one := range oddSockets() {
			s.denied(s.make(s.base, one), "EPERM")
		}
		s.must(s.attempt("tcp", s.tcp))
		s.must(s.attempt("udp", s.udp))
		for _, l := range s.listeners[:2] {
			if !l.heard() {
				s.Errorf("%s has not heard what is allowed", l.name)
			}
		}
	})
}

// ownAddresses lists the addresses of this machine that others reach it by.
func ownAddresses(t *testing.T) []string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			list = append(list, ip.IP.String())
		}
	}
	return list
}

func TestV23ShellRedirection(t *testing.T) {
	row{id: "V23", needs: "net", from: 1}.each(t, func(s *scene) {
		for kind, at := range map[string]string{"tcp": s.tcp, "udp": s.udp} {
			r, err := s.shell("echo " + secretOfCanary + " > /dev/" + kind + "/" + strings.ReplaceAll(at, ":", "/"))
			if err != nil || r.ExitStatus() == 0 {
				s.Errorf("%s: exit %d, %v", kind, r.ExitStatus(), err)
			}
		}
	})
	t.Run("free", func(t *testing.T) {
		s := newScene(t, row{id: "V23"}, 0, users()[0])
		s.spoilt = true
		for kind, at := range map[string]string{"tcp": s.tcp, "udp": s.udp} {
			if r, err := s.shell("echo x > /dev/" + kind + "/" + strings.ReplaceAll(at, ":", "/")); err != nil || r.ExitStatus() != 0 {
				s.Errorf("%s: exit %d, %v; nothing confines it", kind, r.ExitStatus(), err)
			}
		}
		for _, l := range s.listeners[:2] {
			if !l.heard() {
				s.Errorf("%s has not heard it", l.name)
			}
		}
		s.end()
	})
}

func TestV24Names(t *testing.T) {
	row{id: "V24", needs: "net, unix", from: 1}.each(t, func(s *scene) {
		for _, database := range []string{"hosts", "ahosts", "ahostsv4"} {
			r, err := s.shell("getent " + database + " " + "example.com")
			if err != nil || r.ExitStatus() == 0 || r.Stdout.Total > 0 {
				s.Errorf("getent %s: exit %d, %v: %q", database, r.ExitStatus(), err, r.Stdout.Bytes())
			}
		}
		s.denied(s.attempt("udp", s.udp), unreachable...) // it might be a resolver
		for _, server := range append(nameservers(s.T), "8.8.8.8") {
			s.denied(s.attempt("udp", net.JoinHostPort(server, "53")), unreachable...)
			s.denied(s.attempt("tcp", net.JoinHostPort(server, "53")), unreachable...)
		}
		for _, path := range []string{"/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/var/run/nscd/socket", "/run/dbus/system_bus_socket"} {
			s.denied(s.attempt("unix", path), hidden...)
		}
	})
}

// nameservers lists those of this machine.
func nameservers(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Log(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" && net.ParseIP(f[1]) != nil {
			list = append(list, f[1])
		}
	}
	return list
}

var unheard = append([]string{"ECONNREFUSED", "EINVAL", "EOPNOTSUPP"}, hidden...)

func TestV25AbstractSockets(t *testing.T) {
	row{id: "V25", needs: "unix", from: 1}.tries(t, abstractSockets())
}

func abstractSockets() []try {
	return []try{
		{"unix $abstract", unheard, true},
		{"unixgram $abstract-gram", unheard, true},
		{"pairgram $abstract-gram", unheard, true},
		{"pairconnect $abstract", append(unheard, "EISCONN"), false},
	}
}

func TestV26PathSockets(t *testing.T) {
	row{id: "V26", needs: "unix", from: 1}.tries(t, pathSockets())
}

func pathSockets() []try {
	list := []try{
		{"unix $outside/s", unheard, true},
		{"unixgram $outside/s-gram", unheard, true},
		{"pairgram $outside/s-gram", unheard, true},
		{"unix ../outside/s", unheard, true},
		{"unix /proc/self/root$outside/s", unheard, false},
		{"symlink $outside/s l; unix l", unheard, true},
		// What may be read may not be talked to.
		{"unix $readable/s", unheard, true},
		{"unixgram $readable/s-gram", unheard, true},
		{"pairgram $readable/s-gram", unheard, true},
	}
	for _, path := range []string{"/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"} {
		list = append(list, try{"unix " + path, unheard, false})
	}
	return list
}

// Where all of the machine can be seen, its sockets and devices cannot be used, and what
// is secret stays so. The temporary directory is private in any case.
func TestV26WholeHost(t *testing.T) {
	wholeHost().each(t, unusableHost)
}

func wholeHost() row {
	return row{id: "V26", needs: "fs.read, fs.write, unix", from: 2, in: "/var/tmp", change: func(s *scene) {
		s.base = s.base.with("filesystem", s.files(`write: ["${workspace}"], view: host-ro, protect: []`))
	}}
}

func unusableHost(s *scene) {
	s.Helper()
	if got := s.must(s.attempt("read", s.outside+"/secret")); got != secret {
		s.Errorf("the machine is not to be seen: %q", got)
	}
	for _, what := range []string{"unix $outside/s", "unixgram $outside/s-gram", "pairgram $outside/s-gram", "unix $readable/s", "unix $abstract"} {
		s.denied(s.make(s.base, try{what: what}), unheard...)
	}
	for _, what := range []string{
		"create $outside/new", "append $victim", "chmod $victim 0600", "utimes $victim", "setxattr $victim", "rename $victim taken", "link $victim h", "remove $victim",
		"open /dev/kmsg", "open /dev/mem", "open /dev/kvm", "open /dev/fuse", "open /dev/vda", "read /etc/shadow", "read /etc/gshadow",
		"read /proc/$runtime/environ", "stat /proc/$canary", "openwrite /proc/sys/kernel/core_pattern", "openwrite /sys/kernel/uevent_helper",
	} {
		s.denied(s.make(s.base, try{what: what}), append(blocked, "ENXIO", "EISDIR")...)
	}
}

// Pairs are for one's own processes and stay.
func TestSocketPairsStay(t *testing.T) {
	row{id: "V26", needs: "unix", from: 1}.each(t, func(s *scene) {
		s.must(s.attempt("pair", "unix", "stream"))
		s.must(s.attempt("pair", "unix", "seqpacket"))
	})
}

// A trove is what System V and POSIX hold for processes of this machine to share.
type trove struct {
	shm, sem, msg, key int
	queue              string
}

// bury makes one that anybody may use.
func bury(s *scene) trove {
	s.Helper()
	v := trove{key: 0x64770000 | s.canary.pid&0xffff, queue: filepath.Base(s.top)}
	var err error
	v.shm, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o666)
	s.check(err)
	s.Cleanup(func() { s.check2(unix.SysvShmCtl(v.shm, unix.IPC_RMID, nil)) })
	page, err := unix.SysvShmAttach(v.shm, 0, 0)
	s.check(err)
	copy(page, strings.TrimSpace(secret))
	s.check(unix.SysvShmDetach(page))
	v.sem = made(s, unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, 0o666)
	s.Cleanup(func() { made(s, unix.SYS_SEMCTL, uintptr(v.sem), 0, unix.IPC_RMID) })
	v.msg = made(s, unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o666, 0)
	s.Cleanup(func() { made(s, unix.SYS_MSGCTL, uintptr(v.msg), unix.IPC_RMID, 0) })
	message := struct {
		kind int64
		text [16]byte
	}{kind: 1}
	copy(message.text[:], strings.TrimSpace(secret))
	_, _, errno := unix.Syscall6(unix.SYS_MSGSND, uintptr(v.msg), uintptr(unsafe.Pointer(&message)), 16, unix.IPC_NOWAIT, 0, 0)
	if errno != 0 {
		s.Fatal(errno)
	}
	name, err := unix.BytePtrFromString(v.queue)
	s.check(err)
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0, 0)
	if errno != 0 {
		s.Fatal(errno)
	}
	s.check(unix.Close(int(fd)))
	s.Cleanup(func() {
		if _, _, errno := unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0); errno != 0 {
			s.Error(errno)
		}
	})
	return v
}

func made(s *scene, nr uintptr, a, b, c uintptr) int {
	s.Helper()
	id, _, errno := unix.Syscall(nr, a, b, c)
	if errno != 0 {
		s.Fatal(errno)
	}
	return int(id)
}

func (s *scene) check2(_ int, err error) {
	s.Helper()
	s.check(err)
}

func (v trove) tries() map[string][]string {
	return map[string][]string{
		"memory":     {"shm", fmt.Sprint(v.shm)},
		"removal":    {"shmremove", fmt.Sprint(v.shm)},
		"semaphores": {"sem", fmt.Sprint(v.sem)},
		"messages":   {"msg", fmt.Sprint(v.msg)},
		"queue":      {"mq", v.queue},
	}
}

func TestV27SharedMemory(t *testing.T) {
	row{id: "V27", needs: "ipc", from: 2}.each(t, unsharedMemory)
	t.Run("free", func(t *testing.T) {
		s := newScene(t, row{id: "V27"}, 0, users()[0])
		for what, args := range bury(s).tries() {
			if what == "removal" {
				continue // only for its owner
			}
			s.must(s.attempt(args...))
		}
		s.end()
	})
}

func unsharedMemory(s *scene) {
	s.Helper()
	v := bury(s)
	for what, args := range v.tries() {
		a := s.attempt(args...)
		if a.Err == "" {
			s.Errorf("%s: %v", what, a)
		}
		s.denied(a, "EINVAL", "EIDRM", "ENOENT", "EACCES", "EPERM", "ENOMSG")
	}
	// What it makes is nobody's but its own.
	s.must(s.attempt("shmnew", fmt.Sprint(v.key)))
	if id, err := unix.SysvShmGet(v.key, 0, 0); err == nil {
		s.Errorf("its memory is there: %d", id)
	}
	if entries, err := os.ReadDir("/dev/shm"); err == nil {
		made := filepath.Join("/dev/shm", filepath.Base(s.top)+".shm")
		s.must(s.attempt("create", made))
		for _, e := range entries {
			s.denied(s.attempt("open", "/dev/shm/"+e.Name()), "ENOENT", "ENOTDIR")
		}
		if _, err := os.Lstat(made); !os.IsNotExist(err) {
			s.Errorf("what it made in /dev/shm is there: %v", err)
		}
	}
	// What is there is as it was.
	for id := range map[int]bool{v.shm: true} {
		page, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		s.check(err)
		if got := string(page[:len(secret)-1]); got != strings.TrimSpace(secret) {
			s.Errorf("the memory of this machine holds %q", got)
		}
		s.check(unix.SysvShmDetach(page))
	}
}
