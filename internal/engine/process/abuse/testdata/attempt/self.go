//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func self() map[string]attempt {
	return map[string]attempt{
		// mark PATH tells that it was run.
		"mark": alone(func(a []string) error { return write(a[0], os.O_CREATE) }),
		"ids":  func([]string) (string, error) { return ids() },
		"caps": alone(func([]string) error {
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_CHOWN, Permitted: 1 << unix.CAP_CHOWN}}
			return unix.Capset(&header, &data[0])
		}),
		"setuid": alone(func(a []string) error { return unix.Setresuid(number(a[0]), number(a[0]), number(a[0])) }),
		"fds":    func([]string) (string, error) { return descriptors(), nil },
		"env": func([]string) (string, error) {
			env := os.Environ()
			slices.Sort(env)
			kept, _ := os.ReadFile("/proc/self/environ") // where it can be had
			return strings.Join(env, "\n") + "\n" + strings.ReplaceAll(string(kept), "\x00", "\n"), nil
		},
		"exec": func(a []string) (string, error) { return "", unix.Exec(a[0], a, os.Environ()) },
	}
}

// ids tells who it is and what it may: "uid=1 1 1 gid=1 1 1 groups=[] nnp=1 …".
func ids() (string, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return "", err
	}
	ruid, euid, suid := unix.Getresuid()
	rgid, egid, sgid := unix.Getresgid()
	groups, err := unix.Getgroups()
	if err != nil {
		return "", err
	}
	noNew, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return "", err
	}
	seccomp, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil {
		return "", err
	}
	ambient := 0
	for c := 0; c <= 63; c++ {
		if set, err := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, uintptr(c), 0, 0); err == nil && set == 1 {
			ambient++
		}
	}
	return fmt.Sprintf("uid=%d %d %d gid=%d %d %d groups=%v nnp=%d seccomp=%d eff=%x prm=%x inh=%x amb=%d", ruid, euid, suid, rgid, egid, sgid, groups,
		noNew, seccomp, uint64(caps[1].Effective)<<32|uint64(caps[0].Effective), uint64(caps[1].Permitted)<<32|uint64(caps[0].Permitted),
		uint64(caps[1].Inheritable)<<32|uint64(caps[0].Inheritable), ambient), nil
}

// descriptors lists all that are open, by number and, as far as /proc tells, name.
func descriptors() string {
	var open []string
	for fd := range 1 << 14 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			continue
		}
		name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		open = append(open, fmt.Sprintf("%d:%s", fd, name))
	}
	return strings.Join(open, " ")
}
