// Package sandbox starts one command under a grant, in a tree that ends when we say so.
//
// [Compile] judges a request and gives a [Plan]: pure data, a list of raw system calls
// that can be printed. [Start] has a new process run that list and then the command.
// Between the two nothing is decided. What can be held on this host is found out by
// doing it once, in [Probe]; what a plan holds is told by its report.
package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
)

// A Containment is a way to hold a call's processes together so that all of them can
// be ended, whatever they do to get away.
type Containment string

// The containments, the best first.
const (
	// PIDNamespace gives the call process ids of its own; when its first process
	// ends, the kernel ends all the others.
	PIDNamespace Containment = "pidns"
	// Cgroup puts the call in a cgroup of its own, which the kernel kills as one.
	Cgroup Containment = "cgroup"
	// Subreaper adopts what the command leaves behind and kills it process by
	// process: best effort.
	Subreaper Containment = "subreaper"
	// ProcessGroup finds what descends from the command in a listing of all processes
	// and kills it process by process (macOS).
	ProcessGroup Containment = "process-group"
	// JobObject has the kernel hold the call's processes together (Windows).
	JobObject Containment = "job-object"
)

// A Request is what is to be run.
type Request struct {
	// Argv is the command as it sees itself; Argv[0] need not name the program.
	Argv []string
	// Env is the environment, "NAME=value", but for the variables in PrivateEnv. Those
	// name a private directory: the call's own /tmp where it has one, else Scratch, which
	// whoever starts the plan makes if [Plan.Scratch] says so.
	Env, PrivateEnv []string
	Scratch         string
	Program         *Program
	// Dir is the working directory, entered by descriptor.
	Dir   *os.File
	Grant durward.Grant
	// Terminal makes the command's standard input its controlling terminal.
	Terminal bool
	// Follow has Start wait until the program has been executed, and tells the end of
	// the command at once, while what survives TERM goes on until Kill. Without it
	// what outlives the command has Linger after TERM to end, the whole tree is then
	// killed, and a start that fails late shows as [Exit.Err]: two wake-ups cheaper.
	// Either way TERM goes to the command's process group, and to nobody once Kill was
	// called. With Outlive it goes to nobody: who outlives the command goes on.
	Follow, Outlive bool
	Linger          time.Duration
	// HostPIDs asks for a containment in which the command knows processes by the numbers
	// that everybody knows them by: a cgroup, where that works.
	HostPIDs bool
	// Spares, unless nil, may have the first process of the call ready.
	Spares *Spares
}

// A Way is a listener inside the command's network namespace.
type Way struct {
	net.Listener
	// Target is whom a client means who connects to it. The zero value is nobody yet: a
	// proxy is expected, which is told.
	Target netguard.Target
}

// A Copy is a directory that a command saw in place of the machine's.
type Copy struct {
	// Path is that of the machine's, and Lower the directory itself.
	Path  string
	Lower *os.File
	// Upper holds what was written. It goes when it is closed.
	Upper *os.File
	// UserAttributes says that overlayfs left its notes in user.overlay.*.
	UserAttributes bool
	// UID and GID are whom the command ran as.
	UID, GID uint32

	owned func() (bool, error) // nil where it is not
}

// Owned reports whether the command saw root's files as its own, and so would have made for
// root what it made as its own.
func (c Copy) Owned() (bool, error) {
	if c.owned == nil {
		return false, nil
	}
	return c.owned()
}

// Close lets go of both; what was written is gone then.
func (c Copy) Close() error { return errors.Join(c.Lower.Close(), c.Upper.Close()) }

// A Shortage says whose memory ran out, as far as a call is concerned.
type Shortage string

const (
	NoShortage Shortage = ""
	// OwnShortage is a tree that needed more than its own limit.
	OwnShortage Shortage = "own"
	// OuterShortage is a machine, or a cgroup around the runtime, that had no more to
	// give: the kernel chose a process of the call to be killed for that.
	OuterShortage Shortage = "outer"
)

// HintOuterShortage is what a user can do about an [OuterShortage].
const HintOuterShortage = "give the machine or the container more memory, or make the command do less; its own limit was not reached"

// Stdio are the command's ends of its standard streams.
type Stdio struct {
	Stdin, Stdout, Stderr *os.File
}

// A PassedLevel is a level that a plan could not have, and why.
type PassedLevel struct {
	Level durward.Level
	Why   error
}

// Holds says why no command of a grant can be run in a directory, as [Compile] would;
// nil when one can. scratch is what a private directory would be named. Nothing is run.
func Holds(ctx context.Context, g durward.Grant, dir *os.File, scratch string, h Host) error {
	_, err := Compile(ctx, Request{Program: &Program{}, Dir: dir, Scratch: scratch, Grant: g}, h)
	return err
}
