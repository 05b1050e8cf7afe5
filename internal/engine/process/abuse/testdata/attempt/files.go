//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const written = "written by the command\n"

func files() map[string]attempt {
	return map[string]attempt{
		"read": func(a []string) (string, error) { return read(a[0]) },
		"list": func(a []string) (string, error) {
			entries, err := os.ReadDir(a[0])
			names := make([]string, len(entries))
			for i, e := range entries {
				names[i] = e.Name()
			}
			return strings.Join(names, " "), err
		},
		// A place is opened without a look at its contents, and then opened again.
		"reopen": func(a []string) (string, error) {
			fd, err := unix.Open(a[0], unix.O_PATH, 0)
			if err != nil {
				return "", err
			}
			return read(fmt.Sprintf("/proc/self/fd/%d", fd))
		},
		"handle": func(a []string) (string, error) {
			return readHandle(a[0])
		},
		"open": alone(func(a []string) error {
			fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}),
		"openwrite": alone(func(a []string) error {
			fd, err := unix.Open(a[0], unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}),
		"create":    alone(func(a []string) error { return write(a[0], os.O_CREATE|os.O_EXCL) }),
		"append":    alone(func(a []string) error { return write(a[0], os.O_APPEND) }),
		"overwrite": alone(func(a []string) error { return write(a[0], 0) }),
		"trunc":     alone(func(a []string) error { return write(a[0], os.O_TRUNC) }),
		"truncate":  alone(func(a []string) error { return unix.Truncate(a[0], 1) }),
		"readtrunc": alone(func(a []string) error {
			_, err := unix.Open(a[0], unix.O_RDONLY|unix.O_TRUNC, 0)
			return err
		}),
		"tmpfile": alone(func(a []string) error {
			fd, err := unix.Open(a[0], unix.O_TMPFILE|unix.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, a[0]+"/new", unix.AT_SYMLINK_FOLLOW)
		}),
		"mkdir":   alone(func(a []string) error { return unix.Mkdir(a[0], 0o700) }),
		"rmdir":   alone(func(a []string) error { return unix.Rmdir(a[0]) }),
		"remove":  alone(func(a []string) error { return unix.Unlink(a[0]) }),
		"symlink": alone(func(a []string) error { return unix.Symlink(a[0], a[1]) }),
		"fifo":    alone(func(a []string) error { return unix.Mkfifo(a[0], 0o600) }),
		"mknod": alone(func(a []string) error {
			kinds := map[string]uint32{"b": unix.S_IFBLK, "c": unix.S_IFCHR, "f": unix.S_IFREG}
			return unix.Mknod(a[0], kinds[a[1]]|0o666, int(unix.Mkdev(uint32(number(a[2])), uint32(number(a[3])))))
		}),
		"link": alone(func(a []string) error { return unix.Link(a[0], a[1]) }),
		"linkopen": alone(func(a []string) error {
			fd, err := unix.Open(a[0], unix.O_PATH, 0)
			if err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, a[1], unix.AT_SYMLINK_FOLLOW)
		}),
		"rename": alone(func(a []string) error { return unix.Rename(a[0], a[1]) }),
		"exchange": alone(func(a []string) error {
			return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
		}),
		"readlink": func(a []string) (string, error) { return os.Readlink(a[0]) },
		// Makes a file and takes it away again, over and over.
		"flicker": alone(func(a []string) error {
			for range number(a[1]) {
				err := errors.Join(write(a[0], os.O_CREATE), os.Remove(a[0]))
				if err != nil {
					return err
				}
			}
			return nil
		}),
		// Makes a file and stays for a while to see whether somebody takes offence.
		"linger": alone(func(a []string) error {
			err := write(a[0], os.O_CREATE|os.O_EXCL)
			if err == nil {
				time.Sleep(time.Duration(number(a[1])) * time.Millisecond)
			}
			return err
		}),
	}
}

func read(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<14))
	return string(text), err
}

func write(path string, flags int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(written)
	return errors.Join(err, f.Close())
}

func readHandle(path string) (string, error) {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return "", err
	}
	at, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	fd, err := unix.OpenByHandleAt(at, handle, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	return read(fmt.Sprintf("/proc/self/fd/%d", fd))
}
