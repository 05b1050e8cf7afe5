package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/kin"
	"github.com/durward/durward/internal/sandbox/seatbelt"
)

const containment = ProcessGroup

// applied names the mechanisms that are to hold a command of a grant.
func applied(g durward.Grant) []string {
	if !g.Mode.Confines() {
		return []string{string(containment)}
	}
	return []string{string(containment), "seatbelt"}
}

// missing names what a level 0 has elsewhere.
var missing = []string{
	"kill: what the command started lives on when durward is killed",
	"limits: cpuMs, memoryBytes, pids, openFiles and fileSizeBytes are not set on this system",
}

var (
	errNoTerminal = errors.New("terminals are not supported on this system")
	errNoProgram  = syscall.ENOEXEC
)

// commandLine gives the command line of a request, under a profile where its mode confines.
func commandLine(ctx context.Context, r Request, scratch bool) ([]string, error) {
	if !r.Grant.Mode.Confines() {
		return append([]string{r.Program.Path}, r.Argv[1:]...), nil
	}
	if err := runnable(r.Program, r.Grant.Files); err != nil {
		return nil, err
	}
	g := r.Grant
	found, err := expand(ctx, g)
	if err != nil {
		return nil, err
	}
	g.Files.Deny, g.Files.DenyGlobs = slices.Concat(g.Files.Deny, found), nil
	tmp := ""
	if scratch {
		tmp = physicalName(r.Scratch)
	}
	profile, err := seatbelt.Profile(g, tmp)
	if err != nil {
		return nil, &durward.Error{
			Reason: durward.SandboxUnavailable, Op: "sandbox", Rule: "seatbelt", Hint: "name other paths, or run it on Linux", Err: err,
		}
	}
	return seatbelt.Argv(profile, r.Program.Path, r.Argv), nil
}

// physicalName resolves a path that need not exist as far as it does.
func physicalName(path string) string {
	if physical, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return physical
	}
	return filepath.Join(physicalName(filepath.Dir(path)), filepath.Base(path))
}

// A tree is a command that leads a session and a process group of its own, and what
// descends from it.
type tree struct {
	process *os.Process
	pid     int

	mu     sync.Mutex
	ended  bool        // guarded by mu; the command was waited for
	family *kin.Family // guarded by mu
}

// startTree starts the command. Its working directory is entered by path.
func startTree(p Plan, r Request, stdio Stdio) (*tree, error) {
	if err := closeOnExec(); err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{
		Dir: r.Dir.Name(), Env: p.env, Files: []*os.File{stdio.Stdin, stdio.Stdout, stdio.Stderr},
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	if p.change {
		attr.Sys.Credential = &syscall.Credential{Uid: p.UID, Gid: p.GID}
	}
	process, err := os.StartProcess(p.argv[0], p.argv, attr)
	if err != nil {
		return nil, err
	}
	return &tree{process: process, pid: process.Pid, family: kin.Of(process.Pid)}, nil
}

// closeOnExec sees to it that no program inherits what we inherited ourselves. What this
// program opens is marked already.
func closeOnExec() error {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// wait waits for the command.
func (t *tree) wait() Exit {
	state, err := t.process.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.family.End()
	if err != nil {
		return Exit{Err: startError(err)} // better no end than one that is made up
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	return Exit{Status: status, CPU: state.UserTime() + state.SystemTime()}
}

// alive reports whether anybody can be found.
func (t *tree) alive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.members()) > 0
}

// members needs mu.
func (t *tree) members() []int { return t.family.Look(listing()) }

const zombie = 5 // SZOMB

func listing() []kin.Process {
	all, _ := unix.SysctlKinfoProcSlice("kern.proc.all") // where it is forbidden nobody can be found
	list := make([]kin.Process, 0, len(all))
	for _, p := range all {
		if p.Proc.P_stat != zombie {
			list = append(list, kin.Process{
				ID: int(p.Proc.P_pid), Parent: int(p.Eproc.Ppid), Group: int(p.Eproc.Pgid), Born: p.Proc.P_starttime.Nano(),
			})
		}
	}
	return list
}

// leave asks those to end whom the command left behind.
func (t *tree) leave() { t.each(syscall.SIGTERM) }

// end kills whom it can find. The group goes first, and at once: whoever is killed
// forks no more.
func (t *tree) end() {
	_ = t.signal(syscall.SIGKILL)
	t.each(syscall.SIGKILL)
}

func (t *tree) each(s syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range t.members() {
		_ = syscall.Kill(id, s) // it may be gone
	}
}

// signal sends a signal to the command's process group.
func (t *tree) signal(s syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	if err := syscall.Kill(-t.process.Pid, s); err != syscall.ESRCH {
		return err
	}
	return nil
}

// usage tells nothing; it remembers who is there, so that they are found later.
func (t *tree) usage() Usage {
	t.alive()
	return Usage{}
}

func (t *tree) close() error { return nil }
