package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"github.com/durward/durward"
)

const containment = JobObject

// applied names the mechanisms that are to hold a command.
func applied(durward.Grant) []string { return []string{string(containment)} }

// missing names what a level 0 has elsewhere, and what holds files and network.
var missing = []string{
	"files and network: nothing confines them on this system",
	"limits: openFiles and fileSizeBytes are not set on this system",
}

var (
	errNoTerminal = errors.New("terminals are not supported on this system")
	errNoProgram  = windows.ERROR_BAD_EXE_FORMAT
)

// An identity is whom a command runs as: the runtime's own user.
type identity struct {
	uid, gid uint32
	change   bool
}

func identify(g durward.Grant, _ durward.Level, h Host, _ *os.File) (identity, error) {
	if g.Identity.Fixed {
		return identity{}, &durward.Error{
			Reason: durward.SandboxUnavailable, Op: "identity", Rule: "identity",
			Hint: "write identity: auto", Err: errors.New("this system has no user ids"),
		}
	}
	return identity{uid: h.UID, gid: h.GID}, nil
}

// UserOf gives no id: this system has none.
func UserOf(g durward.Grant, dir *os.File) (uint32, []uint32, error) {
	id, err := identify(g, durward.LevelNone, ourselves(), dir)
	return id.uid, nil, err
}

// commandLine gives the command line of a request.
func commandLine(_ context.Context, r Request, _ bool) ([]string, error) {
	return append([]string{r.Program.Path}, r.Argv[1:]...), nil
}

// A tree is a command in a job object, which no process of it can leave.
type tree struct {
	mu      sync.Mutex
	job     windows.Handle // guarded by mu; zero once closed
	process windows.Handle // closed after wait
	pid     int
}

// startTree has a suspended process put into a job, and only then begin.
func startTree(p Plan, r Request, stdio Stdio) (*tree, error) {
	job, err := newJob(r.Grant.Limits)
	if err != nil {
		return nil, err
	}
	info, err := startSuspended(p, r.Dir.Name(), stdio)
	if err != nil {
		return nil, errors.Join(err, windows.CloseHandle(job))
	}
	defer windows.CloseHandle(info.Thread)
	if err = windows.AssignProcessToJobObject(job, info.Process); err != nil {
		err = fmt.Errorf("assign to the job object: %w", err)
	} else if _, err = windows.ResumeThread(info.Thread); err != nil {
		err = fmt.Errorf("resume: %w", err)
	}
	if err != nil {
		return nil, errors.Join(err, windows.TerminateProcess(info.Process, killedCode), windows.CloseHandle(info.Process), windows.CloseHandle(job))
	}
	return &tree{job: job, process: info.Process, pid: int(info.ProcessId)}, nil
}

// killedCode is the exit code of who is killed: what a shell says of a KILL.
const killedCode = 137

// wait waits for the command.
func (t *tree) wait() Exit {
	defer windows.CloseHandle(t.process)
	var code uint32
	_, err := windows.WaitForSingleObject(t.process, windows.INFINITE)
	if err == nil {
		err = windows.GetExitCodeProcess(t.process, &code)
	}
	if err != nil {
		return Exit{Err: startError(err)} // better no end than one that is made up
	}
	return Exit{Status: syscall.WaitStatus{ExitCode: code}, CPU: t.usage().CPU}
}

// accounting asks our job only: without a handle it would be the one that we live in.
func (t *tree) accounting() jobAccounting {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return jobAccounting{}
	}
	return accountingOf(t.job)
}

// alive reports whether anybody is in the job.
func (t *tree) alive() bool { return t.accounting().active > 0 }

// usage tells the processor time of the job; its memory the kernel bounds.
func (t *tree) usage() Usage {
	a := t.accounting()
	return Usage{CPU: time.Duration(a.userTime+a.kernelTime) * 100}
}

// leave does nothing: there is no way to ask a program to end.
func (t *tree) leave() {}

// end kills all in the job.
func (t *tree) end() { _ = t.kill() }

func (t *tree) kill() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return nil
	}
	return windows.TerminateJobObject(t.job, killedCode)
}

// signal knows two: TERM is KILL, and there are no others.
func (t *tree) signal(s syscall.Signal) error {
	if s == syscall.SIGTERM || s == syscall.SIGKILL {
		return t.kill()
	}
	return &durward.Error{Reason: durward.NotSupported, Op: "signal", Err: errors.New("this system has no such signal")}
}

// close gives the job up, which kills who may be left in it.
func (t *tree) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	job := t.job
	t.job = 0
	if job == 0 {
		return nil
	}
	return windows.CloseHandle(job)
}
