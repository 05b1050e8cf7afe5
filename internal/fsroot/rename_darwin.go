package fsroot

import "golang.org/x/sys/unix"

// renameNew renames a file in dir, refusing to replace another.
func renameNew(dir int, from, to string) error {
	err := unix.RenameatxNp(dir, from, dir, to, unix.RENAME_EXCL)
	if err == unix.ENOTSUP {
		return linkNew(dir, from, to)
	}
	return err
}
