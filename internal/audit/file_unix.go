//go:build unix

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFile opens for reading and appending. A symbolic link is not followed and a
// FIFO is not waited for.
func openFile(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, flag|os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

// openForReading is openFile for a reader.
func openForReading(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// tryLock takes the lock of a file, which lasts until the file is closed or the
// process ends. It does not wait: false means that another one holds it.
func tryLock(f *os.File, shared bool) (bool, error) {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := onDescriptor(f, func(fd int) error { return unix.Flock(fd, how|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// onDescriptor runs do while f cannot be closed. On a file that is closed already it
// gives [os.ErrClosed].
func onDescriptor(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if raw.Control(func(fd uintptr) { failed = ignoringEINTR(func() error { return do(int(fd)) }) }) != nil {
		return os.ErrClosed // nothing else keeps do from being run, and package os has no name for it here
	}
	return failed
}

func ignoringEINTR(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// syncFolder makes the names in a folder last.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// privateFolder makes the audit folder where it is missing and refuses one that
// others can enter.
func privateFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a folder", path) // nor is a symbolic link to one
	}
	return owned(path, info, 0o700)
}

// Private refuses a folder that exists and does not belong to this user, or is open to
// others, with the command to type as Hint. Whoever can change the folder around a log
// can put another log in its place. A folder that is missing is no fault.
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
	if err := owned(dir, info, 0o700); err != nil {
		return unavailable("audit.open", err)
	}
	return nil
}

// safeParent makes the folder of a configured file where it is missing and refuses
// one in which others could replace the file.
func safeParent(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return &permissionError{path: path, fix: "chmod go-w " + quote(path), what: fmt.Sprintf("others may write to it (mode %04o)", info.Mode().Perm())}
	}
	return nil
}

// privateFile refuses what is not a regular file of this user that only this user can
// open.
func privateFile(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	return owned(path, info, 0o600)
}

// exposed says why others could touch a file or folder; "" when they cannot, or when it
// cannot be told.
func exposed(path string, mode fs.FileMode) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch euid := os.Geteuid(); {
	case info.Mode()&fs.ModeSymlink != 0:
		return "it is a symbolic link"
	case ok && int(stat.Uid) != euid:
		return fmt.Sprintf("it belongs to user %d, not %d", stat.Uid, euid)
	case info.Mode().Perm()&^mode != 0:
		return fmt.Sprintf("others can open it: its mode is %04o, not %04o", info.Mode().Perm(), mode)
	}
	return ""
}

func owned(path string, info fs.FileInfo, mode fs.FileMode) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: owner unknown", path)
	}
	if euid := os.Geteuid(); int(stat.Uid) != euid {
		return &permissionError{path: path, fix: fmt.Sprintf("chown %d %s", euid, quote(path)), what: fmt.Sprintf("it belongs to user %d, not %d", stat.Uid, euid)}
	}
	if info.Mode().Perm() != mode {
		return &permissionError{path: path, fix: fmt.Sprintf("chmod %o %s", mode, quote(path)), what: fmt.Sprintf("its mode is %04o, not %04o", info.Mode().Perm(), mode)}
	}
	return nil
}

// linkedSize gives the size of an open file that still has a name.
func linkedSize(f *os.File) (int64, error) {
	var st unix.Stat_t
	if err := onDescriptor(f, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return 0, err
	}
	if st.Nlink == 0 {
		return 0, &os.PathError{Op: "stat", Path: f.Name(), Err: syscall.ENOENT}
	}
	return st.Size, nil
}
