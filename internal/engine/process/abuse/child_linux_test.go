//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/engine/process"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/sandbox/refusetest"
)

// childVariable makes the test binary a runtime of its own, that does a job.
const childVariable = "DURWARD_TEST_CHILD"

// A job is what another runtime does, and what it is without.
type job struct {
	// Dir is where it keeps what it needs; Workspace is that of its commands.
	Dir, Workspace string
	Calls          []jobCall
	// Without names what is taken away before anything is done.
	Without string
	// Mode is "calls", or "numbers" for the job of TestV55NumberReuse.
	Mode string
	// Attempt is the program that makes the attempts.
	Attempt string
	// Around is the user namespace, and Processes the namespace of process ids, that the
	// job must not be in when it changes something of its own.
	Around, Processes string
}

type jobCall struct {
	Policy string
	Argv   []string
}

// An outcome is what became of a call, one line of JSON each.
type outcome struct {
	Reason     durward.Reason
	Error      string
	Hint       string
	Exit       *int
	Cause      durward.Cause
	Level      int
	Guarantees durward.Holding
	Stdout     string
}

// playRuntime does a job and gives the exit code.
func playRuntime(text string) int {
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		os.Unsetenv(childVariable)
		err = j.do()
	}
	if err == nil {
		err = sandbox.Probe().Release()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (j job) do() error {
	if err := j.lose(); err != nil {
		return fmt.Errorf("without %s: %w", j.Without, err)
	}
	engine := process.New(process.Options{ScratchDir: j.Dir})
	log, err := audit.Open(filepath.Join(j.Dir, "audit"), audit.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	say := json.NewEncoder(os.Stdout)
	for _, c := range j.Calls {
		r, err := j.runtime(engine, log, c.Policy)
		if err != nil {
			return err
		}
		if j.Mode == "numbers" {
			if err := j.reuse(r, say); err != nil {
				return err
			}
			continue
		}
		result, err := r.Do(context.Background(), durward.Call{Tool: "command", Argv: c.Argv, Dir: j.Workspace})
		if err := say.Encode(outcomeOf(result, err)); err != nil {
			return err
		}
	}
	return engine.Close()
}

func (j job) runtime(engine *process.Engine, log *audit.Log, text string) (*core.Runtime, error) {
	doc, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	p, err := policy.Compile(doc, machine.Host(j.Workspace))
	if err != nil {
		return nil, err
	}
	return core.New(core.Options{
		Source: core.Catalogue{{ID: "command", Engine: "process"}}, Policy: p.Keep(durward.KeepHeadTail), Recorder: log,
		Engines: map[string]core.Engine{"process": engine},
	})
}

func outcomeOf(r durward.Result, err error) outcome {
	o := outcome{Exit: r.Exit, Stdout: string(r.Stdout.Bytes())}
	if err != nil {
		o.Reason, o.Error = durward.ReasonOf(err), err.Error()
	}
	if e := durward.AsError(err); e != nil {
		o.Hint = e.Hint
	}
	if r.Report != nil {
		o.Cause, o.Level, o.Guarantees = r.Report.End.Cause, r.Report.Level, r.Report.Guarantees
	}
	return o
}

// lose takes away from this process, and so from all it starts, what the job is to be
// done without.
func (j job) lose() error {
	mounting := []uint32{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSMOUNT,
		unix.SYS_MOUNT_SETATTR,
	}
	landlock := []uint32{unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF}
	switch j.Without {
	case "":
		return nil
	case "namespaces":
		return refuse(unix.EPERM, append(mounting, unix.SYS_UNSHARE, unix.SYS_SETNS)...)
	case "mounts":
		return refuse(unix.EPERM, mounting...)
	case "landlock":
		return refuse(unix.ENOSYS, landlock...)
	case "landlock by a filter":
		return refuse(unix.EPERM, landlock...)
	case "seccomp":
		return refuse(unix.EPERM, unix.SYS_SECCOMP)
	case "user namespaces":
		return j.again(func() error { return j.writeOwn("/proc/sys/user/max_user_namespaces", "0") })
	case "a whole /proc":
		return j.again(func() error {
			return errors.Join(j.apart(), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
				unix.Mount("/dev/null", "/proc/uptime", "", unix.MS_BIND, ""))
		})
	case "many numbers":
		return errors.Join(j.apart(), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("proc", "/proc", "proc", 0, ""), j.writeOwn("/proc/sys/kernel/pid_max", "400"))
	}
	return errors.New("nobody knows what that is")
}

// apart refuses to go on in a namespace that is not the job's own.
func (j job) apart() error {
	for kind, around := range map[string]string{"user": j.Around, "pid": j.Processes} {
		if around == "" {
			continue
		}
		if own, err := os.Readlink("/proc/self/ns/" + kind); err != nil || own == around {
			return fmt.Errorf("the %s namespace %s is everybody's: %v", kind, own, err)
		}
	}
	return nil
}

// writeOwn writes a setting that each namespace has for itself.
func (j job) writeOwn(file, text string) error {
	if err := j.apart(); err != nil && j.Without != "many numbers" { // that has looked before it mounted its own /proc
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0); err != nil {
		return err
	}
	now, err := os.ReadFile(file)
	if err == nil && strings.TrimSpace(string(now)) != text {
		err = fmt.Errorf("%s is %q", file, now)
	}
	return err
}

// again does what takes privilege, and goes on as a program that has none.
func (j job) again(change func() error) error {
	if err := change(); err != nil {
		return err
	}
	j.Without = ""
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), childVariable+"="+string(text)))
}

// refuse has the kernel answer system calls with an error from now on, and clone where it
// is to make namespaces if unshare is among them.
func refuse(errno unix.Errno, calls ...uint32) error {
	program := []unix.SockFilter{refusetest.Look(refusetest.Number)}
	for _, nr := range calls {
		program = append(program, refusetest.Unless(nr, 1), refusetest.Refuse(errno))
		if nr == unix.SYS_UNSHARE {
			program = append(program, refusetest.Unless(unix.SYS_CLONE3, 1), refusetest.Refuse(unix.ENOSYS),
				refusetest.Unless(unix.SYS_CLONE, 4), refusetest.Look(refusetest.First), refusetest.UnlessAny(spaces, 1), refusetest.Refuse(errno), refusetest.Allow)
		}
		if nr == unix.SYS_SECCOMP {
			program = append(program,
				refusetest.Unless(unix.SYS_PRCTL, 4), refusetest.Look(refusetest.First), refusetest.Unless(unix.PR_SET_SECCOMP, 1), refusetest.Refuse(errno), refusetest.Allow)
		}
	}
	return refusetest.Load(append(program, refusetest.Allow))
}

const spaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// child prepares another runtime for a job, as the test's own user unless how says
// otherwise.
func (s *scene) child(j job, how *syscall.SysProcAttr) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	s.Helper()
	j.Workspace, j.Attempt = s.workspace, s.attemptPath()
	j.Dir = s.makeDir(fmt.Sprint("child", len(names(s.T, s.top))), s.uid, 0o777)
	text, err := json.Marshal(j)
	s.check(err)
	c := exec.Command("/proc/self/exe")
	c.Dir = "/"
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + j.Dir, "TMPDIR=" + j.Dir, "GORACE=atexit_sleep_ms=0", childVariable + "=" + string(text)}
	c.SysProcAttr = how
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	return c, &stdout, &stderr
}

// outcomes does a job to its end.
func (s *scene) outcomes(j job, how *syscall.SysProcAttr) []outcome {
	s.Helper()
	c, stdout, stderr := s.child(j, how)
	if err := c.Run(); err != nil {
		s.Fatalf("the other runtime: %v\n%s%s", err, stdout, stderr)
	}
	return decode[outcome](s, stdout)
}

func decode[T any](s *scene, from io.Reader) []T {
	s.Helper()
	var list []T
	for d := json.NewDecoder(from); ; {
		var one T
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return list
		}
		s.check(err)
		list = append(list, one)
	}
}

// inUserNamespace is a process in a user namespace of its own, as one who is not root
// there, with one capability.
func (s *scene) inUserNamespace(capability uintptr, more uintptr) *syscall.SysProcAttr {
	const inner = 1000
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | more,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: inner, HostID: s.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: inner, HostID: s.gid, Size: 1}},
		Credential:  &syscall.Credential{Uid: inner, Gid: inner, NoSetGroups: true},
		AmbientCaps: []uintptr{capability},
	}
}

// own gives the link of one of the test's namespaces.
func (s *scene) own(kind string) string {
	s.Helper()
	link, err := os.Readlink("/proc/self/ns/" + kind)
	s.check(err)
	return link
}
