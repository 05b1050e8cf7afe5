//go:build !linux && !darwin

package fsroot

import (
	"os"
	"path/filepath"
)

// PhysicalPath gives the path that the name of an open file leads to.
func PhysicalPath(f *os.File) (string, error) { return filepath.EvalSymlinks(f.Name()) }
