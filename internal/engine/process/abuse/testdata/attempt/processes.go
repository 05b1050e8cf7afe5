//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func processes() map[string]attempt {
	return map[string]attempt{
		// kill PID SIGNAL
		"kill": alone(func(a []string) error { return unix.Kill(number(a[0]), unix.Signal(number(a[1]))) }),
		"tgkill": alone(func(a []string) error {
			return unix.Tgkill(number(a[0]), number(a[0]), unix.Signal(number(a[1])))
		}),
		"sigqueue": alone(func(a []string) error {
			info := [32]int32{int32(number(a[1])), 0, -1} // SI_QUEUE
			_, err := raw(unix.SYS_RT_SIGQUEUEINFO, uintptr(number(a[0])), uintptr(number(a[1])), uintptr(unsafe.Pointer(&info)))
			return err
		}),
		"pidfd": alone(func(a []string) error {
			fd, err := unix.PidfdOpen(number(a[0]), 0)
			if err != nil {
				return err
			}
			return unix.PidfdSendSignal(fd, unix.Signal(number(a[1])), nil, 0)
		}),
		// A directory of /proc stands for its process, whatever numbers that has here.
		"procfd": alone(func(a []string) error {
			fd, err := unix.Open("/proc/"+a[0], unix.O_RDONLY|unix.O_DIRECTORY, 0)
			if err != nil {
				return err
			}
			return unix.PidfdSendSignal(fd, unix.Signal(number(a[1])), nil, 0)
		}),
		// Whoever owns a descriptor is signalled when something can be read from it.
		"owner":     alone(owner),
		"killgroup": alone(func(a []string) error { return unix.Kill(-number(a[0]), unix.Signal(number(a[1]))) }),
		"parent": alone(func(a []string) error {
			return unix.Kill(os.Getppid(), unix.Signal(number(a[0])))
		}),
		"everybody": alone(everybody),
		"priority":  alone(func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 19) }),
		"prlimit": alone(func(a []string) error {
			return unix.Prlimit(number(a[0]), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
		}),
		"affinity": alone(func(a []string) error {
			var set unix.CPUSet
			set.Set(0)
			return unix.SchedSetaffinity(number(a[0]), &set)
		}),
		"ps": func([]string) (string, error) { return ps() },
		// Reads what every process that can be seen says of itself.
		"environs": func([]string) (string, error) {
			var all strings.Builder
			files, err := filepath.Glob("/proc/*/environ")
			for _, f := range files {
				text, _ := os.ReadFile(f) // as far as it goes
				all.Write(text)
			}
			return all.String(), err
		},
		// Waits for the end of its input.
		"wait": func([]string) (string, error) {
			for {
				if n, err := unix.Read(0, make([]byte, 512)); n <= 0 && !errors.Is(err, unix.EINTR) {
					return "", err
				}
			}
		},
		// Says that it is there, and waits for the end of its input.
		"hold": func(a []string) (string, error) {
			fmt.Println("ready")
			return processes()["wait"](a)
		},
		"sleep": func([]string) (string, error) {
			time.Sleep(time.Hour)
			return "", nil
		},
		"stop":   alone(func([]string) error { return unix.Kill(os.Getpid(), unix.SIGSTOP) }),
		"mingle": mingle,
	}
}

// everybody signals everybody but only where that cannot be the whole machine.
func everybody(a []string) error {
	if os.Getppid() != 1 || os.Getuid() == 0 {
		return errors.New("this would be too much")
	}
	signal.Ignore(unix.SIGTERM)
	return unix.Kill(-1, unix.Signal(number(a[0])))
}

func owner(a []string) error {
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(fds[0]), unix.F_SETOWN, number(a[0])); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(fds[0]), unix.F_SETSIG, number(a[1])); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(fds[0]), unix.F_SETFL, unix.O_ASYNC); err != nil {
		return err
	}
	_, err := unix.Write(fds[1], []byte("x"))
	return err
}

// ps gives the processes that can be seen, "PID COMMAND LINE" to a line.
func ps() (string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline") // empty where it is hidden
		fmt.Fprintf(&all, "%s %s\n", e.Name(), strings.ReplaceAll(string(line), "\x00", " "))
	}
	return all.String(), nil
}

// mingle is one of many: mingle INDEX COUNT. It waits until all are there, tries to get at
// each of the others, and tells what it reached.
func mingle(a []string) (string, error) {
	index, count := number(a[0]), number(a[1])
	own := filepath.Join(os.Getenv("TMPDIR"), "secret")
	text := "secret of " + a[0]
	err := errors.Join(os.WriteFile(own, []byte(text), 0o644), os.WriteFile("ready-"+a[0], []byte(own), 0o644), await("numbers", 1))
	if err != nil {
		return "", err
	}
	numbers, err := os.ReadFile("numbers") // the process ids that they have outside, one to a line
	if err != nil {
		return "", err
	}
	var reached strings.Builder
	for i, pid := range strings.Fields(string(numbers)) {
		if i == index {
			continue
		}
		path, err := os.ReadFile(fmt.Sprintf("ready-%d", i))
		if err != nil {
			return "", err
		}
		if found, err := os.ReadFile(string(path)); err == nil && string(found) != text {
			fmt.Fprintf(&reached, "read %q of %d; ", found, i)
		}
		if err := unix.Kill(number(pid), 0); err == nil {
			fmt.Fprintf(&reached, "signalled %d; ", i)
		}
		if found, err := os.ReadFile("/proc/" + pid + "/environ"); err == nil {
			fmt.Fprintf(&reached, "environment of %d: %d bytes; ", i, len(found))
		}
	}
	seen, _ := ps() // what cannot be listed cannot be seen
	for line := range strings.Lines(seen) {
		if strings.Contains(line, " mingle ") && !strings.Contains(line, " mingle "+a[0]+" ") { // its own, and its reaper, are no others
			fmt.Fprintf(&reached, "seen %q; ", line)
		}
	}
	return reached.String(), errors.Join(os.WriteFile("done-"+a[0], nil, 0o644), await("done-*", count))
}

// await waits until as many files are there.
func await(pattern string, count int) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if files, err := filepath.Glob(pattern); err != nil || len(files) >= count {
			return err
		}
	}
	return errors.New("the others did not come")
}
