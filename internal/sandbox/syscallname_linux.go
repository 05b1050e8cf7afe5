//go:build linux && (amd64 || arm64)

package sandbox

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// syscallName names a call of a plan; a number stands for one no plan uses.
func syscallName(nr uintptr) string {
	switch nr {
	case unix.SYS_FCNTL:
		return "fcntl"
	}
	return "syscall " + strconv.Itoa(int(nr))
}
