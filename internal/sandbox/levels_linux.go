//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// A levelProbe finds out, when it is first asked, whether a level can be had, and keeps
// the answer.
type levelProbe struct {
	once [durward.LevelIsolate + 1]sync.Once
	errs [durward.LevelIsolate + 1]error
}

// offers says why a level cannot be had on this host, nil when it can.
func (h Host) offers(at durward.Level) error {
	switch {
	case at == durward.LevelNone:
		return nil
	case at > durward.LevelIsolate:
		return errors.New("this durward has levels 0, 1 and 2")
	case at == durward.LevelIsolate && h.best() != PIDNamespace:
		return h.withoutNamespace()
	case h.levels == nil:
		return errors.New("it was not tried")
	}
	h.levels.once[at].Do(func() { h.levels.errs[at] = h.tryLevel(at) })
	return h.levels.errs[at]
}

// Level says why a level cannot be had on this host, nil when it can. It is found out by
// doing it when it is first asked for.
func (h Host) Level(at durward.Level) error {
	if h.best() == "" {
		return errors.New("no containment works")
	}
	return h.offers(at)
}

func (h Host) withoutNamespace() error {
	for _, t := range h.Trials {
		if t.Containment == PIDNamespace && t.Err != nil {
			return fmt.Errorf("own process-id space: %w", t.Err)
		}
	}
	return errors.New("it needs a process-id space of the call's own")
}

// tryLevel runs what nobody minds at a level, and sees that what must not be had is not:
// a command is started, with nobody of it left afterwards; then each attempt is made in
// the place of a command, and has to fail.
func (h Host) tryLevel(at durward.Level) error {
	if at == durward.LevelRestrict {
		if _, err := landlock.Probe(); err != nil {
			return err
		}
	}
	h.levels = &levelProbe{}
	for l := range h.levels.once {
		h.levels.once[l].Do(func() {}) // what is being tried is taken to be there
	}
	if at == durward.LevelRestrict {
		h.levels.errs[durward.LevelIsolate] = errors.New("not now")
	}
	t, err := newLevelTrial(at, h)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.runs(); err != nil {
		return err
	}
	for _, a := range t.attempts() {
		if err := t.refused(a); err != nil {
			return err
		}
	}
	return nil
}

// An attempt is a call that has to fail at a level, with one of some errors.
type attempt struct {
	call Call
	with []unix.Errno
}

func (t *levelTrial) attempts() []attempt {
	list := []attempt{
		{Call{Name: "open a file outside", NR: unix.SYS_OPENAT, Args: []Arg{number(unix.AT_FDCWD), text("/proc/self/maps"), number(unix.O_RDONLY)}}, []unix.Errno{unix.EACCES}},
		{Call{Name: "make a socket", NR: unix.SYS_SOCKET, Args: []Arg{number(unix.AF_INET), number(unix.SOCK_STREAM), number(0)}}, []unix.Errno{unix.EPERM}},
		{Call{Name: "mount", NR: unix.SYS_MOUNT, Args: []Arg{number(0), text("/"), number(0), number(unix.MS_REMOUNT | unix.MS_BIND), number(0)}}, []unix.Errno{unix.EPERM}},
	}
	if t.request.Grant.Level == durward.LevelIsolate {
		list[0] = attempt{Call{Name: "find a file outside", NR: unix.SYS_FACCESSAT, Args: []Arg{number(unix.AT_FDCWD), text("/../" + t.outside), number(0)}}, []unix.Errno{unix.ENOENT}}
		list = append(list, attempt{Call{Name: "write to the private root", NR: unix.SYS_MKDIRAT, Args: []Arg{number(unix.AT_FDCWD), text("/durward-probe"), number(0)}}, []unix.Errno{unix.EROFS, unix.EACCES}})
	}
	return list
}

// A levelTrial is one request with what it needs to be started.
type levelTrial struct {
	request     Request
	host        Host
	null        *os.File
	read, write *os.File
	outside     string // a name in the machine's root that is not to be seen
}

func newLevelTrial(at durward.Level, h Host) (*levelTrial, error) {
	program, err := orphanProgram()
	if err != nil {
		return nil, err
	}
	inside, outside, err := twoNames()
	if err != nil {
		return nil, err
	}
	t := &levelTrial{host: h, outside: outside, request: Request{
		Argv: []string{"durward-probe"}, Program: &Program{file: program}, Follow: true,
		Grant: durward.Grant{
			Mode: durward.ReadOnly, Level: at, MinLevel: at,
			Files:   durward.Files{Read: []string{inside}, Exec: []string{"/"}},
			Network: durward.Network{Mode: durward.NetNone},
		},
	}}
	if t.request.Dir, err = os.Open(inside); err == nil {
		if t.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
			t.read, t.write, err = os.Pipe()
		}
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// twoNames gives a directory in the machine's root that everybody may enter, and the name
// of something else there. What every room has is neither.
func twoNames() (inside, outside string, err error) {
	entries, err := os.ReadDir("/")
	for _, e := range entries {
		info, gone := e.Info()
		switch {
		case gone != nil || slices.Contains([]string{"dev", "proc", "tmp"}, e.Name()):
		case inside == "" && e.IsDir() && info.Mode()&0o5 == 0o5:
			inside = "/" + e.Name()
		case outside == "":
			outside = e.Name()
		}
	}
	if err == nil && (inside == "" || outside == "") {
		err = errors.New("the root directory holds too little to try it")
	}
	return inside, outside, err
}

func (t *levelTrial) close() {
	for _, f := range []*os.File{t.request.Dir, t.null, t.read, t.write} {
		f.Close() // of nil it is an error that does no harm
	}
}

// runs runs the orphan and sees that nobody of it is left.
func (t *levelTrial) runs() error {
	p, err := t.start(func(*Plan) {})
	t.write.Close()
	t.write = nil
	if err != nil {
		return err
	}
	exit, err := p.endWithin(probeTime, t.read)
	if err == nil && (exit.Status.ExitStatus() != 0 || exit.Alone) {
		err = fmt.Errorf("the probe ended with status %#x", uint32(exit.Status))
	}
	return err
}

// refused makes an attempt where the program would be executed, and sees it fail.
func (t *levelTrial) refused(a attempt) error {
	p, err := t.start(func(p *Plan) {
		last := len(p.Command) - 1
		p.Command = append(slices.Clip(p.Command[:last]), a.call, Call{Name: "exit", NR: unix.SYS_EXIT_GROUP, Args: []Arg{number(0)}})
	})
	if err == nil {
		_, err = p.endWithin(probeTime, t.null)
		return errors.Join(fmt.Errorf("%s: it could", a.call.Name), err)
	}
	var step *StepError
	if errors.As(err, &step) && step.Step == a.call.Name && slices.Contains(a.with, step.Errno) {
		return nil
	}
	return err
}

// start starts the plan as it is changed.
func (t *levelTrial) start(change func(*Plan)) (*Process, error) {
	p, err := Compile(context.Background(), t.request, t.host)
	if err != nil {
		return nil, err
	}
	change(&p)
	if err := p.retell(); err != nil {
		return nil, err
	}
	out := t.write
	if out == nil {
		out = t.null
	}
	return Start(context.Background(), p, t.request, Stdio{t.null, out, t.null}, t.host)
}
