//go:build unix

package release

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// isLocked reports whether a folder could not be locked because somebody else has.
func isLocked(err error) bool { return errors.Is(err, unix.EWOULDBLOCK) }

// isOpenToAll reports whether everybody may give names in a folder to other files. In a sticky one,
// such as /tmp, nobody can do so with the name of another's file.
func isOpenToAll(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0
}
