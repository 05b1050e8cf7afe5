package execpolicy

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/policy"
)

// request is the tool that reaches hosts. Whoever carries it out knows which.
const request durward.ToolID = "http/request"

// Decide tells whether a call may run. The grant of a call that starts a process has the
// call's own variables and no others; that of any other call is about files alone, and that
// of a request to a host confines nothing.
func (p *Policy) Decide(c durward.Call, t durward.Tool) durward.Decision {
	d, err := p.decide(c)
	if err != nil {
		d = denial(err)
	}
	d.PolicyHash = p.hash
	return d
}

func (p *Policy) decide(c durward.Call) (durward.Decision, error) {
	if err := narrowsByConfinement(c.Ask); err != nil {
		return durward.Decision{}, err
	}
	d, err := p.confine(c)
	if err != nil {
		return d, err
	}
	if c.Argv == nil {
		d.Grant.Limits = durward.Limits{Wall: durward.Unlimited, Output: durward.Unlimited, OutputHard: durward.Unlimited, FileSize: durward.Unlimited}
		d.Grant.Keep = durward.KeepStream
	} else if err := p.process(c, &d.Grant); err != nil {
		return durward.Decision{}, err
	}
	d.Grant.Limits = policy.NarrowLimits(d.Grant.Limits, c.Ask.Limits)
	return d, nil
}

// narrowsByConfinement refuses a call that asks for less in another way: it would be passed
// over.
func narrowsByConfinement(a durward.Ask) error {
	if a.Mode == "" && a.Network == "" && a.MinLevel == durward.LevelAuto {
		return nil
	}
	return &durward.Error{
		Reason: durward.BadCall, Rule: "call.ask", Hint: "ask by a confinement",
		Err: fmt.Errorf("a mode, a network or a level is asked for beside a confinement"),
	}
}

// confine decides over files and network.
func (p *Policy) confine(c durward.Call) (durward.Decision, error) {
	asked := c.Ask.Confinement
	if asked != nil && !asked.Mode.Confines() {
		if asked.Mode == durward.DangerFullAccess && asked.Network == durward.NetNone && c.Argv != nil {
			return p.withoutNetwork()
		}
		asked = nil // it asks for all there is
	}
	if asked == nil && p.ceiling == nil || c.Tool == request {
		return open(), nil
	}
	h, err := p.known.of(p, asked)
	if err != nil {
		return durward.Decision{}, err
	}
	d := durward.Decision{Allow: true, Rule: h.rule, Where: h.where, Reason: h.reason, Grant: h.grant()}
	if c.Argv == nil {
		return d, nil
	}
	return d, p.begins(c, h)
}

// open gives everything: as the user of the server, and without any confinement.
func open() durward.Decision {
	return durward.Decision{
		Allow: true, Rule: "default", Reason: "no confinement is asked for",
		Grant: durward.Grant{
			Mode: durward.DangerFullAccess, Level: durward.LevelNone,
			Network: durward.Network{Mode: durward.NetFull}, Identity: durward.Identity{Keep: true},
		},
	}
}

// withoutNetwork is for a process that is to have all files and no network. What holds one
// of the two without the other there is not.
func (p *Policy) withoutNetwork() (durward.Decision, error) {
	return durward.Decision{}, &durward.Error{
		Reason: durward.SandboxUnavailable, Rule: "sandbox.permissions.network",
		Hint: "name what is to be written, or enable the network",
		Err:  fmt.Errorf("a process that may write all files cannot be kept from the network"),
	}
}

// begins refuses a process whose working directory it would not see, whether or not it is
// there. One that is merely missing is for whoever opens it.
func (p *Policy) begins(c durward.Call, h *held) error {
	dir := p.end(c.Dir)
	if policy.Shows(h.files, dir) {
		return nil
	}
	rule, hint := "sandbox", "give the process the directory to read"
	if h.above != nil && !policy.Shows(*h.above, dir) {
		rule, hint = p.ceiling.flag, "work where the server lets be read"
	}
	return &durward.Error{
		Reason: durward.DirDenied, Rule: rule, Hint: hint,
		Err: fmt.Errorf("the working directory %s is not among the readable paths", c.Dir),
	}
}

// end gives where a path leads, or where the way ends. It is empty where that is not known.
func (p *Policy) end(path string) string {
	physical, err := p.host.Resolve(path)
	var at *fs.PathError
	switch {
	case err == nil:
		return physical
	case errors.Is(err, policy.ErrNotDirectory) && path != filepath.Dir(path):
		return p.end(filepath.Dir(path))
	case errors.Is(err, fs.ErrNotExist) && errors.As(err, &at):
		return at.Path
	}
	return ""
}

// process gives the grant of a process what is its own.
func (p *Policy) process(c durward.Call, g *durward.Grant) error {
	if err := checkEnv(c.Env, g.Mode.Confines()); err != nil {
		return err
	}
	g.Env, g.Limits, g.Keep = c.Env, p.limits, durward.KeepStream
	if c.Ask.Lossless {
		g.Keep = durward.KeepAcked
	}
	if g.Env == nil {
		g.Env = map[string]string{}
	}
	if g.Limits.Pids < 0 { // nothing to be held
		g.Require = slices.DeleteFunc(g.Require, func(r durward.Requirement) bool { return r.Guarantee == durward.Pids })
	}
	for _, r := range p.require {
		if !slices.Contains(g.Require, r) {
			g.Require = append(g.Require, r)
		}
	}
	return nil
}

// checkEnv refuses what no process could be given, and where it is confined what would have
// its loader load other code.
func checkEnv(env map[string]string, confined bool) error {
	bad := func(reason durward.Reason, name, why string) error {
		return &durward.Error{Reason: reason, Rule: "call.env", Hint: "leave it out", Err: fmt.Errorf("the variable %.64q %s", name, why)}
	}
	for name, value := range env {
		wrong := name == "" || strings.ContainsAny(name, "=\x00") || strings.IndexByte(value, 0) >= 0
		if !wrong && !(confined && strings.HasPrefix(name, "LD_")) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(env)) { // so that the answer is always the same
			switch {
			case name == "" || strings.ContainsAny(name, "=\x00"):
				return bad(durward.BadEnvName, name, "has no name that could be one")
			case strings.IndexByte(env[name], 0) >= 0:
				return bad(durward.BadEnvName, name, "holds a NUL byte")
			case confined && strings.HasPrefix(name, "LD_"):
				return bad(durward.EnvDenied, name, "is refused in a sandbox: it can make a program load something else")
			}
		}
	}
	return nil
}

// denial gives an error the form of a decision.
func denial(err error) durward.Decision {
	d := durward.Decision{Rule: "sandbox", Code: durward.ReasonOf(err), Reason: err.Error()}
	if e := durward.AsError(err); e != nil {
		d.Remedy, d.Where = e.Hint, e.Where
		if e.Rule != "" {
			d.Rule = e.Rule
		}
		if e.Err != nil {
			d.Reason = e.Err.Error()
		}
	}
	return d
}
