//go:build !linux

package machine

import "path/filepath"

// physical gives the physical path of an existing one.
func physical(path string) (string, error) { return filepath.EvalSymlinks(path) }
