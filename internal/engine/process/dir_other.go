//go:build !linux

package process

import (
	"os"
	"path/filepath"
)

func openDir(path string) (*os.File, error) { return os.Open(path) }

func physicalPath(f *os.File) (string, error) { return filepath.EvalSymlinks(f.Name()) }
