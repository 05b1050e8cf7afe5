//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// A room is what a call at level 2 may live in, besides one with no network, which every
// row is tried in.
type room struct {
	name   string
	change func(*scene)
	warm   bool
}

// networks are those with a network of their own.
var networks = []room{
	{name: "loopback", change: func(s *scene) { s.base = s.base.with("network", "{mode: loopback}") }},
	{name: "allowlist", change: allowing(`"api.test:443", "*.below.test:443"`)},
}

var rooms = append([]room{
	{name: "copy", change: func(s *scene) { s.base = s.base.with("filesystem", s.files("copyOnWrite: true, protect: []")) }},
	{name: "cell", change: func(*scene) {}, warm: true},
}, networks...)

// within runs a test in a scene for each room and user.
func (r row) within(t *testing.T, list []room, test func(*scene, room)) {
	t.Helper()
	for _, one := range list {
		t.Run(one.name, func(t *testing.T) {
			own := r
			own.from, own.warm, own.serial = 2, one.warm, r.serial || one.warm
			own.change = func(s *scene) {
				if r.change != nil {
					r.change(s)
				}
				one.change(s)
			}
			own.at(t, []int{2}, func(s *scene) { test(s, one) })
		})
	}
}

// inCell has a call find a cell that waits, and asks that it was taken. One that is seen may
// not be ready yet: then the call leaves another one, and is made again.
func (s *scene) inCell(do func() (durward.Result, error)) func() (durward.Result, error) {
	return func() (r durward.Result, err error) {
		s.Helper()
		for range 10 {
			before := s.cells()
			if r, err = do(); err != nil {
				return r, err
			}
			after := s.cells()
			if slices.ContainsFunc(before, func(pid int) bool { return !slices.Contains(after, pid) }) {
				return r, nil
			}
			waitFor(s.T, "a cell waits", func() bool { return len(s.cells()) > 0 })
		}
		s.Errorf("no call took a cell that waited")
		return r, err
	}
}

// cells gives the first processes that wait for a call. Those of a call are named after
// its command.
func (s *scene) cells() []int {
	s.Helper()
	return slices.DeleteFunc(processesWith(s.T, "durward-reaper"), func(pid int) bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // empty for the dead
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		return len(fields) < 2 || fields[0] == "Z" || fields[1] != fmt.Sprint(os.Getpid())
	})
}

// A room that a level does not have is refused.
func TestV22OwnNetworksNotBelowLevel2(t *testing.T) {
	for _, one := range networks {
		t.Run(one.name, func(t *testing.T) {
			row{id: "V22", needs: "net", from: 2, change: one.change}.at(t, []int{0, 1}, func(*scene) {})
		})
	}
}

// A network of one's own is nobody else's, and has no sockets but plain ones.
func TestV22OwnNetworks(t *testing.T) {
	row{id: "V22", needs: "net"}.within(t, networks, func(s *scene, _ room) {
		s.must(s.attempt("loopback"))
		s.must(s.attempt("udp", s.udp)) // to nobody
		for _, how := range []string{"tcp", "fastopen", "mptcp"} {
			s.denied(s.attempt(how, s.tcp), append(unreachable, unmade...)...)
		}
		for _, outside := range append(ownAddresses(s.T), "192.0.2.1", "169.254.169.254", "2001:db8::1", "fe80::1") {
			for _, how := range []string{"tcp", "udp", "fastopen"} {
				s.denied(s.attempt(how, net.JoinHostPort(outside, "9")), append(unreachable, "EINVAL")...)
			}
		}
		for _, one := range oddSockets() {
			s.denied(s.make(s.base, one), unmade...)
		}
		s.nothingAsked()
	})
}

// nothingAsked asks that the runtime has looked up no name.
func (s *scene) nothingAsked() {
	s.Helper()
	if asked := s.names.take(); len(asked) > 0 {
		s.Errorf("looked up: %q", asked)
	}
}

// A shell that is sent to the proxy finds what everybody finds there.
func TestV23OwnNetworks(t *testing.T) {
	row{id: "V23", needs: "net"}.within(t, networks, func(s *scene, in room) {
		outside := append(ownAddresses(s.T), "192.0.2.1")
		scripts := []string{"echo x > /dev/tcp/" + strings.ReplaceAll(s.tcp, ":", "/")}
		for _, addr := range outside {
			scripts = append(scripts, "echo x > /dev/tcp/"+addr+"/9", "echo x > /dev/udp/"+addr+"/9")
		}
		for _, script := range scripts {
			if r, err := s.shell(script); err != nil || r.ExitStatus() == 0 {
				s.Errorf("%s: exit %d, %v", script, r.ExitStatus(), err)
			}
		}
		// To a loopback of its own: who listens on this machine's does not hear it.
		if r, err := s.shell("echo x > /dev/udp/" + strings.ReplaceAll(s.udp, ":", "/")); err != nil || r.ExitStatus() != 0 {
			s.Errorf("exit %d, %v: %q", r.ExitStatus(), err, r.Stderr.Bytes())
		}
		if in.name == "allowlist" {
			s.shellToProxy(s.tcp, "192.0.2.1:9", "evil.test:443", "api.test:9")
		}
		s.nothingAsked()
	})
}

// shellToProxy has a shell ask the proxy for targets that are refused.
func (s *scene) shellToProxy(targets ...string) {
	s.Helper()
	for _, target := range targets {
		r, err := s.shell(`exec 3<>/dev/tcp/127.0.0.2/${HTTPS_PROXY##*:} && printf 'CONNECT ` + target + ` HTTP/1.1\r\nHost: x\r\n\r\n' >&3 && read -r -u 3 _ code _ && echo $code`)
		if err != nil || string(r.Stdout.Bytes()) != "403\n" {
			s.Errorf("%s: %q, %v: %q", target, r.Stdout.Bytes(), err, r.Stderr.Bytes())
		}
	}
}

func TestV24OwnNetworks(t *testing.T) {
	row{id: "V24", needs: "net, unix"}.within(t, networks, func(s *scene, in room) {
		for _, database := range []string{"hosts", "ahosts", "ahostsv4", "ahostsv6"} {
			for _, name := range []string{"example.com", "evil.test", "a.below.test"} {
				r, err := s.shell("getent " + database + " " + name)
				if err != nil || r.ExitStatus() == 0 || r.Stdout.Total > 0 {
					s.Errorf("getent %s %s: exit %d, %v: %q", database, name, r.ExitStatus(), err, r.Stdout.Bytes())
				}
			}
		}
		s.must(s.attempt("udp", "127.0.0.1:53")) // to nobody
		s.denied(s.attempt("tcp", "127.0.0.1:53"), unreachable...)
		for _, server := range append(nameservers(s.T), "8.8.8.8") {
			for _, how := range []string{"udp", "tcp"} {
				if how == "udp" && net.ParseIP(server).IsLoopback() {
					continue // to nobody
				}
				s.denied(s.attempt(how, net.JoinHostPort(server, "53")), unreachable...)
			}
		}
		for _, path := range []string{"/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/var/run/nscd/socket", "/run/dbus/system_bus_socket"} {
			s.denied(s.attempt("unix", path), hidden...)
		}
		if in.name == "allowlist" {
			s.shellToProxy("8.8.8.8:53", "127.0.0.53:53")
		}
		s.nothingAsked()
	})
}

func TestV25OwnNetworks(t *testing.T) {
	row{id: "V25", needs: "net, unix"}.withinEach(t, abstractSockets())
}

func TestV26OwnNetworks(t *testing.T) {
	row{id: "V26", needs: "net, unix"}.withinEach(t, pathSockets())
}

// withinEach makes attempts that are to be denied in each network.
func (r row) withinEach(t *testing.T, list []try) {
	t.Helper()
	r.within(t, networks, func(s *scene, _ room) {
		for _, one := range list {
			s.denied(s.make(s.base, one), one.want...)
		}
	})
}

func TestV26WholeHostInOwnNetworks(t *testing.T) {
	wholeHost().within(t, networks, func(s *scene, in room) {
		unusableHost(s)
		// The hosts that are allowed have names there, and nowhere else.
		got, want := s.must(s.attempt("read", "/etc/hosts")), in.name == "allowlist"
		if strings.Contains(got, "api.test") != want {
			s.Errorf("/etc/hosts: %q", got)
		}
		if own, err := os.ReadFile("/etc/hosts"); err != nil || strings.Contains(string(own), "api.test") {
			s.Errorf("this machine's: %q, %v", own, err)
		}
	})
}

func TestV27EachRoom(t *testing.T) {
	row{id: "V27", needs: "ipc"}.within(t, rooms, func(s *scene, _ room) { unsharedMemory(s) })
}

// What the runtime holds for a call, its listeners and its copies, is no more the command's
// than all else.
func TestV28EachRoom(t *testing.T) {
	row{id: "V28", needs: "ipc"}.within(t, rooms, func(s *scene, in room) {
		threeDescriptors(s)
		if in.name != "copy" {
			return
		}
		s.must(s.attempt("create", "made"))
		if _, err := os.Lstat(filepath.Join(s.workspace, "made")); !os.IsNotExist(err) {
			s.Errorf("it landed in the workspace: %v", err)
		}
	})
}
