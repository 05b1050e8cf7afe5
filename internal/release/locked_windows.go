package release

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isLocked reports whether a folder could not be locked because somebody else has.
func isLocked(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }
