package landlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// An attempt is one thing that a restricted process tries.
type attempt struct {
	name string
	try  func(w world) error
	// want lists what may become of it: "ok", or the names of errors.
	want []string
	// since is the first version that judges it; before, it is "ok".
	since ABI
}

var (
	passes = []string{"ok"}
	denied = []string{"EACCES"}
	// moved is what the kernel says where a file would gain rights by its new place.
	moved = []string{"EACCES", "EXDEV"}
)

// attempts is a function of no state: parent and child have the same.
func attempts() []attempt {
	return []attempt{
		{name: "read inside", want: passes, try: func(w world) error { return read(w.Inside + "/file") }},
		{name: "read readable", want: passes, try: func(w world) error { return read(w.Readable + "/file") }},
		{name: "list readable", want: passes, try: func(w world) error { return list(w.Readable) }},
		{name: "read outside", want: denied, try: func(w world) error { return read(w.Outside + "/secret") }},
		{name: "read by dots", want: denied, try: func(world) error { return read("../outside/secret") }},
		{name: "read by dots in the middle", want: denied, try: func(w world) error { return read(w.Inside + "/../outside/secret") }},
		{name: "read by a link", want: denied, try: func(w world) error { return read(w.Inside + "/link") }},
		{name: "read by a link to a directory", want: denied, try: func(w world) error { return read(w.Inside + "/dirlink/secret") }},
		{name: "read by a link of its own", want: denied, try: func(w world) error {
			return errors.Join(os.Symlink(w.Outside, w.Inside+"/own"), read(w.Inside+"/own/secret"))
		}},
		{name: "read by proc root", want: denied, try: func(w world) error { return read("/proc/self/root" + w.Outside + "/secret") }},
		{name: "read by proc cwd", want: denied, try: func(world) error { return read("/proc/self/cwd/../outside/secret") }},
		{name: "read by the parent's root", want: denied, try: func(w world) error { return read(procOf(w.Parent, "root"+w.Outside+"/secret")) }},
		{name: "read by the victim's root", want: denied, try: func(w world) error { return read(procOf(w.Victim, "root"+w.Outside+"/secret")) }},
		{name: "read the victim's environment", want: denied, try: func(w world) error { return read(procOf(w.Victim, "environ")) }},
		{name: "read the victim's memory", want: denied, try: func(w world) error { return read(procOf(w.Victim, "mem")) }},
		{name: "read by a place", want: denied, try: func(w world) error { return readByPlace(w.Outside + "/secret") }},
		{name: "list outside", want: denied, try: func(w world) error { return list(w.Outside) }},
		{name: "list the top", want: denied, try: func(w world) error { return list(w.Top) }},
		{name: "list the root", want: denied, try: func(world) error { return list("/") }},

		{name: "read what was opened before", want: passes, try: readOpened},
		{name: "read beneath what was opened before", want: denied, try: func(world) error {
			_, err := unix.Openat(outsideFD, "secret", unix.O_RDONLY, 0)
			return err
		}},
		{name: "read again what was opened before", want: denied, try: func(world) error { return read(fmt.Sprintf("/proc/self/fd/%d", secretFD)) }},

		{name: "write inside", want: passes, try: func(w world) error { return write(w.Inside+"/file", 0) }},
		{name: "create inside", want: passes, try: func(w world) error { return write(w.Inside+"/new", os.O_CREATE|os.O_EXCL) }},
		{name: "truncate inside", want: passes, try: func(w world) error { return unix.Truncate(w.Inside+"/new", 0) }},
		{name: "make inside", want: passes, try: func(w world) error {
			return errors.Join(unix.Mkdir(w.Inside+"/d", 0o700), unix.Mkfifo(w.Inside+"/fifo", 0o600), unix.Rmdir(w.Inside+"/d"), unix.Unlink(w.Inside+"/fifo"))
		}},
		{name: "make a socket inside", want: passes, try: func(w world) error { return listen("unix", w.Inside+"/s") }},
		{name: "rename inside", want: passes, since: 2, try: func(w world) error { return os.Rename(w.Inside+"/a/file", w.Inside+"/b/file") }},
		{name: "link inside", want: passes, since: 2, try: func(w world) error { return os.Link(w.Inside+"/a/linked", w.Inside+"/b/linked") }},
		{name: "write readable", want: denied, try: func(w world) error { return write(w.Readable+"/file", 0) }},
		{name: "create readable", want: denied, try: func(w world) error { return write(w.Readable+"/new", os.O_CREATE) }},
		{name: "write outside", want: denied, try: func(w world) error { return write(w.Outside+"/victim", 0) }},
		{name: "append outside", want: denied, try: func(w world) error { return write(w.Outside+"/victim", os.O_APPEND) }},
		{name: "create outside", want: denied, try: func(w world) error { return write(w.Outside+"/new", os.O_CREATE) }},
		{name: "create by a link", want: denied, try: func(w world) error { return write(w.Inside+"/dirlink/new", os.O_CREATE) }},
		{name: "create by dots", want: denied, try: func(world) error { return write("../outside/new", os.O_CREATE) }},
		{name: "create beneath what was opened before", want: denied, try: func(world) error {
			_, err := unix.Openat(outsideFD, "new", unix.O_CREAT|unix.O_WRONLY, 0o600)
			return err
		}},
		{name: "write by proc root", want: denied, try: func(w world) error { return write("/proc/self/root"+w.Outside+"/victim", 0) }},
		{name: "truncate outside", want: denied, since: 3, try: func(w world) error { return unix.Truncate(w.Outside+"/victim", 0) }},
		{name: "truncate by opening", want: denied, try: func(w world) error { return write(w.Outside+"/victim", os.O_TRUNC) }},
		{name: "truncate by opening for reading", want: denied, try: func(w world) error {
			_, err := unix.Open(w.Outside+"/victim", unix.O_RDONLY|unix.O_TRUNC, 0)
			return err
		}},
		{name: "make a directory outside", want: denied, try: func(w world) error { return unix.Mkdir(w.Outside+"/new", 0o700) }},
		{name: "make a link outside", want: denied, try: func(w world) error { return os.Symlink("x", w.Outside+"/new") }},
		{name: "make a fifo outside", want: denied, try: func(w world) error { return unix.Mkfifo(w.Outside+"/new", 0o600) }},
		{name: "make a socket outside", want: denied, try: func(w world) error { return listen("unix", w.Outside+"/new") }},
		{name: "make a device inside", want: []string{"EACCES", "EPERM"}, try: func(w world) error {
			return unix.Mknod(w.Inside+"/device", unix.S_IFBLK|0o600, int(unix.Mkdev(253, 0)))
		}},
		{name: "remove outside", want: denied, try: func(w world) error { return unix.Unlink(w.Outside + "/victim") }},
		{name: "remove a directory outside", want: denied, try: func(w world) error { return unix.Rmdir(w.Outside + "/empty") }},
		{name: "rename out", want: moved, try: func(w world) error { return unix.Rename(w.Inside+"/file", w.Outside+"/new") }},
		{name: "rename over", want: moved, try: func(w world) error { return unix.Rename(w.Inside+"/file", w.Outside+"/victim") }},
		{name: "rename in", want: moved, try: func(w world) error { return unix.Rename(w.Outside+"/victim", w.Inside+"/taken") }},
		{name: "rename a directory in", want: moved, try: func(w world) error { return unix.Rename(w.Outside+"/empty", w.Inside+"/taken") }},
		{name: "rename readable in", want: moved, try: func(w world) error { return unix.Rename(w.Readable+"/file", w.Inside+"/taken") }},
		{name: "exchange", want: moved, try: func(w world) error {
			return unix.Renameat2(unix.AT_FDCWD, w.Inside+"/file", unix.AT_FDCWD, w.Outside+"/victim", unix.RENAME_EXCHANGE)
		}},
		{name: "rename outside", want: denied, try: func(w world) error { return unix.Rename(w.Outside+"/victim", w.Outside+"/new") }},
		{name: "link out", want: moved, try: func(w world) error { return unix.Link(w.Inside+"/file", w.Outside+"/new") }},
		{name: "link in", want: moved, try: func(w world) error { return unix.Link(w.Outside+"/secret", w.Inside+"/taken") }},
		{name: "link an open file in", want: moved, try: func(w world) error {
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", secretFD), unix.AT_FDCWD, w.Inside+"/taken", unix.AT_SYMLINK_FOLLOW)
		}},
		{name: "link to where programs run", want: moved, try: func(w world) error { return unix.Link(w.Inside+"/program", w.Execute+"/taken") }},
		{name: "mount", want: []string{"EPERM"}, try: func(w world) error { return unix.Mount("none", w.Inside, "tmpfs", 0, "") }},

		{name: "execute", want: passes, try: func(w world) error { return execute(w.Execute + "/self") }},
		{name: "execute inside", want: denied, try: func(w world) error { return execute(w.Inside + "/program") }},
		{name: "execute readable", want: denied, try: func(w world) error { return execute(w.Readable + "/program") }},
		{name: "execute outside", want: denied, try: func(w world) error { return execute(w.Outside + "/program") }},
		{name: "execute by a link", want: denied, try: func(w world) error { return execute(w.Inside + "/dirlink/program") }},
		{name: "execute after a rename", want: denied, try: func(w world) error {
			return errors.Join(unix.Rename(w.Inside+"/program", w.Inside+"/renamed"), execute(w.Inside+"/renamed"), unix.Rename(w.Inside+"/renamed", w.Inside+"/program"))
		}},

		{name: "write to null", want: passes, try: func(world) error { return write("/dev/null", os.O_TRUNC|os.O_CREATE) }},
		{name: "control null", want: []string{"ENOTTY"}, try: func(world) error { return control("/dev/null") }},
		{name: "write to zero", want: denied, try: func(world) error { return write("/dev/zero", 0) }},

		{name: "connect TCP", want: denied, since: 4, try: func(w world) error { return dial("tcp", w.TCP) }},
		{name: "listen TCP", want: denied, since: 4, try: func(world) error { return listen("tcp", "127.0.0.1:0") }},
		{name: "connect abstract", want: []string{"EPERM"}, since: 6, try: func(w world) error { return dial("unix", w.Abstract) }},
		{name: "connect by path", want: denied, since: 9, try: func(w world) error { return dial("unix", w.Path) }},
		{name: "send UDP", want: denied, since: 10, try: func(world) error { return dial("udp", "127.0.0.1:9") }},
		{name: "signal the victim", want: []string{"EPERM"}, since: 6, try: func(w world) error { return unix.Kill(w.Victim, unix.SIGWINCH) }},
		{name: "signal oneself", want: passes, try: func(world) error { return unix.Kill(os.Getpid(), 0) }},
		{name: "trace the victim", want: []string{"EPERM"}, try: func(w world) error { return unix.PtraceSeize(w.Victim) }},

		{name: "stat outside", want: passes, try: func(w world) error {
			_, err := os.Stat(w.Outside + "/secret")
			return err
		}},
		{name: "chmod outside", want: passes, try: func(w world) error { return os.Chmod(w.Outside+"/secret", 0o640) }},
		{name: "execute from memory", want: passes, try: executeFromMemory},
	}
}

func read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 1))
	return err
}

func list(dir string) error {
	_, err := os.ReadDir(dir)
	return err
}

func procOf(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// readByPlace opens a file in a way that is not judged, and then tries to use that.
func readByPlace(path string) error {
	fd, err := unix.Open(path, unix.O_PATH, 0)
	if err != nil {
		return fmt.Errorf("not even a place: %v", err)
	}
	defer unix.Close(fd)
	return read(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func readOpened(world) error {
	buf := make([]byte, len(secret))
	if _, err := unix.Pread(secretFD, buf, 0); err != nil {
		return err
	}
	if string(buf) != secret {
		return fmt.Errorf("read %q", buf)
	}
	return nil
}

func write(path string, flags int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("written\n"))
	return errors.Join(err, f.Close())
}

func control(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
	return err
}

func execute(path string) error {
	cmd := exec.Command(path)
	cmd.Env = []string{partVariable + "=nothing", endAtOnce}
	return cmd.Run()
}

func executeFromMemory(w world) error {
	fd, err := unix.MemfdCreate("program", 0)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(w.Execute + "/self")
	if err != nil {
		return err
	}
	memory := os.NewFile(uintptr(fd), "memory")
	defer memory.Close()
	if _, err := io.Copy(memory, bytes.NewReader(program)); err != nil {
		return err
	}
	return execute(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	return c.Close()
}

// listen does not try multipath TCP first, which is not judged.
func listen(network, address string) error {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(context.Background(), network, address)
	if err != nil {
		return err
	}
	return l.Close()
}

// named gives the names of the attempts that keep passes.
func named(keep func(attempt) bool) []string {
	var names []string
	for _, a := range attempts() {
		if keep(a) {
			names = append(names, a.name)
		}
	}
	return names
}

func TestAttemptsHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, a := range attempts() {
		if a.name == "" || seen[a.name] || len(a.want) == 0 {
			t.Errorf("%q stands twice, or wants nothing", a.name)
		}
		seen[a.name] = true
	}
}
