//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// private gives the calls that mount what only one call has, in the root of its room.
func (s shape) private(v view) []Call {
	b := &builder{view: v, made: map[string]bool{privateTmp: true, "/": true}}
	b.reserve(reaperRulesFD, roomRootFD, roomStoreFD)
	b.add("make files open to all", unix.SYS_UMASK, number(0))
	b.place("private root", unix.SYS_OPENAT, roomRootFD, number(unix.AT_FDCWD), text("/"), number(unix.O_PATH|unix.O_CLOEXEC))
	b.temporary(s.limits.Tmp)
	b.processes()
	b.terminals()
	b.late()
	b.open("enter the working directory", unix.AT_FDCWD, s.dir)
	b.add("enter the working directory", unix.SYS_FCHDIR, result(1))
	keep := []int{reaperProcFD}
	if s.program != "" { // what is executed has the rights of where it lies in the room
		b.open("open the program", unix.AT_FDCWD, s.program)
		b.add("open the program", unix.SYS_DUP3, result(1), number(reaperProgramFD), number(0))
	}
	if s.abi > 0 {
		b.landlock(s)
		keep = append(keep, reaperRulesFD)
	}
	for _, fd := range keep { // for the reaper, who gives them on
		b.add("keep descriptors", unix.SYS_FCNTL, number(fd), number(unix.F_SETFD), number(0))
	}
	return b.calls
}

// temporary mounts /tmp and /dev/shm, which share one limit. What holds both is covered
// by one of them.
func (b *builder) temporary(size int64) {
	const name = "private /tmp"
	options := []string{"mode=0755"}
	if size > 0 {
		options = append(options, fmt.Sprintf("size=%d", size), inodes(size))
	}
	b.fileSystem(name, "tmpfs", roomStoreFD, bareMount, options...)
	b.attach(name, roomStoreFD, roomRootFD, "dev/shm")
	b.add(name, unix.SYS_MKDIRAT, number(roomStoreFD), text("tmp"), number(0o1777))
	b.add(name, unix.SYS_MKDIRAT, number(roomStoreFD), text("shm"), number(0o1777))
	b.hiding()
	if b.view.tmp {
		b.copyOf(name, roomStoreFD, "tmp", roomRootFD, "tmp")
	}
	b.copyOf("private /dev/shm", roomStoreFD, "shm", roomRootFD, "dev/shm")
	b.seal(name)
}

// processes mounts /proc of the call's own processes, to be read, over the one that can be
// written, and hides what is the machine's.
func (b *builder) processes() {
	const name = "private /proc"
	b.attach(name, reaperProcFD, roomRootFD, "proc")
	b.place(name, unix.SYS_OPEN_TREE, roomWorkFD, number(reaperProcFD), text(""), number(cloneTree|unix.AT_EMPTY_PATH))
	b.set(name, roomWorkFD, attributes(readOnly, 0, 0))
	b.attach(name, roomWorkFD, roomRootFD, "proc")
	for _, file := range machineFiles() {
		b.copyOf("hide /proc/"+file, roomStoreFD, hiddenFile, roomRootFD, "proc/"+file)
	}
}

// machineFiles are those of /proc that tell of the machine or rule it, as far as this
// kernel has them.
var machineFiles = sync.OnceValue(func() []string {
	files := []string{"kcore", "keys", "timer_list", "sysrq-trigger"}
	return slices.DeleteFunc(files, func(name string) bool {
		_, err := os.Lstat("/proc/" + name)
		return err != nil
	})
})

// terminals mounts pseudo-terminals of its own.
func (b *builder) terminals() {
	const name = "private terminals"
	b.fileSystem(name, "devpts", roomWorkFD, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "ptmxmode=0666", "mode=0620")
	b.attach(name, roomWorkFD, roomRootFD, "dev/pts")
}

// late mounts the places below the private /tmp.
func (b *builder) late() {
	source := roomSourceFD
	for _, p := range b.view.places {
		switch {
		case !b.view.late(p):
		case p.kind > written:
			b.give(p)
		case b.view.inside(p):
			b.open(p.what(), roomRootFD, strings.TrimPrefix(p.path, "/"))
			b.onto(p.what(), number(source), 1)
			source++
		default:
			b.spot(p)
			b.attach(p.what(), source, roomRootFD, strings.TrimPrefix(p.path, "/"))
			source++
		}
	}
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
	allow("/dev/shm", true, landlock.Read|landlock.Write)
	if b.view.tmp {
		allow(privateTmp, true, landlock.Read|landlock.Write|s.runsTmp())
	}
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
