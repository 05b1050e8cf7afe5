package mcpclient

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/durward/durward/internal/dirlock"
)

// scratchPrefix begins the names of the directories that go with an engine. Each is locked while
// its engine lives.
const scratchPrefix = "durward-hub."

// scratchDir gives a new path in the directory that goes with the engine. Others may pass
// through that and not list it.
func (e *Engine) scratchDir(name string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.scratch == "" {
		dir, err := os.MkdirTemp("", scratchPrefix)
		if err != nil {
			return "", err
		}
		e.scratch = dir
		if e.lock, err = dirlock.Lock(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return "", err
		}
		if err := os.Chmod(dir, 0o711); err != nil {
			return "", err
		}
	}
	return filepath.Join(e.scratch, name), nil
}

func (e *Engine) dropScratch() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.scratch == "" {
		return nil
	}
	if e.lock != nil {
		e.lock.Close()
	}
	err := os.RemoveAll(e.scratch)
	e.scratch, e.lock = "", nil
	return err
}

// sweep removes what engines have left that were killed: their directories are locked by nobody.
// What cannot be removed is tried again by the next engine.
func (e *Engine) sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchPrefix+"*"))
	for _, dir := range left {
		if e.keep.Err() != nil {
			return
		}
		if !dirlock.Settled(dir) {
			continue
		}
		if lock, err := dirlock.Lock(dir); err == nil {
			e.empty(lock)
			lock.Close()
			_ = os.Remove(dir) // fails while anything is in it
		}
	}
}

// empty removes what is in a directory, a server's after the other, until the engine is closed.
func (e *Engine) empty(dir *os.File) {
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if e.keep.Err() == nil {
			_ = os.RemoveAll(filepath.Join(dir.Name(), name))
		}
	}
}
