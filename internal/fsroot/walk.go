//go:build linux || darwin

package fsroot

import (
	"errors"
	"slices"
	"strings"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

const (
	maxLinks    = 40 // as the kernel counts them
	maxAttempts = 4
)

// errMoved says that a component was not what it had been a moment before.
var errMoved = errors.New("the tree changed while it was walked")

// walker holds the containment itself: it opens one component after the other without
// following, reads links and takes their components in turn, and goes up by returning
// to a descriptor it came through. The kernel is never handed a ".." or a link.
type walker struct{}

func (walker) file(root int, name string, l links) (int, error) {
	return attempt(root, name, l, func(w *walk) (int, error) {
		if w.leaf == "" || !isRegular(&w.leafStat) {
			return -1, refusal(durward.NotRegularFile)
		}
		return moved(openat(w.here(), w.leaf, readFlags|unix.O_NOFOLLOW))
	})
}

func (walker) dir(root int, name string, l links) (int, error) {
	return attempt(root, name, l, openEnd)
}

// openEnd opens the directory that a walk has come to.
func openEnd(w *walk) (int, error) {
	if w.leaf != "" {
		return -1, unix.ENOTDIR
	}
	return openat(w.here(), ".", listFlags)
}

// attempt walks and opens, from the start again while the tree changes under it.
func attempt(root int, name string, l links, open func(*walk) (int, error)) (int, error) {
	for range maxAttempts {
		fd, err := walkOnce(root, name, l, open)
		if err != errMoved {
			return fd, err
		}
	}
	return -1, refusal(durward.OutsideRoot)
}

func walkOnce(root int, name string, l links, open func(*walk) (int, error)) (int, error) {
	w := &walk{dirs: []int{root}, plain: l == refused, links: maxLinks}
	defer w.close()
	if err := w.take(name); err != nil {
		return -1, err
	}
	if err := w.run(); err != nil {
		return -1, err
	}
	return open(w)
}

// A walk is a position below a root.
type walk struct {
	dirs  []int    // the way here; dirs[0] is the root and not ours to close
	rest  []string // components still to go, the next one last
	plain bool     // links are refused
	links int      // links that may still be followed

	// leaf is set when the walk ended at something other than a directory.
	leaf     string
	leafStat unix.Stat_t
}

func (w *walk) here() int { return w.dirs[len(w.dirs)-1] }

func (w *walk) close() {
	for _, fd := range w.dirs[1:] {
		unix.Close(fd)
	}
}

// take puts the components of path before those still to go.
func (w *walk) take(path string) error {
	if strings.HasPrefix(path, "/") {
		return refusal(durward.OutsideRoot)
	}
	parts := strings.Split(path, "/")
	slices.Reverse(parts)
	w.rest = append(w.rest, parts...)
	return nil
}

func (w *walk) run() error {
	for len(w.rest) > 0 {
		if w.leaf != "" {
			return unix.ENOTDIR
		}
		last := len(w.rest) - 1
		name := w.rest[last]
		w.rest = w.rest[:last]
		if err := w.step(name); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) step(name string) error {
	switch name {
	case "": // between two slashes, or after the last
		return nil
	case ".":
		return searchable(w.here())
	case "..":
		return w.up()
	}
	return w.down(name)
}

func (w *walk) up() error {
	if err := searchable(w.here()); err != nil {
		return err
	}
	last := len(w.dirs) - 1
	if last == 0 {
		return refusal(durward.OutsideRoot)
	}
	unix.Close(w.dirs[last])
	w.dirs = w.dirs[:last]
	return nil
}

func (w *walk) down(name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(w.here(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return w.follow(name)
	case unix.S_IFDIR:
		return w.enter(name)
	}
	w.leaf, w.leafStat = name, st
	return nil
}

func (w *walk) enter(name string) error {
	fd, err := moved(openat(w.here(), name, handleFlags|unix.O_NOFOLLOW))
	if err != nil {
		return err
	}
	w.dirs = append(w.dirs, fd)
	return nil
}

func (w *walk) follow(name string) error {
	if w.plain {
		return refusal(durward.SymlinkTarget)
	}
	if w.links--; w.links < 0 {
		return unix.ELOOP
	}
	buf := make([]byte, maxNameBytes+1)
	n, err := unix.Readlinkat(w.here(), name, buf)
	switch {
	case err == unix.EINVAL: // no longer a link
		return errMoved
	case err != nil:
		return err
	case n > maxNameBytes:
		return unix.ENAMETOOLONG
	}
	return w.take(string(buf[:n]))
}

// moved tells a component that was replaced after it was looked at from other errors.
func moved(fd int, err error) (int, error) {
	switch err {
	case unix.ELOOP, unix.ENOTDIR, unix.ENOENT, unix.ENXIO:
		return -1, errMoved
	}
	return fd, err
}

// searchable asks what the kernel asks before it looks a name up in a directory, "."
// and ".." included.
func searchable(dir int) error {
	var st unix.Stat_t
	return unix.Fstatat(dir, ".", &st, unix.AT_SYMLINK_NOFOLLOW)
}
