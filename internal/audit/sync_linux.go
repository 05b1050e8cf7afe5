package audit

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes what was written last.
func syncData(f *os.File) error { return onDescriptor(f, unix.Fdatasync) }
