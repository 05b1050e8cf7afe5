//go:build linux && (amd64 || arm64)

package seccomp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

func TestOrdinaryWorkGoesOn(t *testing.T) {
	for _, p := range policies[:6] {
		t.Run(fmt.Sprintf("%q %v", p.Network, p.Unix), func(t *testing.T) {
			as(t, func(t *testing.T, user int) {
				if out, err := (job{Policy: p, User: user, Dir: newDir(t, user), What: "work"}).run(t); err != nil {
					t.Errorf("%v %s", err, out)
				}
			})
		})
	}
}

// work does what commands do.
func (j job) work() error {
	for name, work := range map[string]func() error{
		"files": workFiles, "programs": workPrograms, "threads": workThreads, "pairs": workPairs, "filters": workFilters,
		"unix": j.workUnix, "network": j.workNetwork, "routes": j.workRoutes,
	} {
		if err := work(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func workFiles() error {
	return errors.Join(
		os.MkdirAll("a/b", 0o755), os.WriteFile("a/b/c", []byte("text"), 0o644), os.Chmod("a/b/c", 0o700),
		os.Rename("a/b/c", "a/c"), os.Symlink("c", "a/l"), os.RemoveAll("a"),
	)
}

func workPrograms() error {
	out, err := exec.Command("/bin/sh", "-c", "umask 022; (echo one; echo two) | cat; mkdir d && rmdir d").CombinedOutput()
	if err == nil && string(out) != "one\ntwo\n" {
		return fmt.Errorf("sh says %q", out)
	}
	return err
}

func workThreads() error {
	done := make(chan struct{})
	for range 8 {
		go func() {
			runtime.LockOSThread() // ends with its thread
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	return nil
}

// workPairs has a pair carry bytes, but not go elsewhere.
func workPairs() error {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := carries(pair); err != nil {
			return err
		}
		elsewhere := &unix.SockaddrUnix{Name: "listener"}
		if err := unix.Connect(pair[0], elsewhere); err == nil {
			return errors.New("one end of a pair was connected to another socket")
		}
		// What is sent with an address is refused, or goes to the other end.
		_ = unix.Sendto(pair[0], []byte("elsewhere"), unix.MSG_NOSIGNAL, elsewhere)
		unix.Close(pair[1])
		if err := unix.Connect(pair[0], elsewhere); err == nil {
			return errors.New("what is left of a pair was connected to another socket")
		}
		_ = unix.Sendto(pair[0], []byte("elsewhere"), unix.MSG_NOSIGNAL, elsewhere)
		unix.Close(pair[0])
	}
	return nil
}

func carries(pair [2]int) error {
	if _, err := unix.Write(pair[0], []byte("bytes")); err != nil {
		return err
	}
	got := make([]byte, 8)
	if n, err := unix.Read(pair[1], got); err != nil || string(got[:n]) != "bytes" {
		return fmt.Errorf("a pair carries %q %w", got[:n], err)
	}
	return nil
}

// workFilters loads the strictest filter on top, in a thread that ends with it.
func workFilters() error {
	done := make(chan error)
	go func() { done <- load(Compile(Policy{}).Program(), 0) }()
	return <-done
}

func (j job) workUnix() error {
	l, err := net.Listen("unix", "socket")
	if !j.Policy.Unix {
		return wantRefused(err)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	return echo(l)
}

func (j job) workNetwork() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if !expectedSocket(j.Policy, unix.AF_INET, unix.SOCK_STREAM, 0) {
		return wantRefused(err)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return errors.Join(u.Close(), echo(l))
}

func (j job) workRoutes() error {
	_, err := net.Interfaces()
	if j.Policy.Network != durward.NetFull {
		return wantRefused(err)
	}
	return err
}

func wantRefused(err error) error {
	if errors.Is(err, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("not refused: %w", err)
}

func echo(l net.Listener) error {
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "hello")
			c.Close()
		}
	}()
	c, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	if got, err := io.ReadAll(c); err != nil || string(got) != "hello" {
		return fmt.Errorf("%q came through: %w", got, err)
	}
	return nil
}

// A datagram pair is refused because one end of it reaches every socket that has a name.
func TestPairsReachNobodyElse(t *testing.T) {
	as(t, func(t *testing.T, user int) {
		dir := newDir(t, user)
		t.Chdir(dir)
		listener, err := net.ListenPacket("unixgram", "listener")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if err := os.Chmod("listener", 0o777); err != nil {
			t.Fatal(err)
		}
		if got := received(t, listener); got != "" {
			t.Fatalf("%q before anything was sent", got)
		}
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(pair[0])
		defer unix.Close(pair[1])
		if err := unix.Sendto(pair[0], []byte("from a pair"), 0, &unix.SockaddrUnix{Name: "listener"}); err != nil {
			t.Fatal(err)
		}
		if got := received(t, listener); got != "from a pair" {
			t.Errorf("%q came from a datagram pair: there is no reason to refuse it", got)
		}
		if out, err := (job{User: user, Dir: dir, What: "work"}).run(t); err != nil {
			t.Errorf("%v %s", err, out)
		}
		if got := received(t, listener); got != "" {
			t.Errorf("%q came from a pair of another kind", got)
		}
	})
}

// received gives what is there.
func received(t *testing.T, c net.PacketConn) string {
	t.Helper()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 64)
	n := 0
	if err := raw.Control(func(fd uintptr) {
		n, _, err = unix.Recvfrom(int(fd), got, unix.MSG_DONTWAIT)
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	return string(got[:max(n, 0)])
}
