package process

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/dirlock"
)

// A scratch holds the private directories of the calls of one runtime, each of which
// lives as long as its call:
//
//	durward-scratch.<random>/<random>
//
// The outer directory is locked while its runtime lives. What a runtime that was
// killed has left is removed by the next one.
type scratch struct {
	parent, name string

	mu   sync.Mutex
	lock *os.File     // guarded by mu; nil until the outer directory is made
	free []privateDir // guarded by mu; those whose calls left nothing in them
}

// A privateDir is the directory of a call. What a call has left as it was serves the next
// one of the same user: rules for it are then known already.
type privateDir struct {
	path     string
	uid, gid uint32
	info     os.FileInfo // nil until it is made
}

// mostFree bounds the directories that are kept.
const mostFree = 32

const scratchPrefix = "durward-scratch."

const (
	// removeTime bounds the removal of one directory: a process that got away and goes
	// on writing does not hold up the answer for ever. A hundred thousand files on a
	// busy disk take a few seconds.
	removeTime = 10 * time.Second
	// sweepTime bounds what the first call spends on the remains of others.
	sweepTime = 2 * time.Second
)

func newScratch(parent string) *scratch {
	if parent == "" {
		parent = os.TempDir()
	}
	return &scratch{parent: parent, name: scratchPrefix + rand.Text()}
}

func (s *scratch) dir() string { return filepath.Join(s.parent, s.name) }

// take gives a directory for a call; make makes it.
func (s *scratch) take() privateDir {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		d := s.free[last]
		s.free = s.free[:last]
		return d
	}
	return privateDir{path: filepath.Join(s.dir(), rand.Text())}
}

// make makes the directory of a call, if it is not there. It belongs to uid and gid, and
// nobody else can enter it.
func (s *scratch) make(d *privateDir, uid, gid uint32) error {
	if d.clean() && d.uid == uid && d.gid == gid {
		return nil
	}
	if d.info != nil { // it was another user's, or somebody has been at it
		if err := s.remove(d); err != nil {
			return err
		}
	}
	if err := s.mkdir(d.path); err != nil {
		return scratchError(err)
	}
	var err error
	if uid != uint32(os.Geteuid()) {
		err = os.Lchown(d.path, int(uid), int(gid))
	}
	if err == nil {
		d.uid, d.gid = uid, gid
		d.info, err = os.Lstat(d.path)
	}
	if err != nil {
		return errors.Join(scratchError(err), os.Remove(d.path))
	}
	return nil
}

// give takes a directory back when nobody is at work in it, and removes it unless it is
// as it was made.
func (s *scratch) give(d *privateDir) error {
	if d.info == nil {
		return nil
	}
	s.mu.Lock()
	keep := d.clean() && len(s.free) < mostFree && s.lock != nil
	if keep {
		s.free = append(s.free, *d)
	}
	s.mu.Unlock()
	if keep {
		return nil
	}
	return s.remove(d)
}

func (s *scratch) remove(d *privateDir) error {
	d.info = nil
	if err := removeTree(d.path); err != nil {
		return scratchError(err)
	}
	return nil
}

// clean reports whether the directory is the one that was made, with its rights, and holds
// nothing.
func (d *privateDir) clean() bool {
	if d.info == nil {
		return false
	}
	f, err := os.Open(d.path)
	if err != nil {
		return false
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(now, d.info) || now.Mode() != d.info.Mode() || !plain(f, d.uid) {
		return false
	}
	_, err = f.Readdirnames(1)
	return err == io.EOF
}

// mkdir tries twice: those who clean up the temporary directory may come in between.
func (s *scratch) mkdir(path string) (err error) {
	for range 2 {
		if err := s.prepare(); err != nil {
			return err
		}
		if err = os.Mkdir(path, 0o700); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// prepare sees to it that the outer directory stands where it should and is locked.
func (s *scratch) prepare() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		s.sweep()
		return s.found()
	}
	if s.stands() {
		return nil
	}
	s.lock.Close()
	s.lock = nil
	return s.found()
}

// stands reports whether the outer directory is still the one that we have locked.
func (s *scratch) stands() bool {
	ours, err := s.lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(s.dir())
	return err == nil && os.SameFile(ours, there)
}

// found makes and locks the outer directory. Others may pass through it, not list it.
// One that stands there already is taken when it is ours.
func (s *scratch) found() error {
	dir := s.dir()
	made := os.Mkdir(dir, 0o700)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return made
	}
	lock, err := dirlock.Lock(dir)
	if err == nil {
		if err = lock.Chmod(0o711); err == nil {
			s.lock = lock
			return nil
		}
		lock.Close()
	}
	if made == nil {
		err = errors.Join(err, os.Remove(dir))
	}
	return err
}

// sweep removes what is locked by nobody. What stays is tried again by the next runtime.
func (s *scratch) sweep() {
	deadline := time.Now().Add(sweepTime)
	left, _ := filepath.Glob(filepath.Join(s.parent, scratchPrefix+"*"))
	for _, dir := range left {
		if !dirlock.Settled(dir) {
			continue
		}
		if lock, err := dirlock.Lock(dir); err == nil {
			sweepDir(lock, deadline)
			lock.Close()
		}
	}
}

// sweepDir removes an outer directory. Each of those in it may have another owner.
func sweepDir(outer *os.File, deadline time.Time) {
	names, _ := outer.Readdirnames(-1)
	for _, name := range names {
		_ = removeIn(outer, name, deadline)
	}
	_ = os.Remove(outer.Name()) // fails while anything is in it
}

func (s *scratch) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	var err error
	for _, d := range s.free {
		err = errors.Join(err, ignoreMissing(os.Remove(d.path)))
	}
	s.free = nil
	err = errors.Join(err, ignoreMissing(os.Remove(s.dir())))
	err = errors.Join(err, s.lock.Close())
	s.lock = nil
	return err
}

// removeTree removes a directory, also where somebody has taken the right to enter a
// part of it away.
func removeTree(path string) error { return removeBy(path, time.Now().Add(removeTime)) }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func scratchError(err error) error {
	return &durward.Error{
		Reason: durward.SandboxError, Op: "private directory",
		Hint: "make room in the temporary directory, or set TMPDIR to another one", Err: err,
	}
}
