// Package execpolicy decides the calls of the exec server: each gets what the operator's
// ceiling and the confinement that the call asks for both allow.
//
//	durward exec-server                                   no ceiling
//	durward exec-server --root /work                      files of /work and of the system
//	durward exec-server --sandbox read-only --root /work  and nothing written, no network
//
// A call that asks for no confinement gets the ceiling, and without one it is confined by
// nothing: that is what the protocol means by it. What a confinement asks for beyond the
// ceiling is not given; to ask for it is no mistake, as clients do not know the ceiling.
//
// Deciding is pure but for the lookups of a [policy.Host]: a confinement that comes again
// is compiled once, and compiled anew when one of its paths leads elsewhere by then.
package execpolicy

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

// Options configure a Policy. The zero value of all but Host and Dir is no ceiling.
type Options struct {
	// Host is what has to be known of this machine. Its Workspace is not looked at.
	Host policy.Host
	// Dir is the server's working directory, absolute. It is what a ceiling of mode
	// workspace-write lets be written that has no root.
	Dir string
	// Sandbox is the widest mode that a call may have: empty, danger-full-access,
	// workspace-write or read-only. The last two leave a process no network.
	Sandbox durward.Mode
	// Root is an absolute directory. Where it is set, calls see nothing but it and the
	// files of the system, and write nothing outside of it.
	Root string
	// Limits are those of each process. A zero member is no limit; only Wall, CPU, Memory
	// and Pids are looked at.
	Limits durward.Limits
}

// A Policy decides by the operator's flags. It is safe for concurrent use.
type Policy struct {
	host    policy.Host
	ceiling *ceiling // nil where there is none
	hash    string
	limits  durward.Limits // of a process
	require []durward.Requirement
	known   cache
}

// New makes a Policy. The error has reason PolicyInvalid and names the flag at fault.
func New(o Options) (*Policy, error) {
	p := &Policy{host: o.Host, limits: processLimits(o.Limits)}
	p.host.Workspace = ""
	// What an operator wrote is held or refused.
	for _, limit := range []struct {
		set   bool
		holds durward.Guarantee
	}{{o.Limits.Memory > 0, durward.Mem}, {o.Limits.Pids > 0, durward.Pids}} {
		if limit.set {
			p.require = append(p.require, durward.Requirement{Guarantee: limit.holds})
		}
	}
	var err error
	if p.ceiling, err = ceilingOf(o); err != nil {
		return nil, err
	}
	p.hash, err = p.digest()
	return p, err
}

// PolicyHash gives "sha256:" and the digest of the operator's ceiling.
func (p *Policy) PolicyHash() string { return p.hash }

// Locate gives the flag that asks for what an engine cannot hold, and the rule as it is
// where it was the call that asked.
func (p *Policy) Locate(rule string) (string, durward.Position) {
	if p.ceiling == nil {
		return rule, durward.Position{}
	}
	return p.ceiling.flag, durward.Position{File: p.ceiling.flag}
}

// A ceiling is what confines every call.
type ceiling struct {
	c    durward.Confinement
	flag string // that it is there for
	root string // physical, or empty
}

func ceilingOf(o Options) (*ceiling, error) {
	const modes, roots = "--sandbox", "--root"
	mode := o.Sandbox
	switch {
	case !slices.Contains([]durward.Mode{"", durward.ReadOnly, durward.WorkspaceWrite, durward.DangerFullAccess}, mode):
		return nil, invalid(modes, "use read-only, workspace-write or danger-full-access", "there is no mode %q", mode)
	case o.Root == "" && (mode == "" || mode == durward.DangerFullAccess):
		return nil, nil
	case mode == durward.DangerFullAccess:
		return nil, invalid(roots, "leave one of them out", "mode danger-full-access confines no files")
	}
	c := &ceiling{c: durward.Confinement{Mode: mode, Network: durward.NetNone}, flag: modes}
	if mode == "" {
		c.c.Mode, c.c.Network, c.flag = durward.WorkspaceWrite, durward.NetFull, roots
	}
	if o.Root == "" && mode == durward.ReadOnly {
		c.wholeMachine()
		return c, nil
	}
	dir, flag := o.Root, roots
	if dir == "" {
		dir, flag = o.Dir, modes
	}
	if err := c.begin(dir, flag, o.Host); err != nil {
		return nil, err
	}
	if o.Root != "" {
		c.beneath()
		return c, nil
	}
	c.wholeMachine()
	c.add(durward.Entry{Path: c.root, Access: durward.AccessWrite})
	c.add(durward.Entry{Path: "/tmp", Access: durward.AccessWrite, IfThere: true})
	return c, nil
}

// begin looks the root up.
func (c *ceiling) begin(dir, flag string, host policy.Host) error {
	if !filepath.IsAbs(dir) {
		return invalid(flag, "name a --root", "%q is no absolute path", dir)
	}
	physical, err := host.Resolve(dir)
	switch {
	case err != nil:
		return invalid(flag, "name a --root that exists", "%w", err)
	case physical == "/":
		return invalid(flag, "name a --root below it", "/ is no directory to keep anybody in")
	}
	c.root = physical
	return nil
}

// wholeMachine lets all of the machine be read.
func (c *ceiling) wholeMachine() { c.add(durward.Entry{Path: "/", Access: durward.AccessRead}) }

// beneath lets the files of the system and of the root be read, and in a mode that writes
// the root be written.
func (c *ceiling) beneath() {
	access := durward.AccessWrite
	if c.c.Mode == durward.ReadOnly {
		access = durward.AccessRead
	}
	c.add(durward.Entry{Platform: true, Access: durward.AccessRead})
	c.add(durward.Entry{Path: c.root, Access: access})
}

func (c *ceiling) add(e durward.Entry) {
	e.Member = c.flag
	c.c.Entries = append(c.c.Entries, e)
}

// compile looks the ceiling up. Its root is what it was when the server started, or not there
// at all: nobody leads it elsewhere.
func (c *ceiling) compile(host policy.Host) (*policy.Policy, error) {
	resolve := host.Resolve
	host.Resolve = func(path string) (string, error) {
		physical, err := resolve(path)
		if err == nil && path == c.root && physical != path {
			return "", fmt.Errorf("%s is not what it was: %w", path, fs.ErrNotExist)
		}
		return physical, err
	}
	return policy.Confined(c.c, host, policy.OfOperator)
}

// digest hashes the ceiling with its limits.
func (p *Policy) digest() (string, error) {
	if p.ceiling != nil {
		held, err := p.ceiling.compile(p.host)
		if err != nil {
			return "", err
		}
		return held.Limit(p.limits).Hash(), nil
	}
	open, err := policy.Confined(durward.Confinement{Mode: durward.DangerFullAccess}, p.host, policy.OfOperator)
	if err != nil {
		return "", err
	}
	return open.Limit(p.limits).Hash(), nil
}

// processLimits are those of a process: none but what the operator set and what bounds our
// own memory.
func processLimits(set durward.Limits) durward.Limits {
	l := durward.Limits{
		Wall: cmp.Or(set.Wall, durward.Unlimited), CPU: cmp.Or(set.CPU, durward.Unlimited),
		Memory: cmp.Or(set.Memory, durward.Unlimited), Pids: cmp.Or(set.Pids, durward.Unlimited),
		OpenFiles: durward.Unlimited, FileSize: durward.Unlimited, Stdin: durward.Unlimited, OutputHard: durward.Unlimited,
	}
	return l.WithDefaults()
}

func invalid(flag, hint, format string, args ...any) error {
	return &durward.Error{
		Reason: durward.PolicyInvalid, Op: "policy", Rule: flag, Where: durward.Position{File: flag}, Hint: hint,
		Err: fmt.Errorf(format, args...),
	}
}
