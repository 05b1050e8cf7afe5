//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/denyglob"
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
	if r.Grant.Files.CopyOnWrite {
		return Plan{}, unavailable("filesystem.copyOnWrite", "take it out of the policy", "a copy of what is written cannot be had")
	}
	s, err := shapeOf(at, r, h)
	if err != nil {
		return Plan{}, err
	}
	var v view
	var rules *landlock.Rules
	if s.confines() {
		if v, rules, err = s.restrain(ctx, &r); err != nil {
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
		p.Command = append(slices.Clip(p.Command), execute(s.script, vector(p.argv), vector(p.env)))
	}
	return p, err
}

// environment adds the private directory to what the request has: in a room its /tmp, or
// /dev/shm where the machine's /tmp was given.
func (p *Plan) environment(r Request, v view) []string {
	dir := r.Scratch
	switch {
	case p.apart && v.tmp:
		dir = privateTmp
	case p.apart:
		dir = privateShm
	default:
		p.Scratch = len(r.PrivateEnv) > 0 || p.rules != nil && slices.Contains(r.Grant.Files.Write, durward.PrivateTmp)
	}
	env := slices.Clone(r.Env)
	for _, name := range r.PrivateEnv {
		env = append(env, name+"="+dir)
	}
	slices.Sort(env)
	return env
}

// restrain settles what level 1 or 2 holds the command to. It gives what is seen at level
// 2, and the rules of level 1.
func (s *shape) restrain(ctx context.Context, r *Request) (v view, rules *landlock.Rules, err error) {
	g := r.Grant
	if g.Mode != durward.ReadOnly && g.Mode != durward.WorkspaceWrite {
		return v, nil, unavailable("level", "use level 0 for it, or a mode that confines", "mode %s confines nothing that level %d could hold", g.Mode, s.at.Number())
	}
	if s.stepDown && !s.isolates() {
		g.Files.Protect = nil // rules can only give; the report says so
	}
	s.abi, _ = landlock.Probe()
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
	s.keep = s.id.uid == s.own.uid && hostUID(s.own.uid) == 0
	if err := runnable(r.Program, g.Files); err != nil && r.Program.info != nil {
		return v, nil, err
	}
	if s.isolates() {
		v, err = s.look(ctx, g, r)
		return v, nil, err
	}
	rules, err = s.ruled(g, r.Scratch)
	return v, rules, err
}

// runnable refuses a program that lies where none may be executed.
func runnable(p *Program, f durward.Files) error {
	if anyWithin(f.Exec, p.Path) && !anyWithin(f.Deny, p.Path) {
		return nil
	}
	return &durward.Error{
		Reason: durward.ProgramNotExecutable, Op: "sandbox", Rule: "filesystem.exec",
		Hint: "add it, or its directory, to filesystem.exec and filesystem.read",
		Err:  fmt.Errorf("%s lies outside of what the policy lets be executed", p.Path),
	}
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
func (s *shape) look(ctx context.Context, g durward.Grant, r *Request) (view, error) {
	found, err := expand(ctx, g)
	if err != nil {
		return view{}, err
	}
	if s.dir, err = physicalPath(r.Dir); err != nil {
		return view{}, err
	}
	if g.Files.HostReadOnly && within(privateTmp, s.dir) { // it would be seen but for that
		g.Files.Read = append(slices.Clip(g.Files.Read), s.dir)
	}
	v, err := viewOf(g, slices.Concat(g.Files.Deny, found), s.id, s.dir)
	if err != nil {
		return v, err
	}
	s.view = v.String()
	s.runsAll = s.tmpExec && v.runsAll(g.Files.Exec)
	s.program = r.Program.Path
	if !v.shows(s.dir) {
		err = &durward.Error{
			Reason: durward.DirDenied, Op: "sandbox", Rule: "filesystem.read", Hint: "name it, or a directory around it, in filesystem.read or filesystem.write",
			Err: fmt.Errorf("a command at level 2 does not see its working directory %s", s.dir),
		}
	}
	return v, err
}

// expand gives the paths that the patterns of a grant deny now, and what they lead to
// where they are symlinks: whoever opens one opens that.
func expand(ctx context.Context, g durward.Grant) ([]string, error) {
	if len(g.Files.DenyGlobs) == 0 {
		return nil, nil
	}
	within, err := visible(g)
	if err != nil {
		return nil, err
	}
	found, err := denyglob.Expand(ctx, g.Files.DenyGlobs, within)
	if err != nil {
		return nil, err
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, target)
		}
	}
	return found, nil
}

// visible lists the directories of which a command sees anything of the machine's.
func visible(g durward.Grant) ([]string, error) {
	dirs := slices.Concat(g.Files.Read, g.Files.Write, g.Network.UnixSockets)
	dirs = slices.DeleteFunc(dirs, func(path string) bool { return path == durward.PrivateTmp })
	if !g.Files.HostReadOnly && !slices.Contains(dirs, "/") {
		return dirs, nil
	}
	dirs = slices.DeleteFunc(dirs, func(path string) bool { return path == "/" })
	entries, err := os.ReadDir("/")
	for _, e := range entries {
		if own := []string{"proc", "dev", "tmp"}; !slices.Contains(own, e.Name()) && e.Type()&os.ModeSymlink == 0 {
			dirs = append(dirs, "/"+e.Name())
		}
	}
	return dirs, err
}
