//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// private gives the calls that mount what only one call has, in the root of its room: what
// needs to know no more than the view, and what comes after it.
func (s shape) private(v view) (ahead, then []Call) {
	b := &builder{view: v, made: map[string]bool{privateTmp: true, "/": true}}
	b.reserve(reaperRulesFD, roomRootFD, roomStoreFD)
	b.add("make files open to all", unix.SYS_UMASK, number(0))
	b.privateRoot()
	b.temporary(s.limits.Tmp)
	b.processes(strings.Fields(s.machineFiles))
	b.copyStore(s.limits.Tmp)
	b.hiding()
	b.terminals()
	for _, p := range v.layered() {
		if !v.late(p) {
			b.overlay(p, s.own.uid == 0)
		}
	}
	b.taken(s.own.uid == 0, func(p place) bool { return !v.overCover(p) })
	keep := []int{reaperProcFD}
	if s.abi > 0 {
		b.landlock(s)
		keep = append(keep, reaperRulesFD)
	}
	b.keep(keep...) // for the reaper, who gives them on
	ahead, b.calls = b.calls, nil
	b.covers(s.own.uid == 0)
	b.open("enter the working directory", unix.AT_FDCWD, s.dir)
	b.add("enter the working directory", unix.SYS_FCHDIR, result(1))
	if s.program != "" { // what is executed has the rights of where it lies in the room
		b.open("open the program", unix.AT_FDCWD, s.program)
		b.add("open the program", unix.SYS_DUP3, result(1), number(reaperProgramFD), number(0))
	}
	return ahead, b.calls
}

// privateRoot opens the root of the room.
func (b *builder) privateRoot() {
	b.place("private root", unix.SYS_OPENAT, roomRootFD, number(unix.AT_FDCWD), text("/"), number(unix.O_PATH|unix.O_CLOEXEC))
}

// keep has descriptors stay open when the reaper is executed.
func (b *builder) keep(fds ...int) {
	for _, fd := range fds {
		b.add("keep descriptors", unix.SYS_FCNTL, number(fd), number(unix.F_SETFD), number(0))
	}
}

// temporary mounts /tmp, which /dev/shm leads to; where /tmp is the machine's, it is that.
func (b *builder) temporary(size int64) {
	const name = "private /tmp"
	options := []string{"mode=1777"}
	if size > 0 {
		options = append(options, fmt.Sprintf("size=%d", size), inodes(size))
	}
	b.fileSystem(name, "tmpfs", roomStoreFD, bareMount, options...)
	b.attach(name, roomStoreFD, roomRootFD, strings.TrimPrefix(b.view.temporary(), "/"))
}

// processes mounts /proc of the call's own processes, to be read, and has what is the
// machine's lead nowhere.
func (b *builder) processes(machineFiles []string) {
	b.attach("private /proc", roomProcFD, roomRootFD, "proc")
	for _, file := range machineFiles {
		b.copyOf("hide /proc/"+file, roomRootFD, "dev/null", roomRootFD, "proc/"+file)
	}
}

// hiding makes what stands over what is hidden, where terminals are about to cover it.
func (b *builder) hiding() {
	const name = "private file system"
	if !b.view.keepsStore() {
		return
	}
	b.fileSystem(name, "tmpfs", roomStoreFD, bareMount, "mode=0755")
	b.attach(name, roomStoreFD, roomRootFD, "dev/pts")
	b.add("make "+hiddenDir, unix.SYS_MKDIRAT, number(roomStoreFD), text(hiddenDir), number(0))
	b.file(hiddenFile, 0)
	if b.view.coversHosts() {
		b.writeHosts(hostsStore)
		// A mount through which somebody writes cannot be made read-only: another one of the
		// same file system can.
		b.place(name, unix.SYS_OPEN_TREE, roomStoreFD, number(roomStoreFD), text(""), number(cloneTree|unix.AT_EMPTY_PATH))
		b.attach(name, roomStoreFD, roomRootFD, "dev/pts")
	}
	b.seal(name)
}

// terminals mounts pseudo-terminals of its own.
func (b *builder) terminals() {
	const name = "private terminals"
	b.fileSystem(name, "devpts", roomWorkFD, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "ptmxmode=0666", "mode=0620")
	b.attach(name, roomWorkFD, roomRootFD, "dev/pts")
}

// taken mounts some of the places that were taken up.
func (b *builder) taken(root bool, which func(place) bool) {
	for i, p := range b.view.taken() {
		b.letGo(i)
		if which(p) {
			b.giveTaken(p, roomSourceFD+i, root)
		}
	}
}

func (b *builder) giveTaken(p place, source int, root bool) {
	if b.view.inside(p) {
		b.open(p.what(), roomRootFD, strings.TrimPrefix(p.path, "/"))
		b.onto(p.what(), number(source), 1)
	} else {
		b.spot(p)
		b.attach(p.what(), source, roomRootFD, strings.TrimPrefix(p.path, "/"))
	}
	if p.copy != nil {
		b.overlay(p, root)
	}
}

// covers mounts what covers something, and what lies over that, the outer before the inner.
func (b *builder) covers(root bool) {
	b.coverHosts()
	source := roomSourceFD - 1
	for i, p := range b.view.places {
		b.letGo(i)
		if p.kind <= written && b.view.late(p) {
			source++
		}
		switch {
		case p.kind > written:
			b.give(p)
		case b.view.late(p) && b.view.overCover(p):
			b.giveTaken(p, source, root)
		}
	}
}

// overCover reports whether a place lies in one that is a cover.
func (v view) overCover(p place) bool {
	return slices.ContainsFunc(v.places, func(outer place) bool {
		return outer.kind == kept && outer.path != p.path && fsroot.Contains(outer.path, p.path)
	})
}

// spot makes what a place below the private /tmp is put on.
func (b *builder) spot(p place) {
	dir := p.path
	if !p.dir {
		dir = path.Dir(dir)
	}
	b.below(dir)
	if !p.dir {
		b.add("make "+p.path, unix.SYS_MKNODAT, number(roomRootFD), text(strings.TrimPrefix(p.path, "/")), number(unix.S_IFREG|0o644), number(0))
	}
}

func (b *builder) below(dir string) {
	if b.made[dir] {
		return
	}
	b.below(path.Dir(dir))
	b.add("make "+dir, unix.SYS_MKDIRAT, number(roomRootFD), text(strings.TrimPrefix(dir, "/")), number(0o755))
	b.made[dir] = true
}

// landlock makes the ruleset of the call, now that all it names is mounted. The mounts
// hold already what can be read; so a rule for the root gives that.
func (b *builder) landlock(s shape) {
	const name = "landlock"
	rules := landlock.Rules{Network: s.network != durward.NetNone}.Attributes(s.abi)
	b.place(name, unix.SYS_LANDLOCK_CREATE_RULESET, reaperRulesFD, data(rules), number(len(rules)), number(0))
	allow := func(path string, dir bool, rights landlock.Right) {
		what, rule := name+": "+rights.String()+" "+path, s.abi.Beneath(rights, dir, roomWorkFD)
		b.place(what, unix.SYS_OPENAT, roomWorkFD, number(unix.AT_FDCWD), text(path), number(unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC))
		b.add(what, unix.SYS_LANDLOCK_ADD_RULE, number(reaperRulesFD), number(unix.LANDLOCK_RULE_PATH_BENEATH), data(rule), number(0))
	}
	everywhere := landlock.Read
	if s.runsAll {
		everywhere |= landlock.Execute
	}
	allow("/", true, everywhere)
	allow("/dev", true, landlock.Read|landlock.Device)
	allow(b.view.temporary(), true, landlock.Read|landlock.Write|s.runsTmp())
	for _, p := range b.view.places {
		if p.kind == written {
			allow(p.path, p.dir, landlock.Read|landlock.Write)
		}
	}
	for _, path := range b.view.sockets {
		allow(path, false, landlock.Connect)
	}
	for _, p := range b.view.exec {
		if !s.runsAll {
			allow(p.path, p.dir, landlock.Execute)
		}
	}
}
