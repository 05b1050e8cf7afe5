// Package pathguard leads the paths of callers to files within several roots.
//
// A path is read as the kernel reads it, from the root of the machine: component by
// component, symbolic links followed wherever they lead, ".." meaning the physical parent.
// What counts is where it ends.
//
//	/srv/docs/a.txt          inside, with /srv/docs as a root
//	/srv/docs/../other/x     outside, and so is a link that leads there
//	/tmp/link/a.txt          inside, when link leads into a root
//	notes/a.txt              joined to the start directory
//	~/a.txt                  joined to the home directory
//
// Whether a path is inside is decided before anything is said about what is there: a path
// outside gets one answer, whatever exists. What is inside is then opened from the held
// directory of its root, by a name that may hold no link; if the tree has changed
// meanwhile, all is done again, a few times at most.
//
// Not hidden is what a path passes through on its way inside: "/a/../srv/docs/a.txt" tells
// whether there is a directory /a.
//
// Failures are [*durward.Error] that name the path as the caller wrote it.
package pathguard

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// Options say how paths are read and what files must meet. Their zero value reads absolute
// paths alone, and lets nothing be written.
type Options struct {
	// Home is the absolute path that "~" stands for. Where it is empty, "~" is a name like
	// any other.
	Home string
	// Start is the absolute path that relative ones are joined to. Where it is empty, they
	// are outside.
	Start string
	// AllowRootFilesystem allows "/" as a root.
	AllowRootFilesystem bool
	// Rules are what files must meet. Mounts that are nil are those of this machine; NoLinks
	// is set in any case.
	Rules fsroot.Rules
	// Zones are where may be written.
	Zones []Zone
	// Kept are absolute paths. What lies there and below is in no zone.
	Kept []string
}

// A Guard may be used concurrently.
type Guard struct {
	o      Options
	roots  []root
	mounts *fsroot.MountTable
	tell   func(durward.Step) // may be nil
}

// A root is a directory that is held open, with its physical path.
type root struct {
	path string
	dir  *fsroot.Root
}

// Open opens the roots, each an absolute path or one that begins with "~". Close it after
// use.
func Open(roots []string, o Options) (*Guard, error) {
	g := &Guard{o: o, mounts: &fsroot.MountTable{}}
	g.o.Rules.NoLinks = true
	g.o.Zones = slices.Clone(o.Zones)
	if err := g.open(roots); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *Guard) open(roots []string) error {
	if len(roots) == 0 {
		return invalid("allowedRoots", "name a directory", "there is no root")
	}
	for _, path := range roots {
		if err := g.addRoot(path); err != nil {
			return err
		}
	}
	for i := range g.o.Zones {
		if err := g.place(&g.o.Zones[i]); err != nil {
			return err
		}
	}
	g.keep()
	if g.o.Rules.Mounts != nil || g.o.Rules.AllowNetworkFS {
		return nil
	}
	return g.openMounts()
}

// openMounts opens the mount table here: a thread that is held to rules could not.
func (g *Guard) openMounts() error {
	g.o.Rules.Mounts = g.mounts
	if err := g.mounts.Open(); err != nil {
		return &durward.Error{
			Reason: durward.SandboxUnavailable, Op: "roots.open", Rule: "denyNetworkFS",
			Hint: "mount /proc, or allow network file systems in the policy", Err: err,
		}
	}
	return nil
}

func (g *Guard) addRoot(path string) error {
	end, err := g.configured("allowedRoots", path)
	if err != nil {
		return err
	}
	if end.path == "/" && !g.o.AllowRootFilesystem {
		return invalid("allowedRoots", "name a directory, or set allowRootFilesystem: true", "%q is the whole file system", path)
	}
	dir, err := fsroot.Open(end.path)
	if err != nil {
		return failed("root.open", path, err)
	}
	g.roots = append(g.roots, root{path: end.path, dir: dir})
	return nil
}

// configured leads a path of the configuration, which is never relative, to its end.
func (g *Guard) configured(rule, path string) (end, error) {
	if err := check(path); err != nil {
		return end{}, err
	}
	full := g.inHome(path)
	if !filepath.IsAbs(full) {
		return end{}, invalid(rule, `write an absolute path, or one that begins with "~/"`, "%q is not absolute", path)
	}
	w := newWalk(following)
	defer w.close()
	if err := w.along(full); err != nil {
		return end{}, failed("root.open", path, err)
	}
	return w.end(), nil
}

// Roots gives the physical paths of the roots, in their order.
func (g *Guard) Roots() []string {
	paths := make([]string, len(g.roots))
	for i, r := range g.roots {
		paths[i] = r.path
	}
	return paths
}

// Close closes the roots once the calls in progress have ended. Files opened stay open.
func (g *Guard) Close() error {
	var all []error
	for _, r := range g.roots {
		all = append(all, r.dir.Close())
	}
	g.mounts.Close()
	return errors.Join(all...)
}

// rootOf finds the innermost root around a physical path, the first of equal ones, by its
// number. Without one that is negative.
func (g *Guard) rootOf(path string) int {
	found := -1
	for i, r := range g.roots {
		if fsroot.Contains(r.path, path) && (found < 0 || len(r.path) > len(g.roots[found].path)) {
			found = i
		}
	}
	return found
}

func invalid(rule, hint, format string, args ...any) error {
	return &durward.Error{Reason: durward.PolicyInvalid, Op: "roots.open", Rule: rule, Hint: hint, Err: fmt.Errorf(format, args...)}
}
