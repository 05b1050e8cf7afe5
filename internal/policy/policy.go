package policy

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/durward/durward"
)

// A Policy is what has been compiled for one host. It never changes and is safe for
// concurrent use.
type Policy struct {
	// grant is what a call gets that asks for nothing, but for a level that is still open.
	grant durward.Grant
	// passed names the variables whose value came from the runtime's environment.
	passed map[string]bool
	// places says where each member was written; source is where the others would be.
	places map[string]durward.Position
	source durward.Position
	// confined holds what a mode that confines files denies by itself, for a call that
	// asks a wider policy for such a mode.
	confined durward.Files
	// workspace holds the directory that working directories must lie in, as written and
	// as physical path; it is empty where there is none.
	workspace []string
	// root holds the same two in that order.
	root [2]string
	// allowed names reserved variables that a request may set nevertheless.
	allowed map[string]bool
	foldEnv bool
	paths   []Path
	hash    string
}

// A Path is one path of a policy as somebody wrote it and what became of it.
type Path struct {
	// Member is "filesystem.read", "network.unixSockets", …
	Member  string
	Written string
	// Physical is the path that counts, a pattern, or empty for what is missing.
	Physical string
	Where    durward.Position
	path     string // expanded, not resolved
}

// Hash gives "sha256:" and the digest of the policy's effective content. Comments,
// order, spelling and the place of a document do not change it; whatever changes what
// a call may do does.
func (p *Policy) Hash() string { return p.hash }

// Paths lists what was written about paths and what became of it, in the order of
// reading.
func (p *Policy) Paths() []Path { return slices.Clone(p.paths) }

// Grant gives what a call gets that asks for nothing.
func (p *Policy) Grant() durward.Grant { return settled(clone(p.grant)) }

// Keep gives the policy with another way to keep output.
func (p *Policy) Keep(keep durward.Keep) *Policy {
	q := *p
	q.grant.Keep = keep
	return q.sealed()
}

// Limit gives the policy with other limits.
func (p *Policy) Limit(l durward.Limits) *Policy {
	q := *p
	q.grant.Limits = l.WithDefaults()
	return q.sealed()
}

// sealed computes the hash of a policy that has been put together.
func (p Policy) sealed() *Policy {
	p.hash = p.digest()
	return &p
}

// settled decides what there is no choice about. What is not confined and requires
// nothing needs no level but the one that was asked for; and where all files are open
// the grant names none, so that no engine takes them for sets to hold.
func settled(g durward.Grant) durward.Grant {
	if g.Mode.Confines() {
		return g
	}
	if g.Level == durward.LevelAuto && len(g.Require) == 0 {
		g.Level = max(durward.LevelNone, g.MinLevel)
	}
	switch {
	case opensAll(g.Files):
		g.Files = durward.Files{}
	case len(g.Files.Read)+len(g.Files.Write) == 0:
		g.Files.Deny = []string{string(filepath.Separator)} // no set at all would mean all
	}
	return g
}

// opensAll reports whether sets leave out no file.
func opensAll(f durward.Files) bool {
	return slices.ContainsFunc(f.Write, isRoot) && slices.ContainsFunc(f.Exec, isRoot) &&
		len(f.Read)+len(f.Deny)+len(f.DenyGlobs)+len(f.Protect) == 0 && !f.CopyOnWrite
}

// clone gives a copy that shares nothing with g.
func clone(g durward.Grant) durward.Grant {
	for _, list := range []*[]string{
		&g.PrivateDir, &g.Files.Read, &g.Files.Write, &g.Files.Deny, &g.Files.DenyGlobs, &g.Files.Protect, &g.Files.Exec,
		&g.Network.Allow, &g.Network.AllowPrivate, &g.Network.UnixSockets,
	} {
		*list = slices.Clone(*list)
	}
	g.Files.Links = slices.Clone(g.Files.Links)
	g.Require = slices.Clone(g.Require)
	g.Env = maps.Clone(g.Env)
	return g
}
