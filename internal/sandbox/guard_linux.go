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
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// No mount keeps a name free that nothing stands under, and a mount is gone from a name
// when somebody on the machine puts another file there. So both are watched while a
// command runs that could make use of it: its tree is ended at once, and what has come to
// stand where nothing may is moved aside when the tree is dead.

// A guard watches paths in what one command can write.
type guard struct {
	paths  []guarded
	events *os.File // of inotify
	done   sync.WaitGroup
	dirs   map[int32]string // the watched directories, by what their events name them

	mu     sync.Mutex
	broken error // guarded by mu; the first breach
}

// A guarded path is one that has to stay as it is.
type guarded struct {
	path string
	// device and inode are of what stands there; zero where nothing does.
	device, inode uint64
	// link and owner are of a symlink, so that it can be put back.
	link     string
	uid, gid int
}

// guardedAs is a path as it is now; info is nil where nothing stands there.
func guardedAs(path string, info os.FileInfo) guarded {
	if info == nil {
		return guarded{path: path}
	}
	p := placeOf(shown, path, info)
	g := guarded{path: path, device: p.device, inode: p.inode}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode()&fs.ModeSymlink != 0 {
		g.uid, g.gid = int(st.Uid), int(st.Gid)
		g.link, _ = os.Readlink(path) // of one that is gone the next look tells
	}
	return g
}

// watched lists what has to stay as it is while a command has a view.
func (v view) watched() []guarded {
	var list []guarded
	list = append(list, v.loose...)
	for _, p := range v.places {
		around, ok := v.around(p.path)
		if p.kind == hidden || p.kind == kept && ok && around.kind == written {
			list = append(list, guarded{path: p.path, device: p.device, inode: p.inode})
		}
	}
	return list
}

// guardFor watches for a plan.
func (s *starter) guardFor() error {
	var err error
	s.guard, err = newGuard(s.plan.watched)
	return err
}

// newGuard begins to watch. It gives nil where there is nothing to be watched.
func newGuard(paths []guarded) (*guard, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, guardError(err, "raise fs.inotify.max_user_instances")
	}
	g := &guard{paths: paths, events: os.NewFile(uintptr(fd), "inotify"), dirs: make(map[int32]string)}
	err = g.watch()
	if err == nil {
		err = g.check()
	}
	if err != nil {
		g.events.Close()
		return nil, err
	}
	return g, nil
}

func guardError(err error, hint string) error {
	return &durward.Error{
		Reason: durward.SandboxError, Op: "sandbox", Rule: "filesystem.protect", Hint: hint,
		Err: fmt.Errorf("watch protected paths: %w", err),
	}
}

// watch watches the nearest directory of each path that exists, also one that was made
// since.
func (g *guard) watch() error {
	for _, p := range g.paths {
		dir := filepath.Dir(p.path)
		for !isDirectory(dir) {
			dir = filepath.Dir(dir)
		}
		if err := g.add(dir); err != nil {
			return err
		}
	}
	return nil
}

// add watches a directory, unless it is gone again. Once the guard is released the error
// is os.ErrClosed.
func (g *guard) add(dir string) error {
	const changes = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_ONLYDIR
	conn, err := g.events.SyscallConn()
	if err != nil {
		return err
	}
	var id int
	var failed error
	if err := conn.Control(func(fd uintptr) { id, failed = unix.InotifyAddWatch(int(fd), dir, changes) }); err != nil {
		return os.ErrClosed
	}
	switch {
	case failed == nil:
		g.dirs[int32(id)] = dir
	case !errors.Is(failed, unix.ENOENT) && !errors.Is(failed, unix.ENOTDIR):
		return guardError(failed, "raise fs.inotify.max_user_watches")
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// check finds the first path that is not what it was.
func (g *guard) check() error {
	for _, p := range g.paths {
		info, err := os.Lstat(p.path)
		switch {
		case err != nil && p.inode == 0:
		case err == nil && p.is(info):
		case p.inode == 0:
			return p.breach("was made")
		default:
			return p.breach("was replaced")
		}
	}
	return nil
}

// is reports whether that is what stood there when the view was made.
func (p guarded) is(info os.FileInfo) bool {
	now := placeOf(shown, p.path, info)
	return now.device == p.device && now.inode == p.inode
}

func (p guarded) breach(what string) error {
	return &durward.Error{
		Reason: durward.ProtectedPath, Op: "run", Rule: "filesystem.protect",
		Hint: "if it was you, run the command again; if it was the command, do not trust it with this directory",
		Err:  fmt.Errorf("%s %s while the command ran", p.path, what),
	}
}

// follow ends the tree when something has changed. It returns when the guard is released.
func (g *guard) follow(end func()) {
	buf := make([]byte, 4096)
	for {
		n, err := g.events.Read(buf)
		if err != nil {
			return
		}
		for _, look := range []func() error{func() error { return g.named(buf[:n]) }, g.watch, g.check} {
			err := look()
			if errors.Is(err, os.ErrClosed) {
				return // the tree is dead, and its last state is looked at by whoever released us
			}
			if err != nil {
				g.breaks(err)
				end()
			}
		}
	}
}

// named finds a path in what events name: something may have come and gone between two
// looks.
func (g *guard) named(events []byte) error {
	for len(events) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(unsafe.SliceData(events)))
		name, _, _ := strings.Cut(string(events[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+e.Len]), "\x00")
		path := filepath.Join(g.dirs[e.Wd], name)
		for _, p := range g.paths {
			if p.path == path && p.inode == 0 {
				return p.breach("was made")
			}
		}
		events = events[unix.SizeofInotifyEvent+e.Len:]
	}
	return nil
}

func (g *guard) breaks(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil {
		g.broken = err
	}
}

// release looks for the last time, when the tree is dead, moves aside what stands where
// nothing stood, and puts symlinks back.
func (g *guard) release() {
	g.events.Close()
	g.done.Wait()
	if err := g.check(); err != nil {
		g.breaks(err)
	}
	for _, p := range g.paths {
		if p.inode == 0 || p.link != "" && p.changed() {
			g.restore(p)
		}
	}
}

func (p guarded) changed() bool {
	info, err := os.Lstat(p.path)
	return err != nil || !p.is(info)
}

// restore makes a path what it was: nothing, or a symlink.
func (g *guard) restore(p guarded) {
	aside, err := moveAside(p.path)
	switch {
	case err == nil:
		g.tell(fmt.Errorf("what stood there was moved to %s", aside))
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR):
		g.tell(fmt.Errorf("what stands there could not be moved aside: %w", err))
		return
	}
	if p.link == "" {
		return
	}
	err = os.Symlink(p.link, p.path)
	if err == nil {
		err = os.Lchown(p.path, p.uid, p.gid)
	}
	if err != nil {
		g.tell(fmt.Errorf("the symlink could not be put back: %w", err))
	}
}

// tell adds to the breach.
func (g *guard) tell(what error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := durward.AsError(g.broken); e != nil {
		e.Err = fmt.Errorf("%w; %w", e.Err, what)
	}
}

// moveAside gives what stands at a path another name in its directory.
func moveAside(path string) (string, error) {
	dir, err := os.OpenFile(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	name := filepath.Base(path)
	aside := name + ".durward-" + rand.Text()[:8]
	err = unix.Renameat2(fdOf(dir), name, fdOf(dir), aside, unix.RENAME_NOREPLACE)
	return filepath.Join(filepath.Dir(path), aside), err
}

// breach gives what was found, once the tree is dead.
func (g *guard) breach() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}
