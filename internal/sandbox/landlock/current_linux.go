package landlock

import (
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Current reports whether each path still names the file that the rules were made for,
// and what was missing still is, for who knows that nothing was mounted or unmounted since
// then. Where it does not, a new ruleset is needed; the old one gives nothing more than it
// did.
func (r *Ruleset) Current() bool {
	return !slices.ContainsFunc(r.made.folders, func(f *folder) bool { return !f.current() })
}

func (g given) changed() bool {
	var st unix.Stat_t
	return unix.Lstat(g.path, &st) != nil || st.Dev != g.dev || st.Ino != g.ino
}

func exists(path string) bool {
	var st unix.Stat_t
	return !absent(unix.Lstat(path, &st))
}

// A folder is a directory with what rules name in it. While nobody makes, removes or renames
// anything there, one look at it tells what one at each name would.
type folder struct {
	path    string
	given   []given
	missing []string
	seen    atomic.Pointer[sight] // when all was as it should be; nil if not lately
}

// A sight is how a folder looked. Two that are equal had the same names in it.
type sight struct {
	dev, ino uint64
	changed  unix.Timespec
}

// coarse is how long two changes may look like one.
const coarse = 2 * time.Second

// foldersOf sorts what rules name by the directories it lies in.
func foldersOf(given []given, missing []string) []*folder {
	var list []*folder
	in := func(path string) *folder {
		dir := filepath.Dir(path)
		if i := slices.IndexFunc(list, func(f *folder) bool { return f.path == dir }); i >= 0 {
			return list[i]
		}
		list = append(list, &folder{path: dir})
		return list[len(list)-1]
	}
	for _, g := range given {
		f := in(g.path)
		f.given = append(f.given, g)
	}
	for _, path := range missing {
		f := in(path)
		f.missing = append(f.missing, path)
	}
	return list
}

func (f *folder) current() bool {
	var st unix.Stat_t
	known := unix.Lstat(f.path, &st) == nil
	now := sight{st.Dev, st.Ino, st.Ctim}
	if last := f.seen.Load(); known && last != nil && *last == now {
		return true
	}
	if slices.ContainsFunc(f.given, given.changed) || slices.ContainsFunc(f.missing, exists) {
		return false
	}
	// What changes from here on changes the time, too, unless the last change is too near.
	if known && time.Since(time.Unix(st.Ctim.Unix())) > coarse {
		f.seen.Store(&now)
	}
	return true
}
