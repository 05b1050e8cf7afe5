//go:build !linux

package process

import (
	"os"
	"path/filepath"
	"time"
)

// The deadline is not kept: who goes on making files holds the removal up.
func removeBy(path string, _ time.Time) error { return os.RemoveAll(path) }

func removeIn(dir *os.File, name string, _ time.Time) error {
	return os.RemoveAll(filepath.Join(dir.Name(), name))
}
