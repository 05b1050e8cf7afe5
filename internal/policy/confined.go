package policy

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/durward/durward"
)

// mostPathBytes bounds the paths of a confinement, all together: each name may have to be
// looked up.
const mostPathBytes = 128 << 10

// A Voice says whose words a confinement is in.
type Voice int

const (
	// OfCaller is of one who has words for all that is to be held, and means no more.
	OfCaller Voice = iota
	// OfOperator is of one who also has denied and protected what is by default.
	OfOperator
)

// Confined gives the policy that holds a command to a confinement, on this host. Paths are
// looked up once, and the policy does not follow later changes.
//
// An entry gives what is there: one for a missing path gives nothing. An entry that lets be
// read what lies in something to be written takes back the writing, also of what is missing.
// An entry that denies what no other gives says nothing new, so entries within it hold; one
// within a path that is denied inside of what is given cannot be held, and is refused.
// /proc and /dev are the command's own, and no entry gives another one's.
//
// A symlink in what can be written may have been put there by a command. Where one leads an
// entry out of that, nothing is read by it, and an entry that writes is refused.
//
// The error has reason OutsideRoot, SandboxUnavailable or PolicyInvalid. Of the first two the
// rule is the member of the entry at fault.
func Confined(c durward.Confinement, host Host, by Voice) (*Policy, error) {
	if !c.Mode.Confines() {
		return Compile(&Document{Mode: c.Mode}, host)
	}
	x := &confiner{compiler: compiler{
		doc: &Document{Mode: c.Mode}, host: host, p: Policy{foldEnv: host.goos() == "windows"},
	}}
	x.grant = &x.p.grant
	x.confinement()
	x.grant.Network.Mode = c.Network
	x.grant.Limits = durward.DefaultLimits()
	x.grant.Keep = durward.KeepHeadTail
	if err := x.sets(c.Entries); err != nil {
		return nil, err
	}
	if by == OfOperator {
		x.grant.Files.Protect = append(x.grant.Files.Protect, x.protect([]Text{{Value: setVCS}, {Value: setAgent}})...)
		x.secrets()
		x.uselessEntries()
	}
	x.hidden()
	f := &x.grant.Files
	f.Exec = slices.Concat(f.Read, f.Write)
	f.Links = x.links()
	if err := x.problems.Err(); err != nil {
		return nil, Invalid(err)
	}
	normalise(x.grant)
	return x.p.sealed(), nil
}

// A confiner puts the policy of a confinement together.
type confiner struct {
	compiler
	writes, reads, denies []placed
	writable              []string // the physical paths of writes
}

// A placed entry is one whose path has been looked up.
type placed struct {
	durward.Entry
	physical string
	exists   bool
}

// sets settles the path sets.
func (x *confiner) sets(entries []durward.Entry) error {
	if len(entries) > durward.MaxEntries {
		return unheld("sandbox", "%d entries are more than %d", len(entries), durward.MaxEntries)
	}
	bytes := 0
	for _, e := range entries {
		if bytes += len(e.Path) + len(e.Pattern); bytes > mostPathBytes {
			return unheld(e.Member, "the paths have more than %d bytes together", mostPathBytes)
		}
	}
	var protects, patterns []durward.Entry
	for _, e := range x.named(entries) {
		switch {
		case e.Pattern != "":
			patterns = append(patterns, e)
		case e.Access == durward.AccessProtect:
			protects = append(protects, e)
		default:
			if err := x.place(e); err != nil {
				return err
			}
		}
	}
	if err := x.settleWrites(); err != nil {
		return err
	}
	if err := x.settleDenies(); err != nil {
		return err
	}
	x.settleReads()
	for _, e := range protects {
		if err := x.keep(e); err != nil {
			return err
		}
	}
	for _, e := range patterns {
		x.denyGlob(Text{Value: e.Pattern}, e.Path, e.Pattern)
	}
	return x.keepOwn()
}

// named puts paths in the place of the platform's files.
func (x *confiner) named(entries []durward.Entry) []durward.Entry {
	var list []durward.Entry
	for _, e := range entries {
		if !e.Platform {
			list = append(list, e)
			continue
		}
		e.IfThere = true
		for _, path := range systemPaths(x.host.goos()) {
			e.Path = path
			list = append(list, e)
		}
	}
	return list
}

// place looks the path of an entry up.
func (x *confiner) place(e durward.Entry) error {
	physical, exists, err := x.physical(e.Path)
	p := placed{e, physical, exists}
	switch {
	case err != nil && e.Access == durward.AccessDeny && !e.IfThere:
		return unheld(e.Member, "%s cannot be looked up, and so not be denied: %w", e.Path, err)
	case err != nil || !exists && e.IfThere:
	case e.Access == durward.AccessDeny:
		x.denies = append(x.denies, p)
	case x.isOwn(physical):
	case e.Access == durward.AccessWrite && exists:
		x.writes = append(x.writes, p)
	case e.Access == durward.AccessRead:
		x.reads = append(x.reads, p)
	}
	return nil
}

// isOwn reports whether a path is one that a command has for itself.
func (x *confiner) isOwn(path string) bool {
	return x.host.goos() == "linux" && (contains("/proc", path) || contains("/dev", path))
}

// settleWrites gives what may be written, but for what is denied as a whole.
func (x *confiner) settleWrites() error {
	x.writes = filter(x.writes, x.isNotDenied)
	for _, w := range x.writes {
		x.writable = append(x.writable, w.physical)
	}
	for _, w := range x.writes {
		if link, _ := x.leadsOut(w.Path, x.writable); link != "" {
			return &durward.Error{
				Reason: durward.OutsideRoot, Op: "confine", Rule: w.Member, Hint: "name the directory itself that it leads to",
				Err: fmt.Errorf("%s leads to %s by %s, which a command can write", w.Path, w.physical, link),
			}
		}
	}
	for _, w := range x.writes {
		x.give("filesystem.write", w, &x.grant.Files.Write)
	}
	return nil
}

func (x *confiner) isNotDenied(p placed) bool {
	return !slices.ContainsFunc(x.denies, func(d placed) bool { return d.physical == p.physical })
}

// give adds to a set.
func (x *confiner) give(member string, p placed, set *[]string) {
	*set = append(*set, p.physical)
	written := p.Path
	if p.Platform {
		written = setSystem + " " + p.Path
	}
	x.p.paths = append(x.p.paths, Path{Member: member, Written: written, Physical: p.physical, path: p.Path})
}

// settleDenies denies what lies in something that is given.
func (x *confiner) settleDenies() error {
	x.reads = filter(x.reads, x.isNotDenied)
	given := slices.Concat(x.writes, x.reads)
	for _, d := range x.denies {
		if !slices.ContainsFunc(given, func(g placed) bool { return contains(g.physical, d.physical) }) {
			continue
		}
		for _, g := range given {
			if contains(d.physical, g.physical) && g.exists && !g.Platform {
				return unheld(g.Member, "%s cannot be given: it lies in %s, which is denied within what is given around it", g.Path, d.Path)
			}
		}
		x.grant.Files.Deny = append(x.grant.Files.Deny, d.physical)
	}
	return nil
}

// settleReads gives what may be read. Within what can be written that is to keep it as it is.
func (x *confiner) settleReads() {
	f := &x.grant.Files
	for _, r := range x.reads {
		switch link, _ := x.leadsOut(r.Path, x.writable); {
		case link != "" || x.withinWrite(r) && !x.holdsWrite(r):
			f.Protect = append(append(f.Protect, r.physical), x.asName(r.Path)...)
		case r.exists:
			x.give("filesystem.read", r, &f.Read)
		}
	}
}

// withinWrite reports whether the innermost of what is given around an entry is written.
func (x *confiner) withinWrite(r placed) bool {
	inner, written := "", false
	for _, g := range slices.Concat(x.reads, x.writes) {
		if g.physical != r.physical && contains(g.physical, r.physical) && len(g.physical) >= len(inner) {
			inner, written = g.physical, g.Access == durward.AccessWrite
		}
	}
	return written
}

// holdsWrite reports whether something in an entry is written, or all of it.
func (x *confiner) holdsWrite(r placed) bool {
	return slices.ContainsFunc(x.writes, func(w placed) bool { return contains(r.physical, w.physical) })
}

// keep protects a path. Beneath a file there is nothing to protect.
func (x *confiner) keep(e durward.Entry) error {
	physical, exists, err := x.physical(e.Path)
	switch {
	case !exists && e.IfThere:
		return nil
	case err == nil:
		x.grant.Files.Protect = append(append(x.grant.Files.Protect, physical), x.asName(e.Path)...)
		return nil
	}
	if dir, _, failed := x.physical(filepath.Dir(e.Path)); failed == nil && x.isDir(dir) {
		return unheld(e.Member, "%s cannot be looked up, and so not be protected: %w", e.Path, err)
	}
	return nil
}

// keepOwn protects what says how the runtime is run, and what the ".git" files of writable
// directories lead to.
func (x *confiner) keepOwn() error {
	own := slices.Clone(x.host.Own)
	for _, w := range x.writes {
		own = append(own, x.host.gitDirs(w.physical)...)
	}
	for _, path := range own {
		if len(x.writes) == 0 {
			break
		}
		if err := x.keep(durward.Entry{Path: path, Member: "sandbox"}); err != nil {
			return err
		}
	}
	return nil
}

func unheld(member, format string, args ...any) error {
	return &durward.Error{
		Reason: durward.SandboxUnavailable, Op: "confine", Rule: member, Hint: "leave the entry out, or name others",
		Err: fmt.Errorf(format, args...),
	}
}

// Shows reports whether the sets of a grant that confines files let a path be read.
func Shows(f durward.Files, path string) bool {
	return accessAt(f, path) != noAccess && !anyContains(f.Deny, path)
}

// Apart gives the grant of a policy that [Confined] made, or that was narrowed by one, with
// what its words set apart and its sets do not need: a directory that was named to be
// written within another one, as it may have another owner, and with showTmp the machine's
// /tmp where all of the machine is read, as a command has its own where no set names that.
func (p *Policy) Apart(showTmp bool) durward.Grant {
	const tmp = "/tmp"
	g := p.Grant()
	f := &g.Files
	for _, named := range p.paths {
		path := named.Physical
		inner := named.Member == "filesystem.write" && !slices.Contains(f.Write, path)
		if inner && accessAt(*f, path) == writeAccess && !anyContains(slices.Concat(f.Deny, f.Protect), path) {
			f.Write = append(f.Write, path)
		}
	}
	if showTmp && !slices.Contains(f.Write, tmp) && accessAt(*f, tmp) == readAccess && !slices.Contains(f.Read, tmp) && !anyContains(f.Deny, tmp) {
		f.Read = append(f.Read, tmp)
	}
	return g
}
