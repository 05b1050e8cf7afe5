//go:build unix

package release

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isLocked reports whether a folder could not be locked because somebody else has.
func isLocked(err error) bool { return errors.Is(err, unix.EWOULDBLOCK) }
