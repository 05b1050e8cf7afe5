//go:build unix

package content

import (
	"os"
	"syscall"
)

// identityAt gives that of the file at a path.
func identityAt(path string) (identity, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{uint64(st.Dev), st.Ino}, true
}
