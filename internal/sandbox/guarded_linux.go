//go:build linux && (amd64 || arm64)

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A guarded path is one that has to stay as it is.
type guarded struct {
	path string
	// device, inode and born are of what stands there; inode is zero where nothing does.
	device, inode uint64
	born          int64
	// link and owner are of a symlink, so that it can be put back.
	link     string
	uid, gid int
	// made is whether the command could have made it: then it is put right afterwards.
	made bool

	// dir is the nearest directory that there was before the command, and below the rest of
	// the path. What happens there is judged from dir, by no path.
	dir   *os.File
	below string
}

// guardedAs is a path as it is now; info is nil where nothing stands there.
func guardedAs(path string, info os.FileInfo, made bool) guarded {
	if info == nil {
		return guarded{path: path, made: made}
	}
	p := placeOf(shown, path, info)
	g := guarded{path: path, device: p.device, inode: p.inode, born: p.born, made: made}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode()&fs.ModeSymlink != 0 {
		g.uid, g.gid = int(st.Uid), int(st.Gid)
		g.link, _ = os.Readlink(path) // of one that is gone the next look tells
	}
	return g
}

func guardError(err error, hint string) error {
	return &durward.Error{
		Reason: durward.SandboxError, Op: "sandbox", Rule: "filesystem.protect", Hint: hint,
		Err: fmt.Errorf("watch protected paths: %w", err),
	}
}

// find gives the path the nearest directory that is there, with no symlink on the way: one
// of those that are open, or one more.
func (p *guarded) find(opened map[string]*os.File) (err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for dir := filepath.Dir(p.path); ; dir = filepath.Dir(dir) {
		fd := -1
		if opened[dir] == nil {
			fd, err = unix.Openat2(unix.AT_FDCWD, dir, &how)
		}
		if fd >= 0 {
			opened[dir] = os.NewFile(uintptr(fd), dir)
		}
		if p.dir = opened[dir]; p.dir != nil {
			p.below, err = filepath.Rel(dir, p.path)
			return err
		}
		if dir == "/" || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			return guardError(&os.PathError{Op: "open", Path: dir, Err: err}, "make the directories above it ones that you can enter")
		}
	}
}

// look goes down to the path from the directory that there was, and through no symlink.
// It gives what stands there, and the topmost name that there was not before; no name
// where nothing stands in the way.
func (p *guarded) look() (now unix.Stat_t, top string, err error) {
	names := strings.Split(p.below, "/")
	dir := fdOf(p.dir)
	for i, name := range names {
		err := unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW)
		last := i == len(names)-1
		next := -1
		switch {
		case errors.Is(err, unix.ENOENT):
			name = ""
		case err == nil && !last && now.Mode&unix.S_IFMT == unix.S_IFDIR:
			next, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		case err == nil && !last:
			err = unix.ENOTDIR // a symlink, or whatever else stands where a directory would
		}
		if dir != fdOf(p.dir) {
			unix.Close(dir)
		}
		if next < 0 {
			if name != "" {
				top = names[0]
			}
			return now, top, ignoreGone(err)
		}
		dir = next
	}
	return now, top, nil
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// changed says what has happened to the path; empty when nothing has. Where it cannot be
// told, something has.
func (p *guarded) changed() string {
	now, top, err := p.look()
	switch {
	case p.inode == 0 && top == "" && err == nil, p.inode != 0 && err == nil && top != "" && p.is(now):
		return ""
	case p.inode == 0:
		return "was made"
	}
	return "was replaced"
}

// is reports whether that is what stood there when the view was made.
func (p *guarded) is(now unix.Stat_t) bool {
	if now.Dev != p.device || now.Ino != p.inode {
		return false
	}
	var x unix.Statx_t
	if err := unix.Statx(fdOf(p.dir), p.below, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &x); err != nil || p.born != 0 && x.Btime.Sec*1e9+int64(x.Btime.Nsec) != p.born {
		return false
	}
	return p.link == "" || p.target() == p.link
}

// target is where a symlink at the path leads to.
func (p *guarded) target() string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fdOf(p.dir), p.below, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func (p *guarded) breach(what string) error {
	return &durward.Error{
		Reason: durward.ProtectedPath, Op: "run", Rule: "filesystem.protect",
		Hint: "if it was you, run the command again; if it was the command, do not trust it with this directory",
		Err:  fmt.Errorf("%s %s while the command ran", p.path, what),
	}
}

// moveAside gives a name in the directory that there was another one.
func (p *guarded) moveAside(name string) (string, error) {
	aside := name + ".durward-" + rand.Text()[:8]
	err := unix.Renameat2(fdOf(p.dir), name, fdOf(p.dir), aside, unix.RENAME_NOREPLACE)
	return filepath.Join(p.dir.Name(), aside), err
}
