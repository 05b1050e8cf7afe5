//go:build !unix

package replace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/durward/durward/internal/dirlock"
)

const openFlags = 0

// lock makes a file beside the one to be replaced, which nobody can do twice, and
// closes that one: while it is open its name may not be given to another.
func lock(f *os.File, target string) (unlock func(), err error) {
	f.Close()
	name := target + ".lock"
	var mark *os.File
	taken := dirlock.While(lockTime, func() bool {
		mark, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		return errors.Is(err, fs.ErrExist)
	})
	switch {
	case taken:
		return nil, fmt.Errorf("%w, and remove %s if there is none", ErrBusy, name)
	case err != nil:
		return nil, err
	}
	mark.Close()
	return func() { os.Remove(name) }, nil
}

func hasOtherNames(fs.FileInfo) bool { return false }

// inherit takes over whether the file may be written to. Who else may is in the access
// list, which comes from the folder.
func inherit(f *os.File, like fs.FileInfo) error { return f.Chmod(like.Mode().Perm()) }

// syncDir does nothing: no folder of this system can be synced.
func syncDir(string) error { return nil }
