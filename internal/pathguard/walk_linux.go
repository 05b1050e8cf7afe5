package pathguard

import (
	"path/filepath"
	"strings"

	"github.com/durward/durward/internal/fsroot"
	"golang.org/x/sys/unix"
)

const handleFlags = unix.O_PATH

// procRoot is the number of the top directory of any /proc.
const procRoot = 1

// isMagic reports whether links in a directory may lead where their text does not say, as
// those of a process in /proc do. The links at the top of /proc are text.
func isMagic(dir int) bool {
	var on unix.Statfs_t
	if unix.Fstatfs(dir, &on) != nil {
		return true
	}
	if on.Type != unix.PROC_SUPER_MAGIC {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(dir, &st) != nil || st.Ino != procRoot
}

// straight goes along a path that leads where its text says: it is absolute and written
// without detours, and the kernel finds no link on it. If it reports false the path is still
// to be walked.
func (w *walk) straight(path string) bool {
	if path != filepath.Clean(path) {
		return false
	}
	return w.jump(path, 0, 0)
}

// resolveCached has the kernel find only what it remembers. Before Linux 5.12 it finds
// nothing so.
const resolveCached = 0x20

// remembered is straight for what the kernel knows without asking a file system, so that
// nothing is waited for.
func (w *walk) remembered(path string) bool {
	return path == filepath.Clean(path) && w.jump(path, resolveCached, unix.AT_STATX_DONT_SYNC)
}

// jump goes along a path by one question.
func (w *walk) jump(path string, resolve uint64, look int) bool {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | resolve}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return false
	}
	var x unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH|look, unix.STATX_TYPE|unix.STATX_NLINK|fsroot.SeenMask, &x) != nil {
		unix.Close(fd)
		return false
	}
	w.dirs = []int{fd}
	w.arrive(path, x)
	return true
}

// arrive makes the walk one that went along a path without detours to what it names.
func (w *walk) arrive(path string, x unix.Statx_t) {
	if path == "/" {
		return
	}
	names := strings.Split(path[1:], "/")
	if x.Mode&unix.S_IFMT != unix.S_IFDIR {
		last := len(names) - 1
		w.leaf, w.leafType, w.leafLinks = names[last], typeOf(uint32(x.Mode)), uint64(x.Nlink)
		names = names[:last]
		if w.leafType.IsRegular() {
			w.leafSeen = fsroot.Seen(&x)
		}
	}
	w.names = names
}
