//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// No mount keeps a name free that nothing stands under, and a mount is gone from a name
// when somebody on the machine puts another file there. So both are watched while a
// command runs that could make use of it: its tree is ended at once, and what has come to
// stand where nothing may is moved aside when the tree is dead.

// A guard watches paths in what one command can see.
type guard struct {
	paths  []*guarded
	opened map[string]*os.File // the directories from which paths are judged
	events *os.File            // of inotify
	done   sync.WaitGroup
	dirs   map[int32]string // the watched directories, by what their events name them

	mu     sync.Mutex
	broken error // guarded by mu; the first breach
}

// watched lists what has to stay as it is while a command has a view. What it writes to a
// copy changes nothing that is protected.
func (v view) watched() []guarded {
	list := append([]guarded(nil), v.loose...)
	for _, p := range v.places {
		around, ok := v.around(p.path)
		if p.kind == hidden || p.kind == kept && ok && around.kind == written && around.copy == nil {
			list = append(list, guarded{path: p.path, device: p.device, inode: p.inode, born: p.born})
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
	g := &guard{events: os.NewFile(uintptr(fd), "inotify"), opened: make(map[string]*os.File), dirs: make(map[int32]string)}
	for _, p := range paths {
		if err = p.find(g.opened); err != nil {
			break
		}
		g.paths = append(g.paths, &p)
	}
	if err == nil {
		err = errors.Join(g.watch(), g.check())
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// check finds the first path that is not what it was.
func (g *guard) check() error {
	for _, p := range g.paths {
		if what := p.changed(); what != "" {
			return p.breach(what)
		}
	}
	return nil
}

// watch watches the nearest directory of each path that exists, also one that was made
// since, and no other any more.
func (g *guard) watch() error {
	wanted := make(map[string]bool)
	for _, p := range g.paths {
		dir := filepath.Dir(p.path)
		for !isDirectory(dir) {
			dir = filepath.Dir(dir)
		}
		wanted[dir] = true
	}
	known := make(map[string]bool)
	for id, dir := range g.dirs {
		if known[dir] = wanted[dir]; !wanted[dir] {
			delete(g.dirs, id)
			_ = g.control(func(fd int) error { _, err := unix.InotifyRmWatch(fd, uint32(id)); return err }) // it may be gone
		}
	}
	for dir := range wanted {
		if err := g.add(dir); err != nil {
			return err
		}
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// add watches a directory, unless it is gone again. A name that has come to mean another
// directory takes the watch with it.
func (g *guard) add(dir string) error {
	const changes = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_ONLYDIR
	var id int
	err := g.control(func(fd int) (err error) {
		id, err = unix.InotifyAddWatch(fd, dir, changes)
		return err
	})
	switch {
	case err == nil:
		for old, name := range g.dirs {
			if name == dir && old != int32(id) {
				delete(g.dirs, old)
				_ = g.control(func(fd int) error { _, err := unix.InotifyRmWatch(fd, uint32(old)); return err }) // it may be gone
			}
		}
		g.dirs[int32(id)] = dir
	case errors.Is(err, os.ErrClosed):
		return err
	case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.EACCES):
		return guardError(err, "raise fs.inotify.max_user_watches")
	}
	return nil
}

// control uses the descriptor. Once the guard is released the error is os.ErrClosed.
func (g *guard) control(use func(fd int) error) error {
	conn, err := g.events.SyscallConn()
	if err != nil {
		return os.ErrClosed
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = use(int(fd)) }); err != nil {
		return os.ErrClosed
	}
	return failed
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
		if dir, known := g.dirs[e.Wd]; known {
			path := filepath.Join(dir, name)
			for _, p := range g.paths {
				switch {
				case p.path != path:
				case p.inode == 0:
					return p.breach("was made")
				default:
					return p.breach("was replaced")
				}
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
// nothing stood, and puts symlinks back. The kernel takes milliseconds to stop watching: no
// answer waits for that.
func (g *guard) release(later *sync.WaitGroup) {
	_ = g.events.SetReadDeadline(time.Now()) // follow ends with it
	g.done.Wait()
	if err := g.check(); err != nil {
		g.breaks(err)
	}
	for _, p := range g.paths {
		if p.made && p.changed() != "" {
			g.restore(p)
		}
	}
	later.Go(g.close)
}

// close frees the descriptors.
func (g *guard) close() {
	g.events.Close()
	for _, dir := range g.opened {
		dir.Close()
	}
}

// restore makes a path what it was: nothing, or a symlink.
func (g *guard) restore(p *guarded) {
	_, top, _ := p.look()
	if top != "" {
		aside, err := p.moveAside(top)
		if err != nil {
			g.tell(fmt.Errorf("what stands there could not be moved aside: %w", err))
			return
		}
		g.tell(fmt.Errorf("what stood there was moved to %s", aside))
	}
	if p.link == "" {
		return
	}
	err := unix.Symlinkat(p.link, fdOf(p.dir), p.below)
	if err == nil {
		err = unix.Fchownat(fdOf(p.dir), p.below, p.uid, p.gid, unix.AT_SYMLINK_NOFOLLOW)
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

// breach gives what was found, once the tree is dead.
func (g *guard) breach() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}
