package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// Narrow gives the policy under which a call may do what both outer and inner allow:
// the operator's and a door's, or a door's and a tool's. In each member the stricter
// value wins. Where neither is stricter (two users, two values of one variable), outer
// wins. A variable reaches a command only if both give it.
func Narrow(outer, inner *Policy) *Policy {
	p := Policy{
		grant:     narrowGrant(outer.grant, inner.grant),
		passed:    maps.Clone(outer.passed),
		source:    outer.source,
		workspace: narrowWorkspace(outer.workspace, inner.workspace),
		root:      outer.root,
		foldEnv:   outer.foldEnv || inner.foldEnv,
		paths:     slices.Concat(outer.paths, inner.paths),
		allowed:   maps.Clone(outer.allowed),
	}
	if p.root[0] == "" {
		p.root = inner.root
	}
	if !p.grant.Mode.Confines() {
		p.confined.Deny = sorted(outer.confined.Deny, inner.confined.Deny)
		p.confined.DenyGlobs = sorted(outer.confined.DenyGlobs, inner.confined.DenyGlobs)
		p.confined.Protect = sorted(outer.confined.Protect, inner.confined.Protect)
	}
	if p.source == (durward.Position{}) {
		p.source = inner.source
	}
	maps.DeleteFunc(p.passed, func(name string, _ bool) bool { _, kept := p.grant.Env[name]; return !kept })
	maps.DeleteFunc(p.allowed, func(name string, _ bool) bool { return !inner.allowed[name] })
	p.places = narrowPlaces(&p, outer, inner)
	return p.sealed()
}

// narrowPlaces gives each member the place of the policy whose value it has, outer's
// where both have the same.
func narrowPlaces(p, outer, inner *Policy) map[string]durward.Position {
	places := maps.Clone(inner.places)
	if places == nil {
		places = map[string]durward.Position{}
	}
	for name, at := range outer.places {
		if _, both := places[name]; !both {
			places[name] = at
		}
	}
	for _, m := range members() {
		if m.text(p) == m.text(inner) && m.text(p) != m.text(outer) {
			continue
		}
		if at, ok := outer.places[m.name]; ok {
			places[m.name] = at
		} else if m.text(p) != m.text(inner) {
			delete(places, m.name) // a default of outer's was the stricter
		}
	}
	return places
}

// narrowWorkspace gives the inner one of two directories. Where neither lies in the
// other nothing lies in both.
func narrowWorkspace(a, b []string) []string {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	within := filter(sorted(a, b), func(p string) bool { return anyContains(a, p) && anyContains(b, p) })
	if len(within) == 0 {
		return []string{nowhere}
	}
	return within
}

// nowhere is a directory that contains no path.
const nowhere = "\x00"

// narrowGrant gives what two grants have in common.
func narrowGrant(a, b durward.Grant) durward.Grant {
	g := clone(a)
	g.Mode = narrower(modes, a.Mode, b.Mode)
	g.Level, g.MinLevel = max(a.Level, b.Level), max(a.MinLevel, b.MinLevel)
	g.StepDown = a.StepDown && b.StepDown
	g.Require = slices.Concat(a.Require, b.Require)
	g.Files = narrowFiles(a.Files, b.Files)
	g.Network = narrowNetwork(a, b)
	g.PrivateDir = sorted(a.PrivateDir, b.PrivateDir)
	g.Env = narrowEnv(a.Env, b.Env, g.PrivateDir)
	g.Identity = narrowIdentity(a.Identity, b.Identity)
	g.Limits = NarrowLimits(a.Limits, b.Limits)
	normalise(&g)
	return g
}

func narrowFiles(a, b durward.Files) durward.Files {
	f := durward.Files{
		Deny:         slices.Concat(a.Deny, b.Deny),
		DenyGlobs:    slices.Concat(a.DenyGlobs, b.DenyGlobs),
		Protect:      slices.Concat(a.Protect, b.Protect),
		HostReadOnly: a.HostReadOnly && b.HostReadOnly,
		CopyOnWrite:  a.CopyOnWrite || b.CopyOnWrite,
		Links:        slices.Concat(a.Links, b.Links),
	}
	// What is allowed changes only at the entries of the two, so it is enough to ask there.
	for _, path := range sorted(a.Read, a.Write, b.Read, b.Write) {
		switch min(accessAt(a, path), accessAt(b, path)) {
		case readAccess:
			f.Read = append(f.Read, path)
		case writeAccess:
			f.Write = append(f.Write, path)
		}
	}
	for _, path := range sorted(a.Exec, b.Exec) {
		if anyContains(a.Exec, path) && anyContains(b.Exec, path) {
			f.Exec = append(f.Exec, path)
		}
	}
	return f
}

func narrowNetwork(a, b durward.Grant) durward.Network {
	n := durward.Network{
		Mode:       narrower(networkModes, a.Network.Mode, b.Network.Mode),
		RequireSNI: a.Network.RequireSNI || b.Network.RequireSNI,
	}
	openA, openB := a.Network.Mode == durward.NetFull, b.Network.Mode == durward.NetFull
	n.Allow = common(a.Network.Allow, b.Network.Allow, openA, openB, covers)
	n.AllowPrivate = common(a.Network.AllowPrivate, b.Network.AllowPrivate, openA, openB, rangeCovers)
	same := func(x, y string) bool { return x == y }
	n.UnixSockets = common(a.Network.UnixSockets, b.Network.UnixSockets, !a.Mode.Confines(), !b.Mode.Confines(), same)
	return n
}

// common lists the entries that both lists cover. An open side covers everything.
func common(a, b []string, openA, openB bool, covers func(outer, inner string) bool) []string {
	in := func(list []string, open bool, entry string) bool {
		return open || slices.ContainsFunc(list, func(e string) bool { return covers(e, entry) })
	}
	return filter(sorted(a, b), func(entry string) bool { return in(a, openA, entry) && in(b, openB, entry) })
}

func narrowEnv(a, b map[string]string, private []string) map[string]string {
	env := map[string]string{}
	for name, value := range a {
		if _, both := b[name]; both && !slices.Contains(private, name) {
			env[name] = value
		}
	}
	return env
}

// narrowIdentity prefers the runtime's own choice to a user somebody named, and that to
// the runtime's user.
func narrowIdentity(a, b durward.Identity) durward.Identity {
	rank := func(id durward.Identity) int {
		switch {
		case id.Keep:
			return 2
		case id.Fixed:
			return 1
		}
		return 0
	}
	if rank(b) < rank(a) {
		return b
	}
	return a
}

// normalise gives a grant its one form: everything sorted, nothing said twice, nothing
// that has no effect. Two grants that allow the same are equal after it.
func normalise(g *durward.Grant) {
	if g.Level != durward.LevelAuto {
		g.Level = max(g.Level, g.MinLevel)
	}
	g.Require = normalRequire(g.Require, g.StepDown)
	normalFiles(&g.Files, g.Mode)
	normalNetwork(&g.Network)
	g.PrivateDir = sorted(g.PrivateDir)
}

// normalRequire merges the requirements of one guarantee, in the order of a report.
func normalRequire(list []durward.Requirement, stepDown bool) []durward.Requirement {
	var merged []durward.Requirement
	for _, guarantee := range durward.Guarantees() {
		one := durward.Requirement{Guarantee: guarantee}
		found := false
		for _, r := range list {
			if r.Guarantee == guarantee {
				found = true
				one.Kernel = one.Kernel || r.Kernel
				one.Firm = one.Firm || r.Firm && stepDown
			}
		}
		if found {
			merged = append(merged, one)
		}
	}
	return merged
}

func normalFiles(f *durward.Files, mode durward.Mode) {
	if mode == durward.ReadOnly {
		withoutWrite(f)
	}
	reduce(f)
	f.Exec = outermost(f.Exec)
	reach := slices.Concat(f.Read, f.Write)
	f.Deny = filter(outermost(f.Deny), func(p string) bool { return anyRelated(reach, p) })
	f.DenyGlobs = filter(sorted(f.DenyGlobs), func(p string) bool { return anyTouched(reach, p) })
	f.Protect = filter(outermost(f.Protect), func(p string) bool { return anyRelated(f.Write, p) })
	f.Links = normalLinks(f.Links, reach)
	f.CopyOnWrite = f.CopyOnWrite && slices.ContainsFunc(f.Write, func(p string) bool { return p != durward.PrivateTmp })
}

// normalLinks keeps one link of each name that lies outside of what may be reached and
// leads into it.
func normalLinks(links []durward.Link, reach []string) []durward.Link {
	useful := func(l durward.Link) bool { return anyContains(reach, l.To) && !anyContains(reach, l.Path) }
	list := filter(links, useful)
	slices.SortStableFunc(list, func(a, b durward.Link) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(list, func(a, b durward.Link) bool { return a.Path == b.Path })
}

// withoutWrite turns all that may be written into what may be read.
func withoutWrite(f *durward.Files) {
	private := slices.Contains(f.Write, durward.PrivateTmp)
	for _, path := range f.Write {
		private = private || isRoot(path)
		if path != durward.PrivateTmp {
			f.Read = append(f.Read, path)
		}
	}
	f.Write = nil
	if private {
		f.Write = []string{durward.PrivateTmp}
	}
}

// reduce drops each read or write entry that changes nothing.
func reduce(f *durward.Files) {
	all := *f
	f.Read, f.Write = nil, nil
	for _, path := range sorted(all.Read, all.Write) {
		given, above := accessAt(all, path), accessAbove(all, path)
		switch {
		case given == above && path != durward.PrivateTmp:
		case given == writeAccess:
			f.Write = append(f.Write, path)
		default:
			f.Read = append(f.Read, path)
		}
	}
}

// accessAbove tells what path would allow if it were no entry itself.
func accessAbove(f durward.Files, path string) access {
	other := func(p string) bool { return p != path }
	f.Read, f.Write = filter(f.Read, other), filter(f.Write, other)
	return accessAt(f, path)
}

func normalNetwork(n *durward.Network) {
	n.UnixSockets = sorted(n.UnixSockets)
	if n.Mode == durward.NetAllowlist && len(n.Allow) == 0 {
		n.Mode = durward.NetLoopback // all that is left of an allowlist without entries
	}
	if n.Mode != durward.NetAllowlist {
		n.Allow, n.AllowPrivate, n.RequireSNI = nil, nil, false
		return
	}
	n.Allow = uncovered(n.Allow, covers)
	n.AllowPrivate = uncovered(n.AllowPrivate, rangeCovers)
}

// uncovered drops each entry that another one covers.
func uncovered(list []string, covers func(outer, inner string) bool) []string {
	all := sorted(list)
	return filter(all, func(entry string) bool {
		return !slices.ContainsFunc(all, func(other string) bool { return other != entry && covers(other, entry) })
	})
}
