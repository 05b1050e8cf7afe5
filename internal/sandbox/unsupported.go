//go:build !linux || !(amd64 || arm64)

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

// A Host is what was found out about this machine.
type Host struct {
	UID, GID, HostUID uint32
	Trials            []Trial
	UserNamespace     bool
	UserNamespaceErr  error
}

// A Trial is one containment and how its probe went.
type Trial struct {
	Containment Containment
	Err         error
}

// With gives the host as it would be if only that containment worked.
func (h Host) With(Containment) Host { return h }

// Level refuses.
func (h Host) Level(durward.Level) error { return refuse() }

// Memory refuses.
func (h Host) Memory() (string, error) { return "", refuse() }

// Release has nothing to free.
func (h Host) Release() error { return nil }

// Probe and ProbeAll find nothing that works.
func Probe() Host    { return Host{UserNamespaceErr: errUnsupported} }
func ProbeAll() Host { return Probe() }

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

// Spares has none.
type Spares struct{}

// Close and Settle have nothing to do.
func (*Spares) Close()  {}
func (*Spares) Settle() {}

// A Process never exists here.
type Process struct{}

// An Exit is how the main process of a command ended.
type Exit struct {
	Err    error
	Status syscall.WaitStatus
	CPU    time.Duration
	Alone  bool
	Lost   bool
}

// Usage is what a tree of processes uses at one moment.
type Usage struct {
	Resident int64
	CPU      time.Duration
}

// The methods of a Process are never called.
func (*Process) Exited() <-chan struct{}     { return nil }
func (*Process) Exit() Exit                  { return Exit{} }
func (*Process) Gone() <-chan struct{}       { return nil }
func (*Process) Breach() error               { return nil }
func (*Process) Setup() time.Duration        { return 0 }
func (*Process) Report() durward.Report      { return durward.Report{} }
func (*Process) Signal(syscall.Signal) error { return refuse() }
func (*Process) Kill()                       {}
func (*Process) Close() error                { return nil }
func (*Process) Usage() Usage                { return Usage{} }
func (*Process) Shortage() Shortage          { return NoShortage }
