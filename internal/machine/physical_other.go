//go:build !linux

package machine

import (
	"errors"
	"path/filepath"
	"syscall"

	"github.com/durward/durward/internal/policy"
)

// physical gives the physical path of an existing one.
func physical(path string) (string, error) {
	found, err := filepath.EvalSymlinks(path)
	if errors.Is(err, syscall.ENOTDIR) {
		err = policy.ErrNotDirectory
	}
	return found, err
}

// linkless does not tell.
func linkless(string) bool { return false }

// mark is not known.
var mark func(path string) policy.Mark
