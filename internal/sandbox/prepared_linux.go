//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// In a cell in which nothing is covered the command's process can be made ahead, too: it
// takes its identity, gives up all that it has to, says that it is ready, and waits for a
// message. That brings the rest of its list, the streams, and the program and the working
// directory, which we find in its room with the rights of whoever makes the room. It has a
// copy of the reaper's memory, and the reaper does not wait for it: a process that waits in
// a fork would count as one that is busy.

// preparedDescriptors are the streams, the program and the directory.
const (
	preparedDescriptors = 5
	preparedDirFD       = reaperProgramFD + 1
	_                   = uint(reaperUsersFD - preparedDirFD - 1) // the next one
)

// waitsBefore is what the reaper does before the fork. It hands its root over: no path of
// ours has to lead there, whose /proc may be that of another process-id space.
func (s shape) waitsBefore() []Call {
	const name = "hand over the root"
	b := &builder{calls: []Call{noWaiting()}}
	b.reserve(roomRootFD, roomWorkFD)
	b.privateRoot()
	b.add(name, unix.SYS_SENDMSG, number(reaperCallFD), handover(roomRootFD), number(unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL))
	return slices.Concat(b.calls, []Call{shut(name, roomRootFD, roomWorkFD)}, s.reaperBefore())
}

// waitsForCall is what the command's process does before there is a call.
func (s shape) waitsForCall() []Call {
	const name = "wait for the call"
	ready := record{kind: recordReady}
	return slices.Concat(s.first(false), s.restrained(), []Call{
		shut(name, 0, 2),
		shut(name, reaperProgramFD, preparedDirFD),
		{Name: name, NR: unix.SYS_WRITE, Args: []Arg{number(reaperStatusFD), data(unsafe.Slice((*byte)(unsafe.Pointer(&ready)), unsafe.Sizeof(ready))), number(unsafe.Sizeof(ready))}},
		{Name: name, NR: unix.SYS_RECVMSG, Args: []Arg{number(reaperCallFD), rest(preparedDescriptors), number(0)}},
	})
}

// addedByCall is what it does then, but for the execution of the program.
func (s shape) addedByCall() []Call {
	enter := Call{Name: stepReadDir, NR: unix.SYS_FCHDIR, Args: []Arg{number(preparedDirFD)}}
	return slices.Concat([]Call{enter}, s.calledFor(), []Call{s.noteTime()})
}

// readyTime is what it gets for that. Somebody else of its user could have stopped it.
var readyTime = 5 * time.Second

// prepare has the command's process get ready.
func (r *spare) prepare() error {
	s := r.own
	if err := s.tell(s.plan.warm.text); err != nil {
		return err
	}
	if !readable(s.status, readyTime) {
		return errNotReady
	}
	if said, err := readRecord(s.status); err != nil || said.kind != recordReady {
		return errors.Join(errNotReady, err)
	}
	var err error
	s.root, err = takeFile(s.call, "the root of a cell")
	return err
}

var errNotReady = errors.New("no process was ready for the call")

// restOfCall is what the message of a call says.
func (p Plan) restOfCall() ([]byte, error) {
	return p.warm.restOf(append(slices.Clip(p.warm.adds), execute(p.shape.script, vector(p.argv), environ(p.env))))
}

// call has the command's process do the call.
func (r *spare) call(s *starter) error {
	p := s.plan
	dir, err := r.find(p.shape.dir)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	program := fdOf(s.request.Program.file)
	if p.shape.program != "" {
		if program, err = r.find(p.shape.program); err != nil {
			return err
		}
		defer unix.Close(program)
	}
	rights := unix.UnixRights(fdOf(s.stdio.Stdin), fdOf(s.stdio.Stdout), fdOf(s.stdio.Stderr), program, dir)
	return unix.Sendmsg(r.own.call, s.rest, rights, nil, unix.MSG_NOSIGNAL)
}

// find opens a path of the room.
func (r *spare) find(path string) (int, error) {
	below := strings.TrimPrefix(path, "/")
	if below == "" {
		below = "."
	}
	return unix.Openat2(fdOf(r.own.root), below, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
}
