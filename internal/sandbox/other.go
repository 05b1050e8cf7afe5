//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"syscall"
	"time"

	"github.com/durward/durward"
)

// A Host is what was found out about this machine.
type Host struct {
	// UID and GID are the runtime's own ids, HostUID the same as UID; all ones where the
	// system has none.
	UID, GID, HostUID uint32
	// Trials are the containments and how each one went. None is ever proven here.
	Trials           []Trial
	UserNamespace    bool
	UserNamespaceErr error
	// SharedErr is nil: no process shares our memory here, and none was to.
	SharedErr error
}

// A Trial is one containment and how its probe went.
type Trial struct {
	Containment Containment
	Err         error
}

// With gives the host as it is: there is nothing to choose.
func (h Host) With(Containment) Host { return h }

// HostUID knows no other user ids than ours here.
func HostUID(uid uint32) uint32 { return uid }

// Level refuses: no level was proven.
func (h Host) Level(durward.Level) error { return refuse() }

// Memory refuses.
func (h Host) Memory() (string, error) { return "", refuse() }

// Release has nothing to free.
func (h Host) Release() error { return nil }

// ProbeAll finds what Probe does.
func ProbeAll() Host { return Probe() }

// Probed gives what Probe finds.
func Probed() Host { return Probe() }

// PassedLevels refuses those above 0: none was proven.
func (p Plan) PassedLevels(context.Context, Request, Host) []PassedLevel {
	return []PassedLevel{{durward.LevelIsolate, refuse()}, {durward.LevelRestrict, refuse()}}
}

// Spares has none.
type Spares struct{}

// Close and Settle have nothing to do.
func (*Spares) Close()  {}
func (*Spares) Settle() {}

// An Exit is how the main process of a command ended.
type Exit struct {
	// Err says why the command was never started.
	Err    error
	Status syscall.WaitStatus
	// CPU is the processor time of the command and, on macOS, of the children it waited
	// for.
	CPU time.Duration
	// Alone is set when the command left no other process behind that could be found.
	Alone bool
	Lost  bool // never set
}

// Usage is what a tree of processes uses at one moment, as far as that is known.
type Usage struct {
	Resident int64
	CPU      time.Duration
}
