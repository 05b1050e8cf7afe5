//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A picture is what some directories hold, as somebody outside sees it: all that can be
// known of each file but when it was read.
type picture map[string]string

func take(t *testing.T, dirs ...string) picture {
	t.Helper()
	p := picture{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				p[path], err = describe(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func describe(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", err
	}
	text := fmt.Sprintf("mode %o owner %d:%d links %d size %d device %d modified %d changed %d",
		st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Rdev, st.Mtim.Nano(), st.Ctim.Nano())
	names := make([]byte, 4096)
	if n, err := unix.Llistxattr(path, names); err == nil && n > 0 {
		for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
			value := make([]byte, 4096)
			m, _ := unix.Lgetxattr(path, name, value) // one that may not be read stays so
			text += fmt.Sprintf(" %s=%q", name, value[:max(m, 0)])
		}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		content, err := os.ReadFile(path)
		return text + fmt.Sprintf(" content %x", sha256.Sum256(content)), err
	case unix.S_IFLNK:
		to, err := os.Readlink(path)
		return text + " to " + to, err
	}
	return text, nil
}

// differences tells what is not in both pictures, or not the same.
func (p picture) differences(q picture) []string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(p)) {
		if now, there := q[path]; !there {
			list = append(list, path+" is gone")
		} else if now != p[path] {
			list = append(list, fmt.Sprintf("%s was %s and is %s", path, p[path], now))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(q)) {
		if _, there := p[path]; !there {
			list = append(list, path+" is new: "+q[path])
		}
	}
	return list
}

// names lists what is below dir, without dir itself.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	for path := range take(t, dir) {
		if rest, err := filepath.Rel(dir, path); err == nil && rest != "." {
			list = append(list, rest)
		}
	}
	slices.Sort(list)
	return list
}

// setIDFiles lists what has a set-id bit below dir.
func setIDFiles(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	for path := range take(t, dir) {
		if st, err := os.Lstat(path); err == nil && st.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			list = append(list, path)
		}
	}
	return list
}

// processesWith gives the ids of all processes on this machine whose command line holds
// the text.
func processesWith(t *testing.T, text string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline") // empty for the dead
		if strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// attempts gives those of the processes with such a command line that have come to run
// it. Whoever starts a command is called the same until then, and its reaper for good.
func attempts(t *testing.T, line string) []int {
	t.Helper()
	return slices.DeleteFunc(processesWith(t, line), func(pid int) bool {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // empty for the dead
		return string(name) != "attempt\n"
	})
}

// mounts lists the mounts of this machine that have to do with a path.
func mounts(t *testing.T, path string) []string {
	t.Helper()
	all, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, path) {
			list = append(list, line)
		}
	}
	return list
}

// A listener is a socket to which nobody is to get through.
type listener struct {
	name string
	fd   int
	// packets have no connection to be accepted.
	packets bool
}

func listen(t *testing.T, name string, family, kind int, at unix.Sockaddr) listener {
	t.Helper()
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == nil {
		t.Cleanup(func() { unix.Close(fd) })
		err = unix.Bind(fd, at)
	}
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, 64)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return listener{name, fd, kind == unix.SOCK_DGRAM}
}

// heard reports whether anybody has got through. Who has is in the queue by then: the
// kernel puts it there before the other side hears of it.
func (l listener) heard() bool {
	if l.packets {
		_, _, err := unix.Recvfrom(l.fd, make([]byte, 64), unix.MSG_DONTWAIT)
		return !errors.Is(err, unix.EAGAIN)
	}
	fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return !errors.Is(err, unix.EAGAIN)
}

// A canary is a process that is to stay as it is.
type canary struct {
	cmd   *exec.Cmd
	pid   int
	pidfd int
}

// secretOfCanary is in the environment of each canary.
const secretOfCanary = "canary-5bd1e995"

// sing starts a canary as that user.
func sing(t *testing.T, uid, gid int) *canary {
	t.Helper()
	c := &canary{cmd: exec.Command(program(t), "wait")}
	c.cmd.Env = []string{"SECRET=" + secretOfCanary}
	c.cmd.Dir = "/"
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, PidFD: &c.pidfd}
	if os.Geteuid() == 0 {
		c.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	stdin, err := c.cmd.StdinPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.pid = c.cmd.Process.Pid
	t.Cleanup(func() {
		stdin.Close()
		_ = c.cmd.Wait() // a test that has failed may have killed it
		unix.Close(c.pidfd)
	})
	return c
}

// harm tells what has become of a canary, or "".
func (c *canary) harm(t *testing.T) string {
	t.Helper()
	ended, err := unix.Poll([]unix.PollFd{{Fd: int32(c.pidfd), Events: unix.POLLIN}}, 0)
	if err != nil && !errors.Is(err, unix.EINTR) {
		t.Fatal(err)
	}
	if ended > 0 {
		return "it is dead"
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"State:\tT", "State:\tt", "State:\tZ"} {
		if strings.Contains(string(status), bad) {
			return "it has " + bad
		}
	}
	if !strings.Contains(string(status), "TracerPid:\t0\n") {
		return "it is being traced"
	}
	return ""
}
