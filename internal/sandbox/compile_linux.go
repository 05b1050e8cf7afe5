//go:build linux && (amd64 || arm64)

package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// Compile judges a request and gives the plan for it, at the highest level that the grant
// names, that this host has, and that holds what the grant requires. It changes nothing,
// but for what is tried once to know what the kernel holds. An error has reason
// SandboxUnavailable and names what cannot be held, or SandboxError where a path is not
// what it was when the policy was read.
//
// The context ends the search for what a pattern denies.
func Compile(ctx context.Context, r Request, h Host) (Plan, error) {
	levels, err := candidates(r.Grant, h)
	if err != nil {
		return Plan{}, err
	}
	var refused error
	for _, at := range levels {
		p, err := compileAt(ctx, at, r, h)
		if err == nil {
			return p, nil
		}
		if refused == nil || durward.ReasonOf(refused) == durward.ReasonOf(err) {
			refused = err // that of the lowest says what would have to be given up
		}
	}
	return Plan{}, refused
}

// candidates lists the levels to try, the best first.
func candidates(g durward.Grant, h Host) ([]durward.Level, error) {
	least, most := max(g.MinLevel, durward.LevelRestrict), durward.LevelIsolate
	switch wide := g.Mode != durward.ReadOnly && g.Mode != durward.WorkspaceWrite; {
	case g.Level != durward.LevelAuto:
		least, most = max(g.MinLevel, g.Level), g.Level
	case wide:
		least, most = max(g.MinLevel, durward.LevelNone), max(g.MinLevel, durward.LevelNone)
	case g.StepDown && g.MinLevel == durward.LevelAuto:
		least = durward.LevelNone
	}
	var list []durward.Level
	var why error
	if least > most {
		why = cmp.Or(h.offers(least), fmt.Errorf("level %d is the most that was asked for", most.Number()))
	}
	for at := most; at >= least; at-- {
		if err := h.offers(at); err != nil {
			if why == nil {
				why = err
			}
			continue
		}
		list = append(list, at)
		if g.StepDown {
			break // what it does not hold, no lower one does
		}
	}
	if len(list) == 0 {
		return nil, unavailable("level", "run durward doctor for what to change, or take the level out of the policy or the command line",
			"level %d cannot be had: %w", max(least, durward.LevelNone).Number(), why)
	}
	return list, nil
}

// compileAt gives the plan at a level that the host has.
func compileAt(ctx context.Context, at durward.Level, r Request, h Host) (Plan, error) {
	if r.Grant.Files.CopyOnWrite && at < durward.LevelIsolate {
		return Plan{}, unavailable("filesystem.copyOnWrite", "take it out of the policy, or use level 2", "what is written can land elsewhere at level 2 only")
	}
	if n := r.Grant.Network.Mode; (n == durward.NetLoopback || n == durward.NetAllowlist) && at < durward.LevelIsolate && r.Grant.Mode != durward.External {
		return Plan{}, unavailable("network.mode", "use level 2, or network mode none or full", "network %s cannot be held at level %d", n, at.Number())
	}
	s, err := shapeOf(at, r, h)
	if err != nil {
		return Plan{}, err
	}
	var v view
	var rules *landlock.Rules
	if s.confines() {
		if v, rules, err = s.restrain(ctx, &r, h); err != nil {
			return Plan{}, err
		}
	}
	p, err := h.plans.of(s, v)
	p.rules, p.watched = rules, v.watched()
	if n := len(v.loose); n > 0 && err == nil {
		p.Report.Weak = append(slices.Clip(p.Report.Weak), fmt.Sprintf("protect: %d of the paths do not exist, or are symlinks; durward watches them", n))
	}
	p.argv, p.env = r.Argv, p.environment(r, v)
	if p.direct {
		p.Command = append(slices.Clip(p.Command), execute(s.script, vector(p.argv), environ(p.env)))
	}
	return p, err
}

// environment adds the private directory to what the request has: in a room its /tmp, or
// /dev/shm where the machine's /tmp was given.
func (p *Plan) environment(r Request, v view) []string {
	dir := r.Scratch
	if p.apart {
		dir = v.temporary()
	} else {
		p.Scratch = len(r.PrivateEnv) > 0 || p.rules != nil && slices.Contains(r.Grant.Files.Write, durward.PrivateTmp)
	}
	env := append(slices.Clone(r.Env), proxyEnv(v.ways)...)
	for _, name := range r.PrivateEnv {
		env = append(env, name+"="+dir)
	}
	slices.Sort(env)
	return env
}

// restrain settles what level 1 or 2 holds the command to. It gives what is seen at level
// 2, and the rules of level 1.
func (s *shape) restrain(ctx context.Context, r *Request, h Host) (v view, rules *landlock.Rules, err error) {
	g := r.Grant
	if g.Mode != durward.ReadOnly && g.Mode != durward.WorkspaceWrite {
		return v, nil, unavailable("level", "use level 0 for it, or a mode that confines", "mode %s confines nothing that level %d could hold", g.Mode, s.at.Number())
	}
	if s.stepDown && !s.isolates() {
		g.Files.Protect = nil // rules can only give; the report says so
	}
	s.network = g.Network.Mode
	if s.network == "" {
		s.network = durward.NetNone
	}
	s.unix = s.abi >= landlock.FiltersSockets
	if len(g.Network.UnixSockets) > 0 && !s.unix {
		return v, nil, unavailable("network.unixSockets", "take it out of the policy, or use a kernel whose Landlock is version 9 or later",
			"no socket can be given to a command without giving it all others, too")
	}
	s.tmpExec = slices.Contains(g.Files.Exec, durward.PrivateTmp)
	s.keep = s.id.uid == s.own.uid && h.HostUID == 0
	if err := runnable(r.Program, g.Files); err != nil && r.Program.info != nil {
		return v, nil, err
	}
	if s.isolates() {
		v, err = s.look(ctx, g, r, h)
		return v, nil, err
	}
	rules, err = s.ruled(g, r.Scratch)
	return v, rules, err
}

// ruled gives the rules of level 1 and notes what they cannot hold.
func (s *shape) ruled(g durward.Grant, tmp string) (*landlock.Rules, error) {
	rules, taken, err := landlock.For(g, tmp)
	if err != nil {
		return nil, err
	}
	s.gaps = gapsOf(slices.Concat(taken, rules.Gaps(s.abi)))
	for _, gap := range taken {
		if !s.stepDown && (strings.HasPrefix(gap.What, "deny ") || strings.HasPrefix(gap.What, "protect ")) {
			return nil, unavailable("filesystem", "use level 2, or give a directory that it does not lie in", "%s cannot be held at level 1: rules can only give", gap.What)
		}
	}
	return &rules, nil
}

// look gives what is seen at level 2.
func (s *shape) look(ctx context.Context, g durward.Grant, r *Request, h Host) (view, error) {
	found, err := expand(ctx, g)
	if err != nil {
		return view{}, err
	}
	if s.dir, err = fsroot.PhysicalPath(r.Dir); err != nil {
		return view{}, err
	}
	if g.Files.HostReadOnly && fsroot.Contains(privateTmp, s.dir) { // it would be seen but for that
		g.Files.Read = append(slices.Clip(g.Files.Read), s.dir)
	}
	others, err := h.mounts.Points("proc")
	if err != nil {
		return view{}, &durward.Error{Reason: durward.SandboxError, Op: "sandbox", Hint: "mount /proc", Err: err}
	}
	v, err := viewOf(g, slices.Concat(g.Files.Deny, found), others, s.id, s.dir)
	if err != nil {
		return v, err
	}
	for _, p := range v.layered() {
		mounted, err := h.mounts.Beneath(p.path)
		if err != nil {
			return v, &durward.Error{Reason: durward.SandboxError, Op: "sandbox", Hint: "mount /proc", Err: err}
		}
		if len(mounted) > 0 {
			return v, unavailable("filesystem.copyOnWrite", "take it down, or name directories beside it in filesystem.write",
				"%s is mounted in %s: a copy would show what lies under it", mounted[0], p.path)
		}
	}
	s.view = v.String()
	s.copies = len(v.layered()) > 0
	s.runsAll = s.tmpExec && v.runsAll(g.Files.Exec)
	s.program = r.Program.Path
	if s.script != "" && !v.shows(s.script) {
		s.script = r.Program.Path
	}
	if !v.shows(s.dir) && !(g.BeginAtRoot && s.dir == "/") {
		err = &durward.Error{
			Reason: durward.DirDenied, Op: "sandbox", Rule: "filesystem.read", Hint: "name it, or a directory around it, in filesystem.read or filesystem.write",
			Err: fmt.Errorf("a command at level 2 does not see its working directory %s", s.dir),
		}
	}
	return v, err
}
