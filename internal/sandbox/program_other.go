//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

// openForExec opens a file to be looked at. It does not wait for anybody at a FIFO.
func openForExec(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// isScript: nothing depends on it, because every program is executed by its path here.
func isScript(*os.File) bool { return false }
