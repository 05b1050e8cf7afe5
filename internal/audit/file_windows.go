package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// openFile opens for reading and appending. Others may read and rename the file
// meanwhile; a reparse point is not followed.
func openFile(path string, flag int) (*os.File, error) {
	how := uint32(windows.OPEN_EXISTING)
	switch {
	case flag&os.O_EXCL != 0:
		how = windows.CREATE_NEW
	case flag&os.O_CREATE != 0:
		how = windows.OPEN_ALWAYS
	}
	f, err := open(path, windows.GENERIC_READ|windows.GENERIC_WRITE, how)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openForReading is openFile for a reader.
func openForReading(path string) (*os.File, error) {
	return open(path, windows.GENERIC_READ, windows.OPEN_EXISTING)
}

func open(path string, access, how uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, access, share, nil, how, windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// tryLock takes the lock of a file, which lasts until the file is closed or the
// process ends. It does not wait: false means that another one holds it. The locked
// byte lies far behind any content, because Windows keeps readers from locked bytes.
func tryLock(f *os.File, shared bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// syncFolder has nothing to do: names last together with their files.
func syncFolder(string) error { return nil }

// Private refuses what exists and is no folder. Who may open it is inherited here.
func Private(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return unavailable("audit.open", err)
	case !info.IsDir():
		return unavailable("audit.open", errors.New(dir+": not a folder"))
	}
	return nil
}

// privateFolder makes the audit folder where it is missing, and gives it an access
// list of its own that admits its owner alone; files in it inherit that.
func privateFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a folder", path) // nor is a link to one
	}
	list, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;OW)")
	if err != nil {
		return err
	}
	dacl, _, err := list.DACL()
	if err != nil {
		return err
	}
	return windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
}

// exposed says nothing: who can touch a file is in access lists, not in its mode.
func exposed(string, fs.FileMode) string { return "" }

// safeParent makes the folder of a configured file. Who may replace the file there is
// for the access list that the operator gave the folder.
func safeParent(path string) error { return os.MkdirAll(path, 0o700) }

// privateFile refuses what is not a regular file.
func privateFile(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	return nil
}

// linkedSize gives the size of an open file. It cannot lose its name here.
func linkedSize(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
