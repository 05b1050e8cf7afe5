//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// A room is the tree of files of a call at level 2, in a mount namespace of its own.
// The call's first process builds it before it executes anything, in three lists:
//
//	sources  what has to be taken up while the machine's root is there
//	room     what calls of one view have in common; ends in the new root
//	own      what only this call has: /tmp, /proc, terminals, Landlock rules
//
// The room is made of a small private file system, the store:
//
//	root     the root to be, with something to mount each place of the view on
//	dev      what /dev shows
//
// It is left behind with the machine's own root when the new one is entered.
//
// What is mounted from the machine is found by its physical path, with no symlink on the
// way, so that nobody who can write in one place can have another one mounted instead.

// Descriptors of the process that builds the room; the lower numbers are taken.
const (
	roomHandFD   = 6  // where descriptors are handed over to the runtime
	roomOwnersFD = 8  // user namespace by which what is root's looks like the command's
	roomKeptFD   = 11 // the mount namespace of a room that is kept; then roomRootFD
	roomRootFD   = 11 // the root to be
	roomNetFD    = 12 // the network namespace, if it is a kept one; then roomStoreFD
	roomStoreFD  = 12 // the private file system
	roomWorkFD   = 13 // whatever is being made
	reaperSelfFD = 14 // the program to execute
	roomLowerFD  = 29 // what a copy is of
	roomCopyFD   = 30 // the file system of what is written in copies
	roomProcFD   = 31 // /proc of the call's own processes
	roomSourceFD = 32 // the first of the sources
)

// What the store holds.
const (
	storeRoot  = "root"
	storeDev   = "dev"
	hiddenDir  = "hidden"      // in one of the call's own
	hiddenFile = "hidden-file" // likewise
	hostsStore = "hosts"       // likewise: the private /etc/hosts, where it is mounted
)

// A builder appends the calls that build a part of a room.
type builder struct {
	calls  []Call
	view   view
	made   map[string]bool // directories of the private file system
	layers int             // copies that have been mounted
	above  int             // no descriptor from here on is needed later; zero until it is known
}

// mostOpen is after how many places the descriptors that they took are closed.
const mostOpen = 64

// letGo closes, now and then, what was opened for the places so far: there may be thousands.
func (b *builder) letGo(places int) {
	if places%mostOpen != mostOpen-1 {
		return
	}
	if b.above == 0 {
		b.above = roomSourceFD + len(b.view.taken())
	}
	b.add("let go of what was opened", unix.SYS_CLOSE_RANGE, number(b.above), number(uint32(math.MaxUint32)), number(0))
}

// taken lists the places that are taken up while the machine's root is there. Their mounts
// have the numbers from roomSourceFD on.
func (v view) taken() []place {
	var list []place
	for _, p := range v.places {
		if p.kind <= written && v.late(p) {
			list = append(list, p)
		}
	}
	return list
}

// sources gives the calls that take up /proc and what is mounted in the private /tmp, and
// make the ways out of the network namespace.
func (v view) sources() []Call {
	b := &builder{view: v}
	b.reserve(reaperProcFD, roomProcFD, roomWorkFD)
	b.place("the machine's /proc", unix.SYS_OPENAT, reaperProcFD, number(unix.AT_FDCWD), text("/proc"), number(unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC))
	// A process that owns nothing but its user namespace may only mount /proc where it sees
	// all of the machine's.
	b.fileSystem("private /proc", "proc", roomProcFD, readOnly|unix.MOUNT_ATTR_NOEXEC)
	b.ways(v.ways)
	for i, p := range v.taken() {
		name, fd := p.what(), roomSourceFD+i
		b.reserve(fd)
		b.open(name, unix.AT_FDCWD, p.path)
		b.place(name, unix.SYS_OPEN_TREE, fd, result(1), text(""), number(cloneTree|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH))
		flags := uint64(readOnly)
		if p.kind == written && p.copy == nil {
			flags = bareMount
		}
		b.set(name, fd, attributes(flags, 0, unix.MS_PRIVATE))
		if p.owned {
			b.setOwners(name, fd)
		}
	}
	return b.calls
}

// late reports whether a place is mounted by each call for itself: what lies in the private
// /tmp, what covers something, and what lies over a cover. A cover goes when the file under
// it is removed or replaced on the machine, so none is kept.
func (v view) late(p place) bool {
	if p.kind > written || v.tmp && fsroot.Contains(privateTmp, p.path) {
		return true
	}
	around, _ := v.around(p.path)
	return around.kind == kept
}

// room gives the calls that build what calls of one view have in common, and enter it.
func (v view) room() []Call {
	b := &builder{view: v, made: map[string]bool{".": true}}
	b.reserve(roomRootFD, roomStoreFD, roomWorkFD)
	b.add("keep mounts private", unix.SYS_MOUNT_SETATTR, number(unix.AT_FDCWD), text("/"), number(unix.AT_RECURSIVE), attributes(0, 0, unix.MS_PRIVATE), number(attributesSize))
	b.add("make files open to all", unix.SYS_UMASK, number(0))
	if v.host {
		b.place("show /", unix.SYS_OPEN_TREE, roomRootFD, number(unix.AT_FDCWD), text("/"), number(cloneTree|unix.AT_RECURSIVE))
	}
	b.store()
	b.spots()
	b.hosts()
	b.devices()
	if !v.host {
		b.place("private root", unix.SYS_OPEN_TREE, roomRootFD, number(roomStoreFD), text(storeRoot), number(cloneTree))
	}
	b.attach("private root", roomRootFD, roomStoreFD, storeRoot)
	b.places(func(p place) bool { return p.kind == shown && !v.late(p) && !v.copies(p) })
	b.set("make it read-only", roomRootFD, attributes(readOnly, 0, 0))
	b.place("private /dev", unix.SYS_OPEN_TREE, roomWorkFD, number(roomStoreFD), text(storeDev), number(cloneTree|unix.AT_RECURSIVE))
	b.add("private /dev", unix.SYS_MOUNT_SETATTR, number(roomWorkFD), text(""), number(unix.AT_EMPTY_PATH), attributes(readOnly, 0, 0), number(attributesSize))
	b.attach("private /dev", roomWorkFD, roomRootFD, "dev")
	b.places(func(p place) bool { return p.kind == written && !v.late(p) })
	b.add("enter the private root", unix.SYS_FCHDIR, number(roomRootFD))
	b.add("enter the private root", unix.SYS_PIVOT_ROOT, text("."), text("."))
	// The machine's root lies over the new one now: who goes up from the root would be
	// there. With it goes the store.
	b.add("leave the machine's root", unix.SYS_UMOUNT2, text("."), number(unix.MNT_DETACH))
	return b.calls
}

func (b *builder) add(name string, nr uintptr, args ...Arg) {
	b.calls = append(b.calls, Call{Name: name, NR: nr, Args: args})
}

// reserve takes numbers for what will be placed: what is opened next could have one of
// them already, and to give a descriptor its own number is an error.
func (b *builder) reserve(numbers ...int) {
	for _, n := range numbers {
		b.add("reserve descriptors", unix.SYS_DUP3, number(reaperStatusFD), number(n), number(unix.O_CLOEXEC))
	}
}

// place makes a call whose result is a descriptor, and gives it a number.
func (b *builder) place(name string, nr uintptr, as int, args ...Arg) {
	b.add(name, nr, args...)
	b.add(name, unix.SYS_DUP3, result(1), number(as), number(unix.O_CLOEXEC))
}

const (
	cloneTree      = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	bareMount      = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly       = bareMount | unix.MOUNT_ATTR_RDONLY
	attributesSize = 32
)

// attributes is a struct mount_attr without a user namespace.
func attributes(set, unset, propagation uint64) Arg { return attributesAs(set, unset, propagation, 0) }

func attributesAs(set, unset, propagation, owners uint64) Arg {
	var b []byte
	for _, w := range [...]uint64{set, unset, propagation, owners} {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return data(b)
}

// set gives the mount of a descriptor, and those in it, other attributes.
func (b *builder) set(name string, mount int, to Arg) {
	b.add(name, unix.SYS_MOUNT_SETATTR, number(mount), text(""), number(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE), to, number(attributesSize))
}

// seal makes the store read-only, and what is copied from it from here on.
func (b *builder) seal(name string) {
	b.add(name, unix.SYS_MOUNT_SETATTR, number(roomStoreFD), text(""), number(unix.AT_EMPTY_PATH), attributes(readOnly, 0, 0), number(attributesSize))
}

// setOwners has what is root's look like the command's, where the file system can.
func (b *builder) setOwners(name string, mount int) {
	b.add(name, unix.SYS_MOUNT_SETATTR, number(mount), text(""), number(unix.AT_EMPTY_PATH), attributesAs(unix.MOUNT_ATTR_IDMAP, 0, 0, roomOwnersFD), number(attributesSize))
	b.calls[len(b.calls)-1].Allow = unix.EINVAL
}

// fileSystem makes one of a type, without anything in it, as a mount that is nowhere.
func (b *builder) fileSystem(name, kind string, as int, flags uint64, options ...string) {
	b.place(name, unix.SYS_FSOPEN, roomWorkFD, text(kind), number(unix.FSOPEN_CLOEXEC))
	for _, o := range options {
		key, value, ok := strings.Cut(o, "=")
		if !ok {
			b.add(name, unix.SYS_FSCONFIG, number(roomWorkFD), number(unix.FSCONFIG_SET_FLAG), text(key), number(0), number(0))
			continue
		}
		b.add(name, unix.SYS_FSCONFIG, number(roomWorkFD), number(unix.FSCONFIG_SET_STRING), text(key), text(value), number(0))
	}
	b.add(name, unix.SYS_FSCONFIG, number(roomWorkFD), number(unix.FSCONFIG_CMD_CREATE), number(0), number(0), number(0))
	b.place(name, unix.SYS_FSMOUNT, as, number(roomWorkFD), number(unix.FSMOUNT_CLOEXEC), number(uintptr(flags)))
}

// attach puts the mount of a descriptor at a path that nobody else has a part in.
func (b *builder) attach(name string, mount, root int, at string) {
	b.add(name, unix.SYS_MOVE_MOUNT, number(mount), text(""), number(root), text(at), number(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// copyOf attaches a copy of one directory or file at another place.
func (b *builder) copyOf(name string, from int, path string, root int, at string) {
	b.add(name, unix.SYS_OPEN_TREE, number(from), text(path), number(cloneTree))
	b.add(name, unix.SYS_MOVE_MOUNT, result(1), text(""), number(root), text(at), number(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// store makes the private file system, and attaches it where there is nothing that is
// needed from here on: what is not attached cannot be copied.
func (b *builder) store() {
	const name = "private file system"
	b.fileSystem(name, "tmpfs", roomStoreFD, bareMount, "mode=0755")
	b.add(name, unix.SYS_MOVE_MOUNT, number(roomStoreFD), text(""), number(unix.AT_FDCWD), text("/proc"), number(unix.MOVE_MOUNT_F_EMPTY_PATH))
	for _, dir := range []string{storeRoot, storeDev, storeDev + "/pts"} {
		b.directory(dir)
	}
	if b.view.tmp {
		b.link(storeDev+"/shm", privateTmp)
	} else {
		b.directory(storeDev + "/shm")
	}
}

// directory makes one in the store, and those above it.
func (b *builder) directory(name string) {
	if b.made[name] {
		return
	}
	b.directory(path.Dir(name))
	b.add("make "+name, unix.SYS_MKDIRAT, number(roomStoreFD), text(name), number(0o755))
	b.made[name] = true
}

func (b *builder) file(name string, mode int) {
	b.add("make "+name, unix.SYS_MKNODAT, number(roomStoreFD), text(name), number(unix.S_IFREG|mode), number(0))
}

func (b *builder) link(at, to string) {
	b.add("link "+at, unix.SYS_SYMLINKAT, text(to), number(roomStoreFD), text(at))
}

// spots makes what the places and links are put on. Within a place that is given there
// is something to put them on.
func (b *builder) spots() {
	if b.view.host {
		return
	}
	for _, dir := range []string{"/dev", "/proc", privateTmp} {
		b.directory(path.Join(storeRoot, dir))
	}
	for i, p := range b.view.places {
		b.letGo(i)
		switch {
		case p.kind > written || b.view.late(p) || b.view.inside(p):
		case p.dir:
			b.directory(path.Join(storeRoot, p.path))
		case b.view.copies(p):
			b.directory(path.Join(storeRoot, path.Dir(p.path)))
			b.copyFile(p)
		default:
			b.directory(path.Join(storeRoot, path.Dir(p.path)))
			b.file(storeRoot+p.path, 0o644)
		}
	}
	for _, l := range b.view.links {
		if !b.view.tmp || !fsroot.Contains(privateTmp, l.Path) {
			b.directory(path.Join(storeRoot, path.Dir(l.Path)))
			b.link(storeRoot+l.Path, l.To)
		}
	}
}

// copyFile makes a file of the private root that holds what the one of the machine does.
func (b *builder) copyFile(p place) {
	name := "copy " + p.path
	b.openAs(name, unix.AT_FDCWD, p.path, unix.O_RDONLY|unix.O_NONBLOCK)
	b.add(name, unix.SYS_OPENAT, number(roomStoreFD), text(storeRoot+p.path), number(unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC), number(0o444))
	b.add(name, unix.SYS_SENDFILE, result(1), result(2), number(0), number(math.MaxInt32))
}

// copies reports whether a place is a copy of what the machine has there.
func (v view) copies(p place) bool { return p.setting() && !v.late(p) && !v.inside(p) }

// inside reports whether a place lies in another one that is given, or in all that is.
func (v view) inside(p place) bool {
	_, inside := v.around(p.path)
	return inside || v.host && !(v.tmp && fsroot.Contains(privateTmp, p.path))
}

// devices are those that programs take for granted.
func devices() []string { return []string{"full", "null", "random", "tty", "urandom", "zero"} }

// devices mounts those of the machine in the store.
func (b *builder) devices() {
	for _, name := range devices() {
		what, at := "device /dev/"+name, storeDev+"/"+name
		b.file(at, 0o666)
		b.place(what, unix.SYS_OPEN_TREE, roomWorkFD, number(unix.AT_FDCWD), text("/dev/"+name), number(cloneTree))
		b.set(what, roomWorkFD, attributes(unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY, 0, 0))
		b.attach(what, roomWorkFD, roomStoreFD, at)
	}
	for _, l := range []durward.Link{
		{Path: "/ptmx", To: "pts/ptmx"},
		{Path: "/fd", To: "/proc/self/fd"},
		{Path: "/stdin", To: "/proc/self/fd/0"},
		{Path: "/stdout", To: "/proc/self/fd/1"},
		{Path: "/stderr", To: "/proc/self/fd/2"},
	} {
		b.link(storeDev+l.Path, l.To)
	}
}

// places mounts some of the view, the outer before the inner.
func (b *builder) places(which func(place) bool) {
	for i, p := range b.view.places {
		b.letGo(i)
		if which(p) {
			b.give(p)
		}
	}
}

func (p place) what() string { return p.kind.String() + " " + p.path }

// give mounts a place. What is mounted on itself, to be kept as it is, is what the
// command would reach by that name.
func (b *builder) give(p place) {
	name, at := p.what(), strings.TrimPrefix(p.path, "/")
	switch p.kind {
	case hidden:
		b.hide(name, at, p.dir)
		return
	case pinned, kept:
		b.open(name, roomRootFD, at)
	default:
		b.open(name, unix.AT_FDCWD, p.path)
	}
	b.place(name, unix.SYS_OPEN_TREE, roomWorkFD, result(1), text(""), number(cloneTree|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH))
	switch p.kind {
	case kept:
		b.set(name, roomWorkFD, attributes(readOnly, 0, 0))
	case written:
		flags := uint64(bareMount)
		if p.copy != nil {
			flags = readOnly
		}
		b.set(name, roomWorkFD, attributes(flags, 0, 0))
	}
	if p.owned {
		b.setOwners(name, roomWorkFD)
	}
	if !b.view.inside(p) {
		b.attach(name, roomWorkFD, roomRootFD, at)
		return
	}
	b.open(name, roomRootFD, at)
	b.onto(name, number(roomWorkFD), 1)
}

// hide puts nothing at all over a place.
func (b *builder) hide(name, at string, dir bool) {
	from := hiddenFile
	if dir {
		from = hiddenDir
	}
	b.open(name, roomRootFD, at)
	b.add(name, unix.SYS_OPEN_TREE, number(roomStoreFD), text(from), number(cloneTree))
	b.onto(name, result(1), 2)
}

// onto attaches a mount at what was opened so many calls before.
func (b *builder) onto(name string, mount Arg, opened int) {
	b.add(name, unix.SYS_MOVE_MOUNT, mount, text(""), result(opened), text(""), number(unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
}

// open finds a path, with no symlink on the way.
func (b *builder) open(name string, root int, at string) { b.openAs(name, root, at, unix.O_PATH) }

func (b *builder) openAs(name string, root int, at string, flags uint64) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	var words []byte
	for _, w := range [...]uint64{how.Flags, how.Mode, how.Resolve} {
		words = binary.NativeEndian.AppendUint64(words, w)
	}
	b.add(name, unix.SYS_OPENAT2, number(root), text(at), data(words), number(len(words)))
}

// inodes bounds the number of files in so many bytes, in the words of an option.
func inodes(size int64) string { return fmt.Sprintf("nr_inodes=%d", max(size/4096, 1024)) }
