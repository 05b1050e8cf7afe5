//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

func TestV13Mount(t *testing.T) {
	var list []try
	for _, what := range []string{
		"mount", "bind-mount", "remount", "shared", "umount", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fspick", "mount_setattr",
	} {
		list = append(list, try{what, eperm, false})
	}
	row{id: "V13", needs: "syscalls", from: 1}.tries(t, list)
}

func TestV14Namespaces(t *testing.T) {
	list := []try{{"clone3", []string{"ENOSYS"}, false}, {"unshare user+mnt", eperm, false}, {"clone user", eperm, true}}
	for _, kind := range []string{"user", "mnt", "pid", "ipc", "uts", "net", "cgroup", "time"} {
		list = append(list, try{"unshare " + kind, eperm, false}, try{"setns " + kind, eperm, false})
		if kind != "time" { // to clone its bit is part of a signal
			list = append(list, try{"clone " + kind, eperm, false})
		}
	}
	row{id: "V14", needs: "syscalls", from: 1}.tries(t, list)
}

// rootDevice gives the device that / is on.
func rootDevice(t *testing.T) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat("/", &st); err != nil {
		t.Fatal(err)
	}
	return st.Dev
}

func TestV15MakeDevices(t *testing.T) {
	row{id: "V15", needs: "priv", from: 1}.each(t, func(s *scene) {
		disk := rootDevice(s.T)
		for _, dir := range []string{s.workspace, "/tmp", "/dev", "/dev/shm"} {
			for _, what := range []string{
				fmt.Sprintf("%s/made-disk b %d %d", dir, unix.Major(disk), unix.Minor(disk)),
				dir + "/made-mem c 1 1", dir + "/made-null c 1 3", dir + "/made-vda b 253 0",
			} {
				a := s.attempt(append([]string{"mknod"}, strings.Fields(what)...)...)
				s.denied(a, blocked...)
			}
		}
		for _, name := range names(s.T, s.workspace) {
			if info, err := os.Lstat(filepath.Join(s.workspace, name)); err != nil || info.Mode()&fs.ModeDevice != 0 {
				s.Errorf("%s: %v, %v", name, info, err)
			}
		}
		s.denied(s.attempt("open", "made-disk"), hidden...)
	})
}

func TestV16HostDevices(t *testing.T) {
	row{id: "V16", needs: "fs.read", from: 1}.each(t, func(s *scene) {
		entries, err := os.ReadDir("/dev")
		s.check(err)
		minimal := map[string]bool{
			"null": true, "zero": true, "full": true, "random": true, "urandom": true, "tty": true, "ptmx": true, "pts": true, "shm": true,
			"fd": true, "stdin": true, "stdout": true, "stderr": true, "core": true,
		}
		names := []string{"vda", "sda", "nvme0n1", "kvm", "mem", "port", "kmsg", "fuse", "net/tun", "userfaultfd", "vhost-net", "console", "mapper/control", "loop-control", "uinput", "hwrng", "snapshot"}
		for _, e := range entries {
			if !minimal[e.Name()] && !e.IsDir() {
				names = append(names, e.Name())
			}
		}
		for _, name := range names {
			// What is absent at level 2 may be there and closed at level 1.
			want := []string{"ENOENT", "ENOTDIR"}
			if s.level == 1 {
				want = hidden
			}
			s.denied(s.attempt("open", "/dev/"+name), want...)
			s.denied(s.attempt("openwrite", "/dev/"+name), append(want, "EISDIR")...)
		}
		disk := rootDevice(s.T)
		s.denied(s.attempt("open", fmt.Sprintf("/dev/block/%d:%d", unix.Major(disk), unix.Minor(disk))), hidden...)
		if s.level < 2 {
			return
		}
		for _, name := range strings.Fields(s.must(s.attempt("list", "/dev"))) {
			if !minimal[name] {
				s.Errorf("/dev/%s is there", name)
			}
		}
	})
}

// programsOfRoot take a right or another user by a set-id bit or a file capability.
var programsOfRoot = []string{"su", "sudo", "ping", "passwd", "newgrp", "mount", "umount", "chsh", "gpasswd", "newuidmap", "pkexec"}

func TestV17SetID(t *testing.T) {
	row{id: "V17", needs: "priv, syscalls", from: 1}.each(t, func(s *scene) {
		ways := strings.Fields(s.must(s.attempt("setids")))
		for _, mode := range []string{"04755", "02755", "06777", "04000"} {
			for _, way := range ways {
				want := eperm
				if way == "openat2" {
					want = []string{"ENOSYS"}
				}
				s.denied(s.attempt("setid", way, "made-"+way+mode, mode), want...)
				s.denied(s.attempt("setid", way, "dir/made-"+way+mode, mode), want...)
			}
		}
		r, err := s.shell(`cp "` + s.attemptPath() + `" copy; chmod 4755 copy; chmod 2755 copy; chmod u+s copy; chmod g+s dir; install -m 6755 copy installed; cp -p copy $TMPDIR/copy; chmod u+s $TMPDIR/copy; mkdir -m 2777 shared; umask 0; mkdir -m 4777 another; ls -la`)
		s.check(err)
		for line := range strings.Lines(string(r.Stdout.Bytes())) {
			if mode, _, _ := strings.Cut(line, " "); strings.ContainsAny(mode, "sS") {
				s.Errorf("seen from inside: %s", line)
			}
		}
		if found := setIDFiles(s.T, s.workspace); len(found) > 0 {
			s.Errorf("seen from outside: %q", found)
		}
		s.unchanged()
		before := s.must(s.attempt("ids"))
		for _, mode := range []string{"4755", "2755", "6755"} { // what the owner has put there gives nothing, either
			given := filepath.Join(s.readable, "given"+mode)
			s.plant(given, mode)
			a := s.attemptIn(s.base, durward.Call{Argv: []string{given, "ids"}})
			if got := s.must(a); got != before {
				s.Errorf("by a program of mode %s it is %q, without %q", mode, got, before)
			}
			s.check(os.Remove(given))
		}
		s.before = s.around() // planting has touched it
		for _, name := range programsOfRoot {
			r, err := s.do(s.base, durward.Call{Argv: []string{"bash", "-c", "command -v " + name + " >/dev/null || exit 0; " + name + " -c 'id -u' </dev/null; " + name + " -n id -u </dev/null"}})
			if err != nil || strings.Contains(string(r.Stdout.Bytes()), "0\n") {
				s.Errorf("%s: %v: %q", name, err, r.Stdout.Bytes())
			}
		}
	})
}

// plant puts a program with set-id bits where the command can execute it. Root's is
// root's.
func (s *scene) plant(path, mode string) {
	s.Helper()
	s.placeProgram(path)
	bits := fs.FileMode(0o755)
	if strings.ContainsAny(mode[:1], "46") {
		bits |= fs.ModeSetuid
	}
	if strings.ContainsAny(mode[:1], "26") {
		bits |= fs.ModeSetgid
	}
	s.chmod(path, bits)
}

func TestV19Keyrings(t *testing.T) {
	row{id: "V19", needs: "syscalls", from: 1}.tries(t, []try{{"keyctl", eperm, true}, {"add_key", eperm, true}, {"request_key", eperm, false}})
}

func TestV20Kernel(t *testing.T) {
	row{id: "V20", needs: "syscalls", from: 1}.tries(t, []try{
		{"io_uring", eperm, false},
		{"io_uring_enter", eperm, false},
		{"io_uring_register", eperm, false},
		{"userfaultfd", eperm, false},
		{"bpf", eperm, false},
		{"perf", eperm, false},
	})
}

func TestV21ForeignCalls(t *testing.T) {
	foreign := map[string][]string{"amd64": {"x32", "x32mount", "i386", "i386open"}}[runtime.GOARCH]
	row{id: "V21", needs: "syscalls", from: 1}.each(t, func(s *scene) {
		for _, what := range foreign {
			s.denied(s.attempt(what), "SIGSYS", "EPERM")
		}
		s.unchanged()
		// A program of another architecture does not come as far as to make a call.
		path := s.makeFile("readable/i386", 0, string(i386Program), 0o755)
		a := s.attemptIn(s.base, durward.Call{Argv: []string{path, "x"}})
		s.denied(a, "SIGSYS", string(durward.ProgramNotExecutable))
		s.check(os.Remove(path))
		s.before = s.around()
	})
	if runtime.GOARCH != "amd64" {
		return
	}
	t.Run("free i386", func(t *testing.T) { row{id: "V21"}.free(t, try{what: "i386"}) })
}

// i386Program is an ELF file whose only instructions are exit(0) of the 32-bit kind.
var i386Program = []byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x02\x00\x03\x00\x01\x00\x00\x00\x54\x80\x04\x08\x34\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x34\x00\x20\x00\x01\x00\x00\x00\x00\x00\x00\x00" +
	"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x80\x04\x08\x00\x80\x04\x08\x60\x00\x00\x00\x60\x00\x00\x00\x05\x00\x00\x00\x00\x10\x00\x00" +
	"\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80\x90\x90\x90") // mov eax, 1; xor ebx, ebx; int 0x80

func TestV39TerminalInjection(t *testing.T) {
	row{id: "V39", needs: "syscalls", from: 1}.each(t, func(s *scene) {
		for _, what := range []string{"tiocsti", "tiocsti64", "tioclinux"} {
			c := durward.Call{Argv: []string{s.attemptPath(), what}, Terminal: &durward.WindowSize{Rows: 24, Cols: 80}}
			s.denied(s.attemptIn(s.base, c), eperm...)
			s.denied(s.attempt(what), eperm...) // without one it makes no difference
		}
	})
}
