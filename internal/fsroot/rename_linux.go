package fsroot

import "golang.org/x/sys/unix"

// renameNew renames a file in dir, refusing to replace another.
func renameNew(dir int, from, to string) error {
	err := unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EPERM {
		return linkNew(dir, from, to)
	}
	return err
}
