//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func limits() map[string]attempt {
	return map[string]attempt{
		// forks COUNT makes children until that many wait, or no more can be made.
		"forks": forks,
		// hog BYTES PROCESSES touches that much memory in each process.
		"hog": hog,
		// fill PATH BYTES writes until it is full.
		"fill": func(a []string) (string, error) {
			signal.Ignore(unix.SIGXFSZ)
			n, err := fill(a[0], number(a[1]))
			return strconv.Itoa(n), err
		},
		"sparse": alone(func(a []string) error {
			signal.Ignore(unix.SIGXFSZ)
			return errors.Join(write(a[0], os.O_CREATE), unix.Truncate(a[0], int64(number(a[1]))))
		}),
		// inodes DIR COUNT makes empty files.
		"inodes": func(a []string) (string, error) {
			for i := range number(a[1]) {
				fd, err := unix.Open(filepath.Join(a[0], "i"+strconv.Itoa(i)), unix.O_CREAT|unix.O_WRONLY, 0o600)
				if err != nil {
					return strconv.Itoa(i), err
				}
				if err := unix.Close(fd); err != nil {
					return strconv.Itoa(i), err
				}
			}
			return a[1], nil
		},
		// spin THREADS computes for ever.
		"spin": func(a []string) (string, error) {
			runtime.GOMAXPROCS(number(a[0]))
			for range number(a[0]) - 1 {
				go spin()
			}
			spin()
			return "", nil
		},
		// daemon gets away from its parent, its session and its streams, and stays.
		"daemon": func(a []string) (string, error) { return "", again(append([]string{"daemon-2"}, a...)...).Start() },
		"daemon-2": func(a []string) (string, error) {
			if err := again(append([]string{"sleep"}, a...)...).Start(); err != nil {
				return "", err
			}
			os.Exit(0)
			return "", nil
		},
		// exhaust COUNT has that many children that end at once.
		"exhaust": func(a []string) (string, error) {
			for i := range number(a[0]) {
				pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
				if errno != 0 {
					return strconv.Itoa(i), errno
				}
				if pid == 0 {
					syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
				}
				if _, err := syscall.Wait4(int(pid), nil, 0, nil); err != nil {
					return strconv.Itoa(i), err
				}
			}
			return a[0], nil
		},
	}
}

// again is this program with other arguments, in a session of its own and with nothing
// open.
func again(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Env = []string{}
	return c
}

func forks(a []string) (string, error) {
	var made int
	for made = range number(a[0]) {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return strconv.Itoa(made), errno
		}
		for pid == 0 {
			syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0) // for ever
		}
	}
	return strconv.Itoa(made + 1), nil
}

func hog(a []string) (string, error) {
	if count := number(a[1]); count > 1 {
		var all []*exec.Cmd
		for range count {
			c := again("hog", a[0], "1", "hold")
			if err := c.Start(); err != nil {
				return "", err
			}
			all = append(all, c)
		}
		for _, c := range all {
			_ = c.Wait() // killed or not
		}
		return "", nil
	}
	page, err := unix.Mmap(-1, 0, number(a[0]), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return "", err
	}
	for i := 0; i < len(page); i += 4096 {
		page[i] = 1
	}
	if len(a) > 2 {
		return processes()["sleep"](nil)
	}
	return fmt.Sprint(len(page)), nil
}

func fill(path string, most int) (int, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	n := 0
	for n < most {
		m, err := f.Write(block)
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func spin() {
	for i := 0; ; i++ {
		_ = i
	}
}
