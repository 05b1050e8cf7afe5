package release

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// isLocked reports whether a folder could not be locked because somebody else has.
func isLocked(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }

// isOpenToAll says no: the access list of a folder tells who may write there, and no mode does.
func isOpenToAll(fs.FileInfo) bool { return false }
