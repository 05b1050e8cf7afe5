package confined

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
)

// An identity tells a file or directory from all others, whatever it is called. The number
// of an inode is given again; born, in nanoseconds, is zero where the file system does not
// know it.
type identity struct {
	major, minor uint32
	inode        uint64
	born         int64
}

// identify looks at a name in an open directory, or at what is open where the name is
// empty. Without follow it looks at a symlink itself.
func identify(dir int, name string, follow bool) (id identity, typ uint16, err error) {
	flags := unix.AT_EMPTY_PATH | unix.AT_NO_AUTOMOUNT
	if !follow {
		flags |= unix.AT_SYMLINK_NOFOLLOW
	}
	var x unix.Statx_t
	for {
		err = unix.Statx(dir, name, flags, unix.STATX_TYPE|unix.STATX_INO|unix.STATX_BTIME, &x)
		if err != unix.EINTR {
			break
		}
	}
	id = identity{major: x.Dev_major, minor: x.Dev_minor, inode: x.Ino, born: x.Btime.Sec*1e9 + int64(x.Btime.Nsec)}
	return id, x.Mode & unix.S_IFMT, err
}

// A lineage is a place with all the directories around it.
type lineage struct {
	// names lead to it from the root. ids[i] is what the first i of them lead to; what is
	// still to be made has none.
	names []string
	ids   []identity
}

// maxLooks is how often a place is looked at that moves meanwhile.
const maxLooks = 4

var errMoved = errors.New("it was moved while it was looked at")

// lineageOf finds out where a place is, from its descriptor.
func lineageOf(p fsroot.Place) (*lineage, error) {
	for range maxLooks {
		l, err := look(p)
		if err != errMoved {
			return l, err
		}
	}
	return nil, errMoved
}

func look(p fsroot.Place) (*lineage, error) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(p.FD))
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(path) { // it is not beneath our root at all
		return nil, errMoved
	}
	id, typ, err := identify(p.FD, "", false)
	if err != nil {
		return nil, err
	}
	if typ != unix.S_IFDIR {
		return lookAround(path, id)
	}
	l := &lineage{names: namesOf(path)}
	if err := l.climb(p.FD); err != nil {
		return nil, err
	}
	return l, l.descend(p)
}

// lookAround finds the directory that an open file lies in. No descriptor of a file leads
// there, but its path does, and whether it does is seen by what has the file's name there.
func lookAround(path string, file identity) (*lineage, error) {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if gone(err) {
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	id, _, err := identify(dir, filepath.Base(path), false)
	if gone(err) || err == nil && id != file {
		return nil, errMoved
	}
	l := &lineage{names: namesOf(filepath.Dir(path))}
	if err == nil {
		err = l.climb(dir)
	}
	l.names, l.ids = append(l.names, filepath.Base(path)), append(l.ids, file)
	return l, err
}

// climb notes the directory and all around it, up to the root. A directory finds those it
// lies in by "..", whatever they are called now.
func (l *lineage) climb(dir int) error {
	l.ids = make([]identity, len(l.names)+1)
	up := "."
	for i := len(l.names); i >= 0; i-- {
		var err error
		if l.ids[i], _, err = identify(dir, up, false); err != nil {
			return err
		}
		up += "/.."
	}
	root, _, err := identify(unix.AT_FDCWD, "/", false)
	if err == nil && root != l.ids[0] {
		err = errMoved
	}
	return err
}

// descend adds what is to be made or replaced.
func (l *lineage) descend(p fsroot.Place) error {
	l.names = append(l.names, p.Names...)
	if len(p.Names) == 0 {
		return nil
	}
	id, _, err := identify(p.FD, p.Names[0], false)
	if err == nil {
		l.ids = append(l.ids, id)
	}
	if gone(err) {
		return nil
	}
	return err
}

// path is what the first n names make.
func (l *lineage) path(n int) string { return "/" + strings.Join(l.names[:n], "/") }

func namesOf(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" })
}

func gone(err error) bool { return err == unix.ENOENT || err == unix.ENOTDIR }

// untold is for a place whose whereabouts cannot be found out.
func untold(op string, err error) error {
	switch {
	case errors.Is(err, errMoved):
		return &durward.Error{Reason: durward.OutsideRoot, Op: op, Hint: "try again when nothing is being moved", Retry: true, Err: err}
	case errors.Is(err, unix.ENAMETOOLONG):
		return refused(op, durward.PathTooLong, "", "use a path that is less deep")
	}
	return &durward.Error{Reason: durward.SandboxError, Op: op, Rule: "filesystem.deny", Hint: "durward needs /proc to know what it has opened", Err: err}
}
