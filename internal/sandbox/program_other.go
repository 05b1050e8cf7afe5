//go:build !linux

package sandbox

import (
	"os"
	"path/filepath"
)

func openForExec(path string) (*os.File, error) { return os.Open(path) }

func physicalPath(f *os.File) (string, error) { return filepath.EvalSymlinks(f.Name()) }

// isScript: no program runs on this system.
func isScript(*os.File) bool { return false }
