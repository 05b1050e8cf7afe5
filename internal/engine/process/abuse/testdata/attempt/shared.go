//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shared gives what System V and POSIX have for processes to share.
func shared() map[string]attempt {
	return map[string]attempt{
		"shm": func(a []string) (string, error) {
			page, err := unix.SysvShmAttach(number(a[0]), 0, unix.SHM_RDONLY)
			if err != nil {
				return "", err
			}
			return string(page[:16]), nil
		},
		"shmkey": func(a []string) (string, error) {
			id, err := unix.SysvShmGet(number(a[0]), 4096, 0)
			return fmt.Sprint(id), err
		},
		"shmremove": alone(func(a []string) error {
			_, err := unix.SysvShmCtl(number(a[0]), unix.IPC_RMID, nil)
			return err
		}),
		"shmnew": alone(func(a []string) error {
			_, err := unix.SysvShmGet(number(a[0]), 4096, unix.IPC_CREAT|0o666)
			return err
		}),
		"sem": func(a []string) (string, error) {
			n, err := raw(unix.SYS_SEMCTL, uintptr(number(a[0])), 0, 12, 0) // GETVAL
			return fmt.Sprint(n), err
		},
		"msg": func(a []string) (string, error) {
			var m struct {
				kind int64
				text [16]byte
			}
			n, err := raw(unix.SYS_MSGRCV, uintptr(number(a[0])), uintptr(unsafe.Pointer(&m)), 16, 0, unix.IPC_NOWAIT)
			if err != nil {
				return "", err
			}
			return string(m.text[:n]), nil
		},
		"mq": alone(func(a []string) error {
			_, err := raw(unix.SYS_MQ_OPEN, str(a[0]), unix.O_RDONLY|unix.O_NONBLOCK, 0, 0)
			return err
		}),
	}
}
