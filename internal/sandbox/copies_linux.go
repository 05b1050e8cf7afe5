//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// With copy-on-write a directory that can be written is shown through overlayfs: the
// machine's, read-only, is the lower layer, and what the command writes lands in an upper
// one, in a file system of the call's own. The runtime gets a descriptor of that and can
// look at it when the command is dead.
//
//	0/upper  what was written in the first of the directories
//	0/work   overlayfs's own

// stepCopy begins the names of the steps that make one.
const stepCopy = "copy on write of "

// copy gives each directory that can be written a layer of its own. What lies in another
// one lands with all that is written there.
func (v *viewer) copy() {
	if !v.files.CopyOnWrite {
		return
	}
	var list []place
	for _, p := range v.places {
		outer, _ := v.around(p.path)
		switch inside := outer.kind == written; {
		case p.kind != written:
		case inside && p.device != outer.device:
			v.fail(durward.SandboxUnavailable, "leave it out of filesystem.write, or "+outer.path, "%s is another file system than %s around it", p.path, outer.path)
		case inside:
			continue
		case !p.dir:
			v.fail(durward.SandboxUnavailable, "name the directory that it is in", "%s is no directory; what is written in one can land elsewhere, and nothing else", p.path)
		default:
			p.copy = v.layerOf(p)
		}
		list = append(list, p)
	}
	v.places = list
}

// A layer is what the top of an upper layer has to look like: what it lies over.
type layer struct {
	uid, gid, mode uint32
}

// String marks a copy among the places of a view.
func (l *layer) String() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(" as a copy %d:%d:%o", l.uid, l.gid, l.mode)
}

func (v *viewer) layerOf(p place) *layer {
	var st unix.Stat_t
	if err := unix.Lstat(p.path, &st); err != nil {
		v.fail(durward.SandboxError, "make it what it was, or reload the policy", "%s is not what it was when the policy was read: %w", p.path, err)
	}
	l := &layer{st.Uid, st.Gid, st.Mode & 0o1777}
	if p.owned {
		l.uid, l.gid = v.id.uid, v.id.gid
	}
	return l
}

// layered lists them.
func (v view) layered() []place {
	var list []place
	for _, p := range v.places {
		if p.copy != nil {
			list = append(list, p)
		}
	}
	return list
}

// copyStore makes the file system of the upper layers. It stands where terminals are about
// to cover it.
func (b *builder) copyStore(size int64) {
	const name = "copy on write"
	if len(b.view.layered()) == 0 {
		return
	}
	options := []string{"mode=0700"}
	if size > 0 {
		options = append(options, fmt.Sprintf("size=%d", size), inodes(size))
	}
	b.reserve(roomCopyFD, roomLowerFD)
	b.fileSystem(name, "tmpfs", roomCopyFD, bareMount, options...)
	b.attach(name, roomCopyFD, roomRootFD, "dev/pts")
}

// overlay mounts a copy over what it is of, and hands its upper layer over. Who is not root
// may not keep notes as overlayfs usually does.
func (b *builder) overlay(p place, root bool) {
	name, dir := stepCopy+p.path, strconv.Itoa(b.layers)
	b.layers++
	for _, made := range []string{dir, dir + "/upper", dir + "/work"} {
		b.add(name, unix.SYS_MKDIRAT, number(roomCopyFD), text(made), number(0o700))
	}
	if root {
		b.add(name, unix.SYS_FCHOWNAT, number(roomCopyFD), text(dir+"/upper"), number(p.copy.uid), number(p.copy.gid), number(0))
	}
	b.add(name, unix.SYS_FCHMODAT, number(roomCopyFD), text(dir+"/upper"), number(p.copy.mode))
	b.open(name, roomRootFD, strings.TrimPrefix(p.path, "/"))
	b.add(name, unix.SYS_DUP3, result(1), number(roomLowerFD), number(unix.O_CLOEXEC))
	own := "/proc/self/fd/" + strconv.Itoa(roomCopyFD) + "/" + dir
	options := []string{
		"lowerdir=/proc/self/fd/" + strconv.Itoa(roomLowerFD), "upperdir=" + own + "/upper", "workdir=" + own + "/work",
		"index=off", "metacopy=off", "redirect_dir=nofollow", "xino=off",
	}
	if !root {
		options = append(options, "userxattr")
	}
	b.fileSystem(name, "overlay", roomWorkFD, bareMount, options...)
	b.add(name, unix.SYS_MOVE_MOUNT, number(roomWorkFD), text(""), number(roomLowerFD), text(""), number(unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
	b.place(name, unix.SYS_OPENAT, roomWorkFD, number(roomCopyFD), text(dir+"/upper"), number(unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC))
	b.add(name, unix.SYS_SENDMSG, number(roomHandFD), handover(roomWorkFD), number(unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL))
}
