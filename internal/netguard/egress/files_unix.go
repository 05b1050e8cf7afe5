//go:build unix

package egress

import (
	"math"

	"golang.org/x/sys/unix"
)

// maxFiles is how many descriptors this process may open; none where it cannot tell.
func maxFiles() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(l.Cur, math.MaxInt32)) // "no limit" is a large number, too
}
