//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

func metadata() map[string]attempt {
	list := map[string]attempt{
		"stat": func(a []string) (string, error) {
			var st unix.Stat_t
			err := unix.Lstat(a[0], &st)
			return fmt.Sprintf("%o %d", st.Mode, st.Uid), err
		},
		"statx": alone(func(a []string) error {
			var st unix.Statx_t
			return unix.Statx(unix.AT_FDCWD, a[0], unix.AT_SYMLINK_NOFOLLOW, unix.STATX_ALL, &st)
		}),
		"access": alone(func(a []string) error { return unix.Access(a[0], unix.F_OK) }),
		"watch": alone(func(a []string) error {
			fd, err := unix.InotifyInit()
			if err == nil {
				_, err = unix.InotifyAddWatch(fd, a[0], unix.IN_ALL_EVENTS)
			}
			return err
		}),
		"chmod": alone(func(a []string) error { return unix.Fchmodat(unix.AT_FDCWD, a[0], uint32(number(a[1])), 0) }),
		"chmodopen": alone(func(a []string) error {
			fd, err := unix.Open(a[0], unix.O_PATH, 0)
			if err != nil {
				return err
			}
			return unix.Fchmodat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), uint32(number(a[1])), 0)
		}),
		"chown":       alone(func(a []string) error { return unix.Fchownat(unix.AT_FDCWD, a[0], unix.Getuid(), unix.Getgid(), 0) }),
		"utimes":      alone(func(a []string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], make([]unix.Timespec, 2), 0) }),
		"setxattr":    alone(func(a []string) error { return unix.Setxattr(a[0], "user.durward", []byte("x"), 0) }),
		"getxattr":    alone(func(a []string) error { _, err := unix.Getxattr(a[0], "user.canary", make([]byte, 64)); return err }),
		"removexattr": alone(func(a []string) error { return unix.Removexattr(a[0], "user.canary") }),
		"setid": alone(func(a []string) error {
			how, ok := setID()[a[0]]
			if !ok {
				return errors.New("no such way")
			}
			return how(a[1], uint32(number(a[2])))
		}),
		"setids": func([]string) (string, error) {
			names := ""
			for name := range setID() {
				names += name + " "
			}
			return names, nil
		},
	}
	return list
}

// setID gives the ways to make or change a file that say its mode.
func setID() map[string]func(path string, mode uint32) error {
	ways := map[string]func(path string, mode uint32) error{
		"fchmodat": func(path string, mode uint32) error {
			return errors.Join(write(path, unix.O_CREAT), unix.Fchmodat(unix.AT_FDCWD, path, mode, 0))
		},
		"fchmodat2": func(path string, mode uint32) error {
			err := write(path, unix.O_CREAT)
			if err == nil {
				_, err = raw(unix.SYS_FCHMODAT2, at(unix.AT_FDCWD), str(path), uintptr(mode), 0)
			}
			return err
		},
		"fchmod": func(path string, mode uint32) error {
			fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY, 0o700)
			if err == nil {
				err = unix.Fchmod(fd, mode)
			}
			return err
		},
		"openat": func(path string, mode uint32) error {
			_, err := raw(unix.SYS_OPENAT, at(unix.AT_FDCWD), str(path), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, uintptr(mode))
			return err
		},
		"openat2": func(path string, mode uint32) error {
			how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, Mode: uint64(mode)}
			_, err := unix.Openat2(unix.AT_FDCWD, path, &how)
			return err
		},
		"tmpfile": func(path string, mode uint32) error {
			fd, err := raw(unix.SYS_OPENAT, at(unix.AT_FDCWD), str("."), unix.O_TMPFILE|unix.O_WRONLY, uintptr(mode))
			if err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
		},
		"mkdirat": func(path string, mode uint32) error {
			_, err := raw(unix.SYS_MKDIRAT, at(unix.AT_FDCWD), str(path), uintptr(mode))
			return err
		},
		"mknodat": func(path string, mode uint32) error {
			_, err := raw(unix.SYS_MKNODAT, at(unix.AT_FDCWD), str(path), uintptr(mode|unix.S_IFREG), 0)
			return err
		},
	}
	for name, way := range oldSetID() {
		ways[name] = way
	}
	return ways
}

func at(fd int) uintptr { return uintptr(fd) }

// str gives a string as the kernel takes one. It stays where it is: this program ends
// soon.
func str(s string) uintptr {
	b, err := unix.BytePtrFromString(s)
	if err != nil {
		return 0
	}
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(b))
}

var kept []*byte
