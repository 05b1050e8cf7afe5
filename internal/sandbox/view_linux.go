//go:build linux && (amd64 || arm64)

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// A view is what a command at level 2 sees of the machine's files: nothing but these
// places, a private /tmp, and what every program takes for granted.
type view struct {
	// host shows all of the machine's files, to be read, below the places.
	host bool
	// tmp is whether /tmp is private: unless the sets name it.
	tmp     bool
	places  []place // in the order of their paths
	links   []durward.Link
	sockets []string // that may be connected to
	exec    []place  // where programs may be executed from
	ways    []way    // out of the network namespace, where there are any
	// loose are protected or denied paths that nobody can put a mount on: they are not
	// there, or are symlinks.
	loose []guarded
}

// A place is a path and what is to be done with it.
type place struct {
	path string
	kind placeKind
	dir  bool
	// owned is set for what belongs to root, and is to look as if it belonged to the
	// command's user.
	owned bool
	// device, inode and born tell what stood there when the view was made: an inode's
	// number is given again.
	device, inode uint64
	born          int64
	// changed is set for a small file of the system's settings: when it last was.
	changed int64
	// copy is set for a directory that is written through a layer of the call's own.
	copy *layer
}

// setting reports whether a place is a small file that says how the system is set up. The
// command gets what it holds when its tree of files is made: a mount would take longer.
func (p place) setting() bool { return p.kind == shown && p.changed != 0 }

const (
	settings = "/etc"
	// largestSetting is the largest file that is copied.
	largestSetting = 16 << 10
)

// isSetting reports whether a file is a setting that everybody may read, whoever they are,
// and that nobody but root can put another file in the place of.
func isSetting(path string, info os.FileInfo, st *syscall.Stat_t) bool {
	const readable, executable = 0o444, 0o111
	if filepath.Dir(path) != settings || !info.Mode().IsRegular() || st.Uid != 0 || st.Size > largestSetting || !rootsOwn(settings) {
		return false
	}
	if info.Mode()&executable != 0 || info.Mode()&readable != readable {
		return false
	}
	_, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP)
}

// placeOf describes what stands at a path.
func placeOf(kind placeKind, path string, info os.FileInfo) place {
	p := place{path: path, kind: kind, dir: info.IsDir()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		p.device, p.inode = st.Dev, st.Ino
		if isSetting(path, info, st) {
			p.changed = st.Ctim.Nano()
		}
	}
	var x unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &x) == nil { // zero where it is not known
		p.born = x.Btime.Sec*1e9 + int64(x.Btime.Nsec)
	}
	return p
}

// rootsOwn reports whether root alone makes and renames files in a directory.
func rootsOwn(dir string) bool {
	var st unix.Stat_t
	return unix.Lstat(dir, &st) == nil && st.Uid == 0 && st.Mode&0o022 == 0
}

type placeKind uint8

const (
	shown   placeKind = iota // can be read
	written                  // can be read and written
	pinned                   // keeps its name, so that what lies in it does, too
	kept                     // can be read although it lies in what can be written
	hidden                   // is not to be had although it lies in what can
)

// String names the kind, in the words of an error.
func (k placeKind) String() string {
	return [...]string{"show", "give", "pin", "protect", "hide"}[k]
}

// A viewer puts a view together.
type viewer struct {
	view
	files durward.Files
	id    identity
	dir   string          // where the command begins
	seen  map[string]bool // directories that are pinned already
	err   error           // the first
}

// viewOf looks at the paths of a grant and says what becomes of each. Where the processes of
// others are shown, nothing is: proc lists where such a file system is mounted. The error has
// reason SandboxUnavailable where the level cannot give what was asked for, and
// SandboxError where a path has changed since the policy was read.
func viewOf(g durward.Grant, denied, proc []string, id identity, dir string) (view, error) {
	v := viewer{files: g.Files, id: id, dir: dir, seen: make(map[string]bool)}
	v.links = outermost(g.Files.Links)
	denied = slices.Concat(denied, []string{"/sys/firmware"}) // it tells of the machine below the system
	v.tmp = !slices.Contains(slices.Concat(g.Files.Read, g.Files.Write), privateTmp)
	v.give(shown, g.Files.Read)
	v.give(written, g.Files.Write)
	v.give(shown, g.Network.UnixSockets)
	v.sockets = g.Network.UnixSockets
	if v.host = v.host || g.Files.HostReadOnly; v.host {
		denied = slices.Concat(denied, v.services())
	}
	for _, p := range v.places {
		if anyWithin(proc, p.path) {
			v.fail(durward.SandboxUnavailable, "take it out of the policy", "%s cannot be given: it shows processes that are not the command's own", p.path)
		}
	}
	v.connect(g.Network)
	slices.SortFunc(v.places, byPath)
	v.nest()
	v.copy()
	for _, path := range sortedPaths(append(v.setID(), g.Files.Protect...)) {
		v.protect(path)
	}
	for _, path := range sortedPaths(slices.Concat(denied, proc)) {
		v.deny(path)
	}
	slices.SortFunc(v.places, byPath)
	v.executable()
	return v.view, v.err
}

// outermost leaves out symlinks below other ones: who goes through the outer one finds what
// the machine has there.
func outermost(links []durward.Link) []durward.Link {
	return slices.DeleteFunc(slices.Clone(links), func(l durward.Link) bool {
		return slices.ContainsFunc(links, func(outer durward.Link) bool {
			return outer.Path != l.Path && fsroot.Contains(outer.Path, l.Path)
		})
	})
}

// What only the call has.
const privateTmp, privateShm = "/tmp", "/dev/shm"

// connect notes the ways to the hosts that may be reached. They have an /etc/hosts of their
// own.
func (v *viewer) connect(n durward.Network) {
	ways, err := waysOf(n)
	if v.err == nil {
		v.err = err
	}
	if v.ways = ways; len(ways) > 0 {
		v.places = slices.DeleteFunc(v.places, func(p place) bool { return p.path == hostsFile })
	}
}

// services are where they listen. A read-only mount keeps nobody from connecting.
func (v *viewer) services() []string {
	dirs := []string{"/run", "/var/run"}
	for _, p := range v.places {
		if anyWithin(dirs, p.path) {
			v.fail(durward.SandboxUnavailable, "take it out of the policy, or use view: private", "%s cannot be given where all of the machine is shown: /run is hidden then", p.path)
		}
	}
	return dirs
}

func byPath(a, b place) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.kind, b.kind)) }

func sortedPaths(paths []string) []string { return slices.Compact(slices.Sorted(slices.Values(paths))) }

// give adds the entries of a set. Those that are denied, or all, or nobody's, are none.
func (v *viewer) give(kind placeKind, paths []string) {
	for _, path := range paths {
		switch {
		case path == durward.PrivateTmp || anyWithin(v.files.Deny, path):
		case path == "/" && kind == written:
			v.fail(durward.SandboxUnavailable, "take / out of filesystem.write: name the directories that are to be written", "all of the machine cannot be given to be written")
		case path == "/":
			v.host = true
		case fsroot.Contains("/proc", path) || fsroot.Contains("/dev", path):
			v.fail(durward.SandboxUnavailable, "take it out of the policy, or use level 1", "%s cannot be given: /proc and /dev are the command's own", path)
		default:
			v.add(kind, path)
		}
	}
}

func (v *viewer) fail(reason durward.Reason, hint, format string, args ...any) {
	if v.err == nil {
		v.err = &durward.Error{Reason: reason, Op: "sandbox", Rule: "filesystem", Hint: hint, Err: fmt.Errorf(format, args...)}
	}
}

func (v *viewer) add(kind placeKind, path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		v.fail(durward.SandboxError, "make it what it was, or reload the policy", "%s is not what it was when the policy was read%s", path, because(err))
		return
	}
	if kind == written && anyWithin(v.files.Protect, path) {
		kind = shown
	}
	p := placeOf(kind, path, info)
	p.owned = v.rootOwned(kind, path, info)
	v.places = append(v.places, p)
}

func because(err error) string {
	var pathError *os.PathError
	if !errors.As(err, &pathError) {
		return ""
	}
	return ": " + pathError.Err.Error()
}

// rootOwned reports whether the command's own workspace belongs to root, and the command
// does not run as root. What everybody may write into is nobody's workspace.
func (v *viewer) rootOwned(kind placeKind, path string, info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && kind == written && fsroot.Contains(path, v.dir) && info.Mode()&0o002 == 0 && v.id.change && v.id.uid == dedicatedID && st.Uid == 0
}

// nest turns what is only to be read within what is to be written into kept places.
func (v *viewer) nest() {
	for i := range v.places {
		p := &v.places[i]
		if around, ok := v.around(p.path); ok && around.kind == written && p.kind == shown {
			p.kind = kept
			v.pin(around.path, p.path)
		}
	}
}

// around gives the innermost place that a path lies in, itself excluded.
func (v view) around(path string) (place, bool) {
	found := -1
	for i := range v.places {
		p := &v.places[i]
		if p.dir && p.kind != pinned && p.path != path && fsroot.Contains(p.path, path) && (found < 0 || len(p.path) > len(v.places[found].path)) {
			found = i
		}
	}
	if found < 0 {
		return place{}, false
	}
	return v.places[found], true
}

// pin keeps the names of the directories between a writable root and something in it.
func (v *viewer) pin(root, path string) {
	for dir := filepath.Dir(path); dir != root && fsroot.Contains(root, dir); dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() && !v.seen[dir] {
			v.seen[dir] = true
			v.places = append(v.places, placeOf(pinned, dir, info))
		}
	}
}

// mostLooked bounds the search for files that run as their owner.
const mostLooked = 1_000_000

// setID lists the files that run as root, or as its group, in a workspace of root's that the
// command is to own: whoever owns one may write another program into it, and it keeps the
// bit when that is done through memory.
func (v *viewer) setID() []string {
	var list []string
	looked := 0
	for _, p := range v.places {
		if !p.owned {
			continue
		}
		err := filepath.WalkDir(p.path, func(path string, d fs.DirEntry, err error) error {
			if looked++; looked > mostLooked {
				return errors.New("it holds too many files to look for those that run as root")
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				list = append(list, path)
			}
			return ignoreMissing(err)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.fail(durward.SandboxError, "give the directory to another user, or name smaller ones in filesystem.write", "%s belongs to root: %s", p.path, err)
		}
	}
	return list
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// protect keeps a path in what can be written as it is.
func (v *viewer) protect(path string) {
	if root, ok := v.around(path); ok && root.kind == written && !anyWithin(v.files.Deny, path) {
		v.pin(root.path, path)
		v.cover(kept, path)
	}
}

// deny takes a path away from what can be seen.
func (v *viewer) deny(path string) {
	v.places = slices.DeleteFunc(v.places, func(p place) bool { return fsroot.Contains(path, p.path) })
	root, inside := v.around(path)
	if inside && root.kind == written {
		v.pin(root.path, path)
	}
	if inside && root.kind != hidden || !inside && v.host && !v.own(path) {
		v.cover(hidden, path)
	}
}

// cover puts something over a path that is there. What is a symlink, or missing where
// the command could make it, can only be watched.
func (v *viewer) cover(kind placeKind, path string) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink == 0:
		v.places = append(v.places, placeOf(kind, path, info)) // over a pin, which comes before it
	case err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		root, ok := v.around(path)
		if seen := ok || v.host && !v.own(path); seen && (kind == hidden || root.copy == nil) {
			v.loose = append(v.loose, guardedAs(path, info, root.kind == written && root.copy == nil))
		}
	default:
		v.unreached(path, err)
	}
}

// unreached is for what we cannot look at. Neither can the command, unless the directory
// that bars the way is its own, in what it can write.
func (v *viewer) unreached(path string, err error) {
	if root, ok := v.around(path); ok && root.kind == written {
		v.fail(durward.SandboxError, "make the directories above it ones that you can enter", "%s cannot be looked at%s", path, because(err))
	}
}

// executable notes where programs may be executed from, without files that are none.
func (v *viewer) executable() {
	for _, path := range v.files.Exec {
		info, err := os.Lstat(path)
		if err == nil && v.shows(path) && (info.IsDir() || info.Mode()&0o111 != 0) {
			v.exec = append(v.exec, placeOf(shown, path, info))
		}
	}
}

// shows reports whether a path can be seen in the room by its name, as the machine's.
func (v view) shows(path string) bool {
	var around place
	for _, p := range v.places {
		if p.kind != pinned && fsroot.Contains(p.path, path) && len(p.path) >= len(around.path) {
			around = p
		}
	}
	if around.path != "" {
		return around.kind != hidden
	}
	return v.host && !v.own(path)
}

// own reports whether a path lies where the command has what is nobody else's.
func (v view) own(path string) bool {
	return v.tmp && fsroot.Contains(privateTmp, path) || fsroot.Contains("/proc", path) || fsroot.Contains("/dev", path)
}

// runsAll reports whether programs may be executed from each place that is given.
func (v view) runsAll(exec []string) bool {
	return !v.host && !slices.ContainsFunc(v.places, func(p place) bool { return p.kind <= written && !anyWithin(exec, p.path) })
}

// temporary is the directory that only the call has.
func (v view) temporary() string {
	if v.tmp {
		return privateTmp
	}
	return privateShm
}

// hides reports whether some of what is given is hidden.
func (v view) hides() bool {
	return slices.ContainsFunc(v.places, func(p place) bool { return p.kind == hidden })
}

// keepsStore reports whether what covers something takes a file system of its own.
func (v view) keepsStore() bool { return v.hides() || v.coversHosts() }

// owned reports whether some of what belongs to root is to look like the command's.
func (v view) owned() bool {
	return slices.ContainsFunc(v.places, func(p place) bool { return p.owned })
}

// String gives the places, one to a line: it tells views apart that are not the same.
func (v view) String() string {
	var b strings.Builder
	if v.host {
		b.WriteString("show /\n")
	}
	if v.tmp {
		b.WriteString("private " + privateTmp + "\n")
	}
	for _, p := range v.places {
		fmt.Fprintf(&b, "%s %q%s%s %d:%d:%d:%d\n", p.kind, p.path, mark(p.dir, "/"), mark(p.owned, " as owner")+p.copy.String(), p.device, p.inode, p.born, p.changed)
	}
	for _, l := range v.links {
		fmt.Fprintf(&b, "link %q to %q\n", l.Path, l.To)
	}
	for _, path := range v.sockets {
		fmt.Fprintf(&b, "connect to %q\n", path)
	}
	for _, w := range v.ways {
		fmt.Fprintf(&b, "listen at %s\n", w)
	}
	for _, p := range v.exec {
		fmt.Fprintf(&b, "execute %q%s %d:%d:%d\n", p.path, mark(p.dir, "/"), p.device, p.inode, p.born)
	}
	return b.String()
}

func mark(is bool, text string) string {
	if is {
		return text
	}
	return ""
}
