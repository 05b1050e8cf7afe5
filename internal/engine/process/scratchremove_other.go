//go:build !linux

package process

import (
	"os"
	"path/filepath"
	"time"
)

// No command runs on this system, so nobody is at work in what is removed.
func removeBy(path string, _ time.Time) error { return os.RemoveAll(path) }

func removeIn(dir *os.File, name string, _ time.Time) error {
	return os.RemoveAll(filepath.Join(dir.Name(), name))
}
