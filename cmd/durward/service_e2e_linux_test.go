//go:build linux && e2e

package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A booted system is a root whose own systemd runs it, in namespaces of its own: its root is
// nobody here, so that it can change nothing of the machine's.
type booted struct{ pid int }

// firstUser is whom root of a booted system is here.
const firstUser = 100_000

// moveIn makes the namespaces' mounts and becomes systemd. $1 is the root.
const moveIn = `
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for dir in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs $dir; done
for name in null zero full random urandom tty; do touch dev/$name; mount --bind /dev/$name dev/$name; done
mkdir dev/pts dev/shm old
mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
pivot_root . old
umount -l old
rmdir old
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console`

// boot has the root's systemd run until the test ends.
func (r chroot) boot(t *testing.T) booted {
	t.Helper()
	r.giveTo(t, firstUser)
	group := newCgroup(t, firstUser)
	var log bytes.Buffer
	ids := []syscall.SysProcIDMap{{HostID: firstUser, Size: 65536}}
	init := exec.Command("sh", "-ec", moveIn, "sh", string(r))
	init.Stdout, init.Stderr = &log, &log
	init.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWCGROUP,
		UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true, Credential: &syscall.Credential{},
		UseCgroupFD: true, CgroupFD: int(group.Fd()), Setsid: true,
	}
	if err := init.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = init.Process.Kill() // and with it all that it started
		_ = init.Wait()
		if t.Failed() {
			t.Logf("systemd says:\n%s", log.Bytes())
		}
	})
	b := booted{init.Process.Pid}
	eventually(t, "the system has started", func() bool {
		said, _ := b.command("systemctl is-system-running").Output()
		return slices.Contains([]string{"running", "degraded"}, strings.TrimSpace(string(said))) // what others lack here is theirs
	})
	return b
}

// giveTo gives all files to the users that begin with one.
func (r chroot) giveTo(t *testing.T, first int) {
	t.Helper()
	err := filepath.WalkDir(string(r), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		return os.Lchown(path, first+int(st.Uid), first+int(st.Gid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newCgroup makes a cgroup of version 2 in which a user may make others. It goes with the test.
func newCgroup(t *testing.T, owner int) *os.File {
	t.Helper()
	home := regexp.MustCompile(`(?m)^\S+ \S+ \S+ / (\S+) .* - cgroup2 `).FindStringSubmatch(textOf(t, "/proc/self/mountinfo"))
	if home == nil {
		t.Fatal("there are no cgroups of version 2")
	}
	dir, err := os.MkdirTemp(home[1], "durward-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if said, err := exec.Command("find", dir, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(dir, name), owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	group, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = group.Close() })
	return group
}

// command is a line of a shell in the system, as its root.
func (b booted) command(line string) *exec.Cmd {
	return exec.Command("nsenter", "-t", strconv.Itoa(b.pid), "-U", "-m", "-p", "-n", "-i", "-u", "-C", "-r", "-w", "-S", "0", "-G", "0", "--",
		"env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "sh", "-ec", line)
}

func (b booted) run(t *testing.T, line string) string {
	t.Helper()
	out, err := b.command(line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// service has the package's unit start doors, and looks at what they can hold commands to in it.
func (m made) service(t *testing.T, root chroot) {
	put(t, m.asset(".deb"), filepath.Join(string(root), "root", "durward.deb"))
	root.run(t, "dpkg -i /root/durward.deb")
	plant(t, filepath.Join(string(root), "etc/durward/mcp_servers.json"),
		`{"servers": [{"name": "files", "command": "durward", "args": ["mcp", "--files", "${workspaceFolder}"], "env": {}}]}`)
	plant(t, filepath.Join(string(root), "etc/durward/doctor.env"), "ARGS=--json\n")
	b := root.boot(t)

	b.run(t, "systemctl start durward@doctor")
	var report string
	eventually(t, "doctor has looked", func() bool {
		report, _, _ = strings.Cut(b.run(t, "journalctl -o cat -u durward@doctor"), "\n")
		return strings.Contains(report, "schema")
	})
	if !holds(t, report) {
		t.Errorf("in the unit durward holds commands to:\n%s", report)
	}
	b.run(t, "systemctl start durward@hub durward@exec-server")
	eventually(t, "the hub is well", func() bool {
		return b.command("durward health http://127.0.0.1:8002/health").Run() == nil
	})
	said := b.run(t, `stat -c '%U %a' /var/lib/durward/hub/audit; stat -c %U /proc/$(systemctl show -p MainPID --value durward@hub)`)
	if said != "durward 700\ndurward\n" {
		t.Errorf("whose it is: %s", said)
	}
	b.run(t, "systemctl stop durward@exec-server")
	if said := b.run(t, "systemctl show -p Result -p ExecMainStatus durward@exec-server"); said != "Result=success\nExecMainStatus=0\n" {
		t.Errorf("stopped: %s", said)
	}
	b.run(t, "dpkg -P durward; ! grep -x durward /proc/[0-9]*/comm; ! getent passwd durward")
	if said := b.run(t, "find / -xdev -name '*durward*' ! -path '/root/*' ! -path '/var/cache/man/*'"); said != "" {
		t.Errorf("purged while the hub ran, it leaves:\n%s", said)
	}
}

// holds reports whether doctor found that all levels can be had, and cgroups for the end of a
// call.
func holds(t *testing.T, report string) bool {
	t.Helper()
	var doctor struct {
		Data struct {
			Levels []struct {
				Available bool
				Trials    []struct {
					Name string
					OK   bool
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(report), &doctor); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	levels, cgroup := 0, false
	for _, l := range doctor.Data.Levels {
		if l.Available {
			levels++
		}
		for _, trial := range l.Trials {
			cgroup = cgroup || trial.Name == "cgroup" && trial.OK
		}
	}
	return levels == 3 && cgroup
}
