package pathguard

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward/internal/fsroot"
)

// DefaultMaxFileBytes is how large a file in a zone may be whose rule does not say.
const DefaultMaxFileBytes = 10_000_000

// A Zone is where files may be written.
type Zone struct {
	// Path is an absolute path, or one that begins with "~", within a root. It exists,
	// unless CreateIfMissing is set.
	Path string
	// Recursive takes in all that lies below Path. Without it the zone is the files that
	// lie directly in Path, or Path itself, if that is a file.
	Recursive bool
	// MaxFileBytes bounds a file. Zero means DefaultMaxFileBytes.
	MaxFileBytes int64
	// CreateIfMissing lets directories be made that are missing, Path included.
	CreateIfMissing bool
}

// place makes the path of a zone physical.
func (g *Guard) place(z *Zone) error {
	const rule = "writeRules"
	e, err := g.configured(rule, z.Path)
	if err != nil {
		return err
	}
	if g.rootOf(e.path) < 0 {
		return invalid(rule, "name a path within an allowed root", "%q is in no root", z.Path)
	}
	if e.missing > 0 && !z.CreateIfMissing {
		return invalid(rule, "make the directory, or set createIfMissing: true", "%q does not exist", z.Path)
	}
	z.Path = e.path
	if z.MaxFileBytes == 0 {
		z.MaxFileBytes = DefaultMaxFileBytes
	}
	return nil
}

// keep makes the paths physical that are in no zone. One that leads nowhere leads nobody else there.
func (g *Guard) keep() {
	g.o.Kept = slices.Clone(g.o.Kept)
	for i, path := range g.o.Kept {
		if e, err := g.configured("kept", path); err == nil {
			g.o.Kept[i] = e.path
		}
	}
}

// keeps reports whether a file is in no zone, whatever the zones hold.
func (g *Guard) keeps(path string) bool {
	return slices.ContainsFunc(g.o.Kept, func(kept string) bool { return fsroot.Contains(kept, path) })
}

// zoneOf finds the zone that decides about a file, by its number: the deepest, of equal
// ones the first. Without one that is negative.
func (g *Guard) zoneOf(path string) int {
	found := -1
	for i, z := range g.o.Zones {
		if z.holds(path) && (found < 0 || depth(z.Path) > depth(g.o.Zones[found].Path)) {
			found = i
		}
	}
	return found
}

func (z Zone) holds(path string) bool {
	dir := filepath.Dir(path)
	if z.Recursive {
		return fsroot.Contains(z.Path, dir)
	}
	return dir == z.Path || path == z.Path
}

// depth counts the names of an absolute path.
func depth(path string) int { return strings.Count(strings.TrimSuffix(path, "/"), "/") }
