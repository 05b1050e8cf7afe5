//go:build !linux

package command

import (
	"os"

	"github.com/durward/durward/internal/fsroot"
)

// handle gives a path by which an open directory is entered: nothing else than a name is
// to be had here.
func handle(dir *os.File) string {
	path, err := fsroot.PhysicalPath(dir)
	if err != nil {
		return dir.Name()
	}
	return path
}
