package dirlock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock opens a directory so that nobody else can open it to be listed; the lock ends
// with the file, and with us. It does not wait, and does not follow a link. Whose the
// directory is, is not looked at: its access list says who may open it.
func Lock(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	const flags = windows.FILE_FLAG_BACKUP_SEMANTICS | windows.FILE_FLAG_OPEN_REPARSE_POINT
	h, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING, flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(h), path)
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: windows.ERROR_DIRECTORY}
	}
	return f, nil
}

// taken reports whether an error of Lock says that another one has the lock.
func taken(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }
