//go:build !linux

package machine

import (
	"path/filepath"

	"github.com/durward/durward/internal/policy"
)

// physical gives the physical path of an existing one.
func physical(path string) (string, error) { return filepath.EvalSymlinks(path) }

// mark is not known.
var mark func(path string) policy.Mark
