//go:build darwin || windows

package sandbox

import (
	"context"
	"os"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/unproven"
)

// On these systems commands are run by built-in defaults and in modes that confine
// nothing. What is there to hold them was built and never run: package unproven judges
// what may be said of it.

// Probe tries nothing: what the system is said to have was never proven.
func Probe() Host {
	h := ourselves()
	h.Trials, h.UserNamespaceErr = []Trial{{containment, unproven.Err}}, unproven.Err
	return h
}

func ourselves() Host {
	id := uint32(os.Geteuid())
	return Host{UID: id, GID: uint32(os.Getegid()), HostUID: id}
}

func refuse() error {
	return &durward.Error{Reason: durward.SandboxUnavailable, Op: "sandbox", Hint: unproven.Hint, Err: unproven.Err}
}

// A Plan is all that will be done to start one command.
type Plan struct {
	Containment Containment
	// UID and GID are whom the command runs as.
	UID, GID uint32
	// Report is that of the run. It names no guarantee as held.
	Report durward.Report
	// Scratch asks for the private directory of the request to be made.
	Scratch bool

	change bool // it is another user than the runtime
	argv   []string
	env    []string // never nil: that would mean our own
}

// String prints the command line, an argument to a line.
func (p Plan) String() string {
	text := ""
	for _, arg := range p.argv {
		text += arg + "\n"
	}
	return text
}

// Compile judges a request and gives the plan for it, or refuses what was never proven.
// It changes nothing. The error has reason SandboxUnavailable, or SandboxError where a
// path of the grant cannot be looked at.
func Compile(ctx context.Context, r Request, h Host) (Plan, error) {
	report, err := unproven.Judge(r.Grant, durward.ReportIdentity{}, applied(r.Grant))
	if err != nil {
		return Plan{}, err
	}
	id, err := identify(r.Grant, durward.LevelNone, h, r.Dir)
	if err != nil {
		return Plan{}, err
	}
	report.Identity = durward.ReportIdentity{Inner: id.uid, Host: id.uid}
	report.Weak = append(report.Weak, missing...)
	if id.uid == 0 {
		report.Weak = append(report.Weak, "identity: the command runs as root")
	}
	p := Plan{
		Containment: containment, UID: id.uid, GID: id.gid, change: id.change, Report: report,
		Scratch: len(r.PrivateEnv) > 0 || r.Grant.Mode.Confines() && slices.Contains(r.Grant.Files.Write, durward.PrivateTmp),
		env:     environment(r),
	}
	p.argv, err = commandLine(ctx, r, p.Scratch)
	return p, err
}

// environment adds the private directory to what the request has.
func environment(r Request) []string {
	env := append([]string{}, r.Env...)
	for _, name := range r.PrivateEnv {
		env = append(env, name+"="+r.Scratch)
	}
	slices.Sort(env)
	return env
}

// OpenTerminal refuses.
func OpenTerminal(durward.WindowSize, uint32) (master, slave *os.File, err error) {
	return nil, nil, noTerminal()
}

// ResizeTerminal refuses.
func ResizeTerminal(*os.File, durward.WindowSize) error { return noTerminal() }

func noTerminal() error {
	return &durward.Error{
		Reason: durward.NotSupported, Op: "terminal", Hint: "run the command without a terminal", Err: errNoTerminal,
	}
}
