//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durward/durward"
)

// Probe finds out, by doing it, what this host can hold. The answer is kept for the
// life of the process.
var Probe = sync.OnceValue(probe)

// probeTime bounds one trial.
const probeTime = 2 * time.Second

func probe() Host {
	h := newHost()
	h.Trials = []Trial{h.try(PIDNamespace), {Cgroup, errNotNeeded}, {Subreaper, errNotNeeded}}
	if h.Trials[0].Err != nil {
		if h.SharedErr = tryShared(); h.SharedErr != nil {
			h.Trials[0] = h.try(PIDNamespace)
		}
	}
	if h.Trials[0].Err != nil {
		h.tryOthers()
	}
	h.UserNamespaceErr = h.tryUserNamespace()
	h.UserNamespace = h.UserNamespaceErr == nil
	return h
}

var errNotNeeded = errors.New("not tried: a better one works")

// ProbeAll finds out about every containment, also those that are not needed because
// a better one works. The answer is kept, too.
var ProbeAll = sync.OnceValue(func() Host {
	h := Probe()
	if h.Trials[1].Err == errNotNeeded {
		h.Trials = slices.Clone(h.Trials)
		h.tryOthers()
	}
	probedAll.Store(true)
	return h
})

var probedAll atomic.Bool // whether ProbeAll has found out

// Probed gives the most that was found out so far, and finds out what Probe does if that is
// nothing.
func Probed() Host {
	if probedAll.Load() {
		return ProbeAll()
	}
	return Probe()
}

func (h *Host) tryOthers() {
	h.Trials[1], h.Trials[2] = h.tryCgroup(), h.try(Subreaper)
}

// Settle waits until all is freed that calls which are over held.
func (h Host) Settle() {
	h.later.Wait()
	h.nets.making.Wait()
	if h.memory != nil {
		h.memory.settle()
	}
}

// Release frees what Probe made to be used again: call it when no command is running
// any more and none will be.
func (h Host) Release() error {
	var err error
	if h.users != nil {
		h.Settle()
		_ = h.rules.Close() // it gives up what it holds in any case
		h.mounts.Close()
		h.rooms.close()
		h.nets.close()
		h.users.close()
	}
	if h.memory != nil {
		err = h.memory.release()
	}
	if h.cgroups != nil {
		err = errors.Join(err, h.cgroups.close())
	}
	return err
}

func (h *Host) tryCgroup() Trial {
	home, err := openCgroupHome()
	if err != nil {
		return Trial{Cgroup, err}
	}
	h.cgroups = home
	if home.memory {
		home.memory = home.tryMemory() == nil
	}
	return h.try(Cgroup)
}

// try runs the orphan under a containment and sees whether its child, which has fled
// into a session of its own, is dead afterwards: the child holds the write end of a
// pipe, and only its death closes that.
func (h Host) try(c Containment) Trial {
	if c == Subreaper && !ownProc() { // its processes are ended by the numbers that stand there
		return Trial{c, errForeignProc}
	}
	h.Trials = []Trial{{Containment: c}}
	exit, err := h.runOrphan(durward.Limits{})
	if err == nil && (exit.Status.ExitStatus() != 0 || exit.Alone) {
		err = fmt.Errorf("the probe ended with status %#x", uint32(exit.Status))
	}
	return Trial{c, err}
}

// tryUserNamespace runs the orphan where one process is allowed, and sees whether it
// is kept from making another.
func (h Host) tryUserNamespace() error {
	h.UserNamespace = true
	if h.best() == "" {
		return errors.New("no containment works")
	}
	limits := durward.Limits{Pids: 1}
	exit, err := h.runOrphan(limits)
	if err == nil && exit.Status.ExitStatus() != 1 {
		err = errors.New("the limit on processes has no effect")
	}
	return err
}

func (h Host) runOrphan(limits durward.Limits) (Exit, error) {
	program, err := orphanProgram()
	if err != nil {
		return Exit{}, err
	}
	dir, err := os.Open("/")
	if err != nil {
		return Exit{}, err
	}
	defer dir.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return Exit{}, err
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return Exit{}, err
	}
	defer read.Close()
	r := Request{
		Argv: []string{"durward-probe"}, Program: &Program{file: program}, Dir: dir, Follow: true,
		Grant: durward.Grant{Mode: durward.ReadOnly, Level: durward.LevelNone, StepDown: true, Limits: limits},
	}
	plan, err := Compile(context.Background(), r, h)
	if err != nil {
		write.Close()
		return Exit{}, err
	}
	p, err := Start(context.Background(), plan, r, Stdio{null, write, null}, h)
	write.Close()
	if err != nil {
		return Exit{}, err
	}
	return p.endWithin(probeTime, read)
}

// endWithin waits for the command, kills what is left, and makes sure that nobody
// holds the other end of the pipe any more.
func (p *Process) endWithin(d time.Duration, read *os.File) (Exit, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.Exited():
	case <-timer.C:
	}
	p.Kill()
	select {
	case <-p.Gone():
	case <-timer.C:
		return p.exit, errors.New("the tree was not dead in time")
	}
	if err := read.SetReadDeadline(time.Now().Add(d)); err != nil {
		return p.exit, err
	}
	_, err := io.Copy(io.Discard, read)
	return p.exit, errors.Join(err, p.Close(), p.exit.Err)
}
