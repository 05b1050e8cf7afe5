package process

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/durward/durward"
)

// A scratch holds the private directories of the calls of one runtime, each of which
// lives as long as its call:
//
//	durward-scratch.<random>/<call id>
//
// The outer directory is locked while its runtime lives. What a runtime that was
// killed has left is removed by the next one.
type scratch struct {
	parent, name string

	mu   sync.Mutex
	lock *os.File // guarded by mu; nil until the outer directory is made
}

const scratchPrefix = "durward-scratch."

func newScratch(parent string) *scratch {
	if parent == "" {
		parent = os.TempDir()
	}
	return &scratch{parent: parent, name: scratchPrefix + rand.Text()}
}

func (s *scratch) dir() string { return filepath.Join(s.parent, s.name) }

// path gives the directory of a call, which need not exist.
func (s *scratch) path(id durward.CallID) string { return filepath.Join(s.dir(), string(id)) }

// make makes the directory of a call. It belongs to uid and gid, and nobody else can
// enter it.
func (s *scratch) make(path string, uid, gid uint32) error {
	if err := s.prepare(); err != nil {
		return scratchError(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return scratchError(err)
	}
	if int(uid) == os.Geteuid() {
		return nil
	}
	if err := os.Lchown(path, int(uid), int(gid)); err != nil {
		return errors.Join(scratchError(err), os.Remove(path))
	}
	return nil
}

// prepare makes and locks the outer directory. Others may pass through it, not list it.
func (s *scratch) prepare() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock != nil {
		return nil
	}
	s.sweep()
	dir := s.dir()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	lock, err := lockDir(dir)
	if err == nil {
		s.lock = lock
		err = lock.Chmod(0o711)
	}
	return err
}

// sweep removes what is locked by nobody.
func (s *scratch) sweep() {
	left, _ := filepath.Glob(filepath.Join(s.parent, scratchPrefix+"*"))
	for _, dir := range left {
		if !old(dir) {
			continue
		}
		if lock, err := lockDir(dir); err == nil {
			_ = removeTree(dir) // what stays is tried again
			lock.Close()
		}
	}
}

func (s *scratch) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	err := os.Remove(s.dir())
	err = errors.Join(err, s.lock.Close())
	s.lock = nil
	return err
}

// removeTree removes a directory in which nobody is at work any more, also where
// somebody has taken the right to enter a part of it away.
func removeTree(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // the removal tells
		}
		return nil
	})
	return os.RemoveAll(path)
}

func scratchError(err error) error {
	return &durward.Error{
		Reason: durward.SandboxError, Op: "private directory",
		Hint: "make room in the temporary directory, or set TMPDIR to another one", Err: err,
	}
}
