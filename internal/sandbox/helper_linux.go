//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A helper is a process that runs a list of calls for us, and then waits until we are
// done with what it has become.
type helper struct {
	starter
	list       []Call
	pid, pidfd int
}

// An errand is what a helper does.
type errand struct {
	// enter and inside are run while the process still shares our memory: before and after
	// the descriptors in place have their numbers.
	enter, inside []Call
	place         []placement
	// cgroup is a descriptor of the one that it is born in, or negative.
	cgroup int
	// list is run by the reaper's program.
	list []Call
}

// startHelper has the reaper's program run a list, say so, and wait for our end.
func startHelper(e errand) (*helper, error) {
	program, err := reaperProgram()
	if err != nil {
		return nil, err
	}
	h := &helper{starter: *newStarter(Plan{}), list: e.list, pidfd: -1}
	ends, err := h.tell()
	if err == nil {
		place := append(ends, e.place...)
		h.pid, h.pidfd, err = spawnEither(e.cgroup, append(e.enter, onlyReaper("durward-helper", place, fdOf(program), e.inside)...))
	}
	h.closeLent() // or its end would not end our pipe
	if err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// namespace has a helper run an errand that leaves it in a namespace of its own, and opens
// that: "mnt", "net" or "user", whose maps are written. The helper has ended when it
// returns.
func namespace(kind string, e errand, maps []accountMap) (*os.File, error) {
	if !ownProc() {
		return nil, errForeignProc
	}
	h, err := startHelper(e)
	if err != nil {
		return nil, err
	}
	defer h.end()
	if err := h.ready(); err != nil {
		return nil, err
	}
	proc := fmt.Sprintf("/proc/%d/", h.pid)
	for _, m := range maps {
		if err := writeFile(proc+m.file, m.content); err != nil {
			return nil, err
		}
	}
	return os.Open(proc + "ns/" + kind)
}

// tell makes the pipes and writes the block.
func (h *helper) tell() ([]placement, error) {
	list := append(h.list[:len(h.list):len(h.list)],
		Call{Name: "say so", NR: unix.SYS_WRITE, Args: []Arg{number(reaperStatusFD), text("."), number(1)}},
		Call{Name: "wait for the runtime's end", NR: unix.SYS_PPOLL, Args: []Arg{pollEnd(reaperControlFD), number(1), number(0), number(0)}},
		Call{Name: "exit", NR: unix.SYS_EXIT_GROUP, Args: []Arg{number(0)}},
	)
	block, err := reaperLists{before: list}.encode()
	if err != nil {
		return nil, err
	}
	if err := h.pipe(&h.status, fromChild, unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	if err := h.pipe(&h.control, toChild, unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	_, err = unix.Write(h.control, block.text)
	return []placement{{h.lent[0], reaperStatusFD}, {h.lent[1], reaperControlFD}}, err
}

// ready waits until the list has been run.
func (h *helper) ready() error {
	said := []unix.PollFd{{Fd: int32(h.status), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(said, int(probeTime.Milliseconds()))
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return err
		}
	}
	var r record
	n, _ := unix.Read(h.status, unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r)))
	switch {
	case n == 1:
		return nil
	case n == int(unsafe.Sizeof(r)) && int(r.a) < len(h.list):
		return &StepError{Step: h.list[r.a].Name, Errno: unix.Errno(r.b)}
	}
	return errors.New("the helper did not do its work in time")
}

// end ends the process and waits for that.
func (h *helper) end() {
	closeFDs(h.control, h.status)
	h.control, h.status = -1, -1
	kill(h.pidfd)
	reapFailed(h.pidfd)
	h.pidfd = -1
}
