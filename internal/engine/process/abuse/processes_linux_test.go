//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// victims are the processes that a command is to leave alone, by their numbers on this
// machine: the runtime, another of the same user, and another run.
func (s *scene) victims() map[string]int {
	s.Helper()
	return map[string]int{"runtime": os.Getpid(), "canary": s.canary.pid, "sibling": s.sibling().pid}
}

// unharmed asks that the sibling of the scene still waits.
func (s *scene) unharmed(pid int) {
	s.Helper()
	if pids := attempts(s.T, s.attemptPath()+" hold"); len(pids) != 1 || pids[0] != pid {
		s.Errorf("the sibling was %d, now there are %v", pid, pids)
	}
}

func TestV09FilesOfProcesses(t *testing.T) {
	t.Setenv("DURWARD_ABUSE_SECRET", secretOfCanary) // of this very process, should a command read that
	row{id: "V09", needs: "proc", from: 2, partly: "fs.read, syscalls"}.each(t, func(s *scene) {
		for _, pid := range s.victims() {
			for _, what := range []string{"read %s/environ", "read %s/mem", "read %s/maps", "list %s/fd", "list %s/root", "list %s/cwd", "list %s/map_files", "read %s/root" + s.outside + "/secret", "readlink %s/exe", "readlink %s/cwd", "read %s/auxv", "read %s/syscall", "open %s/ns/mnt", "openwrite %s/oom_score_adj", "list %s/task/" + strconv.Itoa(pid) + "/fd"} {
				what = fmt.Sprintf(what, "/proc/"+strconv.Itoa(pid))
				s.denied(s.attempt(strings.Fields(what)...), append(hidden, "EIO", "ESRCH")...)
			}
		}
	})
}

func TestV10ListProcesses(t *testing.T) {
	row{id: "V10", needs: "proc", from: 2}.each(t, func(s *scene) {
		sibling := s.sibling()
		got := s.must(s.attempt("ps"))
		lines := strings.Split(strings.TrimSpace(got), "\n")
		for _, line := range lines {
			pid, command, _ := strings.Cut(line, " ")
			if pid != "1" && !strings.Contains(command, s.attemptPath()+" ps") {
				s.Errorf("it sees %q", line)
			}
			if strings.Contains(command, " hold") || strings.Contains(command, " wait") {
				s.Errorf("it sees another run, or a process of the machine: %q", line)
			}
		}
		if len(lines) > 2 {
			s.Errorf("it sees %d processes:\n%s", len(lines), got)
		}
		for _, pid := range []int{os.Getpid(), s.canary.pid, sibling.pid} {
			s.denied(s.attempt("stat", fmt.Sprint("/proc/", pid)), hidden...)
		}
		s.denied(s.attempt("read", "/proc/kcore"), append(hidden, "EIO")...)
		if a := s.attempt("read", "/proc/keys"); a.Err == "" && a.Got != "" {
			s.Errorf("%v", a)
		}
		if a := s.attempt("read", "/proc/timer_list"); a.Err == "" && a.Got != "" {
			s.Errorf("%v", a)
		}
		s.denied(s.attempt("openwrite", "/proc/sysrq-trigger"), blocked...)
		s.denied(s.attempt("openwrite", "/proc/sys/kernel/core_pattern"), blocked...)
		s.denied(s.attempt("openwrite", "/proc/sys/vm/drop_caches"), blocked...)
		if a := s.attempt("list", "/sys/firmware"); a.Err == "" && a.Got != "" {
			s.Errorf("%v", a)
		}
		s.unharmed(sibling.pid)
	})
}

func TestV11Signals(t *testing.T) {
	row{id: "V11", needs: "proc", from: 2, partly: "syscalls"}.each(t, func(s *scene) {
		undelivered := []string{"ESRCH", "EPERM", "EACCES", "ENOENT", "EINVAL", "EBADF"}
		victims := s.victims()
		for _, pid := range victims {
			for _, how := range []string{"kill", "tgkill", "sigqueue", "pidfd", "procfd", "owner", "killgroup"} {
				for _, signal := range []unix.Signal{0, unix.SIGTERM, unix.SIGSTOP, unix.SIGKILL} {
					if how == "owner" && signal == 0 {
						continue // that would be the signal for input
					}
					a := s.attempt(how, strconv.Itoa(pid), strconv.Itoa(int(signal)))
					if how == "owner" && a.Err == "" {
						continue // the kernel sends none and says nothing; who got one is seen outside
					}
					s.denied(a, undelivered...)
				}
			}
			for _, how := range []string{"priority", "prlimit", "affinity"} {
				s.denied(s.attempt(how, strconv.Itoa(pid)), undelivered...)
			}
		}
		// The first process of the run is no prey for its command: the call ends as it would.
		for _, how := range []string{"parent", "everybody"} {
			for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGSTOP, unix.SIGKILL} {
				a := s.attempt(how, strconv.Itoa(int(signal)))
				if a.err != nil || a.result.Exit == nil {
					s.Errorf("%v, %+v", a, a.result)
				}
			}
		}
		s.unharmed(victims["sibling"])
	})
}

func TestV12Trace(t *testing.T) {
	row{id: "V12", needs: "syscalls", from: 1}.each(t, func(s *scene) {
		victims := s.victims()
		for _, pid := range victims {
			for _, how := range []string{"ptrace", "ptrace-seize", "vmread", "vmwrite", "getfd", "kcmp"} {
				s.denied(s.attempt(how, strconv.Itoa(pid)), eperm...)
			}
			s.denied(s.attempt("openwrite", fmt.Sprintf("/proc/%d/mem", pid)), blocked...)
		}
		s.denied(s.attempt("ptrace-me"), eperm...)
		// Nor its own reaper.
		for _, how := range []string{"ptrace", "vmread", "getfd"} {
			s.denied(s.attempt(how, "1"), eperm...)
		}
		s.unharmed(victims["sibling"])
	})
}

func TestV18Capabilities(t *testing.T) {
	row{id: "V18", needs: "priv", from: 1}.each(t, func(s *scene) {
		ids := s.must(s.attempt("ids"))
		for _, want := range []string{"eff=0", "prm=0", "inh=0", "amb=0", "nnp=1", "seccomp=2"} {
			if !strings.Contains(" "+ids+" ", " "+want+" ") {
				s.Errorf("no %s in %q", want, ids)
			}
		}
		s.denied(s.attempt("caps"), eperm...)
		s.denied(s.attempt("setuid", "0"), "EPERM", "EINVAL")
		s.denied(s.attempt("setuid", "1"), "EPERM", "EINVAL")
		pid := s.sibling().pid
		seen, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		s.check(err)
		for _, want := range []string{"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(string(seen), want+"\n") {
				s.Errorf("seen from outside there is no %q in\n%s", want, seen)
			}
		}
		if uids := fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\n", s.uid); !strings.Contains(string(seen), uids) {
			s.Errorf("seen from outside it is not user %d:\n%s", s.uid, seen)
		}
	})
}

func TestV28InheritedDescriptors(t *testing.T) {
	row{id: "V28"}.each(t, threeDescriptors)
}

func threeDescriptors(s *scene) {
	s.Helper()
	held := []int{s.canary.pidfd}
	open := func(fd int, err error) {
		s.check(err)
		held = append(held, fd)
		s.Cleanup(func() { unix.Close(fd) })
	}
	open(unix.Open(filepath.Join(s.outside, "secret"), unix.O_RDONLY, 0))
	open(unix.Open(s.outside, unix.O_RDONLY|unix.O_DIRECTORY, 0))
	open(unix.Dup(s.listeners[0].fd))
	var pipe [2]int
	s.check(unix.Pipe(pipe[:]))
	open(pipe[0], nil)
	open(pipe[1], nil)
	for _, high := range []int{500, 900} { // above whatever the runtime opens for itself
		open(high, unix.Dup3(held[1], high, 0))
	}
	got := s.must(s.attempt("fds"))
	if found := strings.Fields(got); len(found) != 3 || !strings.HasPrefix(found[2], "2:") {
		s.Errorf("it has %q", got)
	}
	for _, fd := range held[1:] {
		s.denied(s.attempt("read", fmt.Sprintf("/proc/self/fd/%d", fd)), hidden...)
	}
}

func TestV29ForkBomb(t *testing.T) {
	row{id: "V29"}.each(t, func(s *scene) {
		d := s.base.with("limits", "{wallMs: 1500, graceMs: 50, pids: 64}")
		bomb := make(chan error, 1)
		p := s.runtime(s.compile(d))
		go func() {
			c := s.script("b() { b | b & }; b 2>/dev/null; sleep 3600")
			c.Tool, c.Dir = "command", s.workspace
			_, err := p.Do(s.Context(), c)
			bomb <- err
		}()
		waitFor(s.T, "the bomb has gone off", func() bool { return len(processesWith(s.T, s.top+"; b()")) > 8 || len(bomb) > 0 })
		if got := s.must(s.attempt("ids")); got == "" {
			s.Error("another call got nothing done")
		}
		if err := <-bomb; durward.KindOf(err) != durward.Timeout {
			s.Errorf("the bomb: %v", err)
		}
	})
}

// More processes than allowed cannot be made, and the command goes on.
func TestV29ForkLimit(t *testing.T) {
	row{id: "V29", needs: "pids"}.each(t, func(s *scene) {
		a := s.attemptUnder(s.base.with("limits", "{wallMs: 60000, graceMs: 50, pids: 40}"), "forks", "200")
		n, err := strconv.Atoi(a.Got)
		if a.Err != "EAGAIN" || err != nil || n < 1 || n > 40 {
			s.Errorf("%v", a)
		}
		if held := guarantee(a.result, durward.Pids); held != durward.HeldKernel {
			s.Errorf("pids is held by %s", held)
		}
	})
}

func TestV36Daemonize(t *testing.T) {
	row{id: "V36", needs: "kill"}.each(t, func(s *scene) {
		s.must(s.attempt("daemon"))
		if left := processesWith(s.T, s.top); len(left) > 0 {
			s.Errorf("%v live on", left)
		}
		r, err := s.shell("(setsid setsid env -i bash -c ': " + s.top + "; exec sleep 3600' </dev/null >/dev/null 2>&1 &) ; disown -a; exit 4")
		if err != nil || r.ExitStatus() != 4 {
			s.Errorf("exit %d, %v", r.ExitStatus(), err)
		}
		if left := processesWith(s.T, s.top); len(left) > 0 {
			s.Errorf("%v live on", left)
		}
		if ending(r).Survivors != 0 {
			s.Errorf("%d survivors are reported", ending(r).Survivors)
		}
	})
}

func TestV37IgnoredSignals(t *testing.T) {
	row{id: "V37", needs: "kill"}.each(t, func(s *scene) {
		d := s.base.with("limits", "{wallMs: 500, graceMs: 100}")
		for _, script := range []string{
			`trap "" TERM INT HUP QUIT; while :; do read -t 3600 < <(sleep 3600); done`,
			`kill -STOP $$`,
			`sleep 3600 & kill -STOP $!; trap "" TERM; kill -STOP $$`,
			`setsid bash -c 'trap "" TERM; kill -STOP $$' & wait`,
		} {
			r, err := s.do(d, s.script(script))
			if durward.KindOf(err) != durward.Timeout || ending(r).Cause != durward.CauseTimeout {
				s.Errorf("%s: %v", script, err)
			}
			if left := processesWith(s.T, s.top); len(left) > 0 {
				s.Errorf("%s: %v live on", script, left)
			}
		}
	})
}

func TestV38HeldPipe(t *testing.T) {
	row{id: "V38", needs: "kill"}.each(t, func(s *scene) {
		for _, script := range []string{
			`sleep 3600 & echo said; exit 3`,
			`(trap "" TERM HUP; exec setsid bash -c 'trap "" TERM; : ` + s.top + `; sleep 3600') & echo said; exit 3`,
		} {
			r, err := s.shell(script)
			if err != nil || r.ExitStatus() != 3 || string(r.Stdout.Bytes()) != "said\n" {
				s.Errorf("%s: exit %d, %v: %q", script, r.ExitStatus(), err, r.Stdout.Bytes())
			}
			if left := processesWith(s.T, s.top); len(left) > 0 {
				s.Errorf("%s: %v live on", script, left)
			}
			if r.Took > 20*time.Second {
				s.Errorf("%s: answered after %s", script, r.Took)
			}
		}
	})
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) { // between two looks
		if time.Now().After(end) {
			t.Fatalf("%s: not in time", what)
		}
	}
}
