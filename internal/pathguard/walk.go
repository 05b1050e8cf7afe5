//go:build linux || darwin

package pathguard

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/durward/durward/internal/fsroot"
	"golang.org/x/sys/unix"
)

const maxLinks = 40 // as the kernel counts them

// A walk is a position on the way along a path, from the root of the machine. It opens one
// component after the other without following, reads links and takes their components in
// turn, and goes up by returning to a directory that it came through.
type walk struct {
	dirs  []int    // the way here, "/" first; or what is at the end, where no step was taken
	names []string // of the directories but for "/"
	rest  []string // components still to go, the next one last
	links int      // links that may still be followed
	last  lastLink

	// leaf is set when the walk came to something other than a directory.
	leaf      string
	leafType  fs.FileMode
	leafLinks uint64
	leafSeen  fsroot.Look // of a regular file, where one question told all of it
}

func newWalk(l lastLink) *walk { return &walk{links: maxLinks, last: l} }

func (w *walk) here() int { return w.dirs[len(w.dirs)-1] }

func (w *walk) close() {
	for _, fd := range w.dirs {
		unix.Close(fd)
	}
	w.dirs = nil
}

// along walks an absolute path to its end. That what is left of it names nothing is no
// error; after one, the end is where the walk got, and what was still to go behind it.
func (w *walk) along(path string) error {
	if w.straight(path) {
		return nil
	}
	top, err := openat(unix.AT_FDCWD, "/")
	if err != nil {
		return err
	}
	w.dirs = []int{top}
	w.take(path)
	err = w.run()
	if err != unix.ENOENT {
		return err
	}
	if slices.Contains(w.rest, "..") {
		return errDotDot
	}
	return nil
}

// take puts the components of path before those still to go.
func (w *walk) take(path string) {
	parts := strings.Split(path, "/")
	slices.Reverse(parts)
	w.rest = append(w.rest, parts...)
}

// run goes on until nothing is left, or leaves what it could not pass.
func (w *walk) run() error {
	for len(w.rest) > 0 {
		if w.leaf != "" {
			return unix.ENOTDIR
		}
		last := len(w.rest) - 1
		name := w.rest[last]
		w.rest = w.rest[:last]
		if err := w.step(name); err != nil {
			w.rest = append(w.rest, name)
			return err
		}
	}
	return nil
}

func (w *walk) step(name string) error {
	switch name {
	case "": // between two slashes, or at an end
		return nil
	case ".":
		return searchable(w.here())
	case "..":
		return w.up()
	}
	return w.down(name)
}

// up goes to the parent, which of "/" is itself.
func (w *walk) up() error {
	if err := searchable(w.here()); err != nil {
		return err
	}
	if last := len(w.names) - 1; last >= 0 {
		unix.Close(w.here())
		w.dirs, w.names = w.dirs[:last+1], w.names[:last]
	}
	return nil
}

func (w *walk) down(name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(w.here(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return w.enter(name)
	case unix.S_IFLNK:
		if len(w.rest) > 0 || w.last == following {
			return w.follow(name)
		}
	}
	w.leaf, w.leafType, w.leafLinks = name, typeOf(uint32(st.Mode)), uint64(st.Nlink)
	return nil
}

func (w *walk) enter(name string) error {
	fd, err := openat(w.here(), name)
	switch err {
	case nil:
		w.dirs, w.names = append(w.dirs, fd), append(w.names, name)
		return nil
	case unix.ELOOP, unix.ENOTDIR, unix.ENOENT: // no longer the directory that it was
		return errChanged
	}
	return err
}

func (w *walk) follow(name string) error {
	if w.links--; w.links < 0 {
		return unix.ELOOP
	}
	if isMagic(w.here()) {
		return errMagic
	}
	buf := make([]byte, maxPathBytes+1)
	n, err := unix.Readlinkat(w.here(), name, buf)
	switch {
	case err == unix.EINVAL, err == unix.ENOENT: // no longer the link that it was
		return errChanged
	case err != nil:
		return err
	case n > maxPathBytes:
		return unix.ENAMETOOLONG
	}
	to := string(buf[:n])
	if strings.HasPrefix(to, "/") {
		w.restart()
	}
	w.take(to)
	return nil
}

// restart goes back to the root of the machine.
func (w *walk) restart() {
	for _, fd := range w.dirs[1:] {
		unix.Close(fd)
	}
	w.dirs, w.names = w.dirs[:1], nil
}

// end tells where the walk ended. What was still to go counts up to the first "..". A walk that
// took no step ended nowhere.
func (w *walk) end() end {
	if len(w.dirs) == 0 {
		return end{}
	}
	e := end{mode: fs.ModeDir}
	names := slices.Clone(w.names)
	if w.leaf != "" {
		names = append(names, w.leaf)
		e.mode, e.links, e.seen = w.leafType, w.leafLinks, w.leafSeen
	}
	for _, name := range slices.Backward(w.rest) {
		if name == ".." {
			e.dotted = true
			break
		}
		if name != "" && name != "." {
			names = append(names, name)
			e.missing++
		}
	}
	e.path = "/" + strings.Join(names, "/")
	return e
}

func typeOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFLNK:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}

// searchable asks what the kernel asks before it looks a name up in a directory, "." and
// ".." included.
func searchable(dir int) error {
	var st unix.Stat_t
	return unix.Fstatat(dir, ".", &st, unix.AT_SYMLINK_NOFOLLOW)
}

// openat opens a directory as a place to go on from.
func openat(dir int, name string) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, handleFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
