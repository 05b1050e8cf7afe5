package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// An access is what a set of paths allows at one of them.
type access int

const (
	noAccess access = iota
	readAccess
	writeAccess
)

// contains reports whether path is dir or lies below it. The private temporary
// directory counts as lying below a root directory: it is less than all of it.
func contains(dir, path string) bool {
	switch {
	case dir == path:
		return true
	case dir == durward.PrivateTmp:
		return false
	case isRoot(dir):
		return path == durward.PrivateTmp || strings.HasPrefix(path, dir)
	}
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}

func isRoot(path string) bool { return filepath.IsAbs(path) && filepath.Dir(path) == path }

// related reports whether one of two paths contains the other.
func related(a, b string) bool { return contains(a, b) || contains(b, a) }

func anyContains(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return contains(dir, path) })
}

func anyTouched(paths []string, glob string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return touches(glob, p) })
}

func anyRelated(paths []string, path string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return related(p, path) })
}

// accessAt tells what the read and write sets allow at path: the longest entry that
// contains it decides, and a write entry where both sets have the same.
func accessAt(f durward.Files, path string) access {
	best, length := noAccess, -1
	for _, set := range []struct {
		paths []string
		gives access
	}{{f.Read, readAccess}, {f.Write, writeAccess}} {
		for _, p := range set.paths {
			if contains(p, path) && len(p) >= length {
				best, length = set.gives, len(p)
			}
		}
	}
	return best
}

// sorted gives the distinct paths of lists in order, or nil for none.
func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return nil
	}
	return all
}

// outermost drops each path that lies below another one.
func outermost(paths []string) []string {
	return filter(sorted(paths), func(p string) bool {
		return !slices.ContainsFunc(paths, func(q string) bool { return q != p && p != durward.PrivateTmp && contains(q, p) })
	})
}

// filter gives what of list passes keep, or nil for none.
func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, item := range list {
		if keep(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// touches reports whether a deny pattern may match path, something below it or
// something it lies in. It errs to the side of yes.
func touches(glob, path string) bool {
	names := strings.Split(path, string(filepath.Separator))
	for i, pattern := range strings.Split(glob, string(filepath.Separator)) {
		if pattern == "**" || i >= len(names) || isRoot(path) {
			return true
		}
		if ok, err := filepath.Match(pattern, names[i]); !ok && err == nil {
			return false
		}
	}
	return true
}

// climbs reports whether a path holds "..", behind which only the file system knows
// where it leads.
func climbs(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}
