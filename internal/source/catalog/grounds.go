package catalog

import (
	"path/filepath"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcppolicy"
)

// readGrant gives what holds the reading of files: the roots that are there, so that one
// that was removed is not missed by the others. A single one has no others, and where it is not
// there the guard finds nothing.
func readGrant(p *mcppolicy.Policy) durward.Grant {
	limits := durward.DefaultLimits()
	limits.Output = durward.Unlimited // a window is bounded by maxReadBytes
	g := durward.Grant{Mode: durward.ReadOnly, StepDown: true, Limits: limits}
	for _, r := range p.Roots {
		if len(p.Roots) == 1 || p.There(r.Path) {
			g.Files.Read = append(g.Files.Read, r.Path)
		}
	}
	return g
}

// writeGrant gives what holds the writing of files.
func writeGrant(p *mcppolicy.Policy) durward.Grant {
	g := readGrant(p)
	g.Mode = durward.WorkspaceWrite
	for _, r := range p.WriteRules {
		if r.CreateIfMissing || p.There(r.Path) {
			g.Files.Write = append(g.Files.Write, grounds(p, r))
		}
	}
	for _, path := range g.Files.Read { // what is named to be read alone would not be written, in a zone either
		if p.Writable(path) && !slices.Contains(g.Files.Write, path) {
			g.Files.Write = append(g.Files.Write, path)
		}
	}
	return g
}

// grounds gives what the kernel lets be written for a rule: its zone, or the nearest directory
// that is there where that is missing, or a file, in whose place another one is put. The guard
// keeps the rest of that out.
func grounds(p *mcppolicy.Policy, r mcppolicy.WriteRule) string {
	path := r.Path
	for path != filepath.Dir(path) && !p.HasDir(path) {
		path = filepath.Dir(path)
	}
	return path
}
