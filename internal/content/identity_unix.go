//go:build unix

package content

import (
	"os"
	"syscall"
)

// identity gives the device and inode of the file at a path.
func identity(path string) ([2]uint64, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return [2]uint64{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return [2]uint64{}, false
	}
	return [2]uint64{uint64(st.Dev), st.Ino}, true
}
