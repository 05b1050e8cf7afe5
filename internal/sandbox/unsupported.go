//go:build !(linux && (amd64 || arm64)) && !darwin && !windows

package sandbox

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/durward/durward"
)

// On this system no way is known yet to end a whole tree of processes for certain, so
// no command is run: every function here refuses.

// Probe finds nothing that works.
func Probe() Host { return Host{UserNamespaceErr: errUnsupported} }

var errUnsupported = errors.New("running commands is not supported on this system")

func refuse() error {
	return &durward.Error{
		Reason: durward.SandboxUnavailable, Op: "sandbox",
		Hint: "run durward on Linux (amd64 or arm64)", Err: errUnsupported,
	}
}

// A Plan is all that will be done to start one command.
type Plan struct {
	Containment Containment
	UID, GID    uint32
	Report      durward.Report
	Scratch     bool
}

// String prints nothing: there is no plan.
func (p Plan) String() string { return "" }

// Compile refuses.
func Compile(context.Context, Request, Host) (Plan, error) { return Plan{}, refuse() }

// UserOf refuses.
func UserOf(durward.Grant, *os.File) (uint32, []uint32, error) { return 0, nil, refuse() }

// Start refuses.
func Start(context.Context, Plan, Request, Stdio, Host) (*Process, error) { return nil, refuse() }

// OpenTerminal refuses.
func OpenTerminal(durward.WindowSize, uint32) (master, slave *os.File, err error) {
	return nil, nil, refuse()
}

// ResizeTerminal refuses.
func ResizeTerminal(*os.File, durward.WindowSize) error { return refuse() }

// A Process never exists here.
type Process struct{}

// The methods of a Process are never called.
func (*Process) Exited() <-chan struct{}     { return nil }
func (*Process) Exit() Exit                  { return Exit{} }
func (*Process) Gone() <-chan struct{}       { return nil }
func (*Process) Breach() error               { return nil }
func (*Process) Ways() []Way                 { return nil }
func (*Process) Copies() []Copy              { return nil }
func (*Process) PID() int                    { return 0 }
func (*Process) Setup() time.Duration        { return 0 }
func (*Process) Report() durward.Report      { return durward.Report{} }
func (*Process) Signal(syscall.Signal) error { return refuse() }
func (*Process) Kill()                       {}
func (*Process) Close() error                { return nil }
func (*Process) Usage() Usage                { return Usage{} }
func (*Process) Shortage() Shortage          { return NoShortage }
