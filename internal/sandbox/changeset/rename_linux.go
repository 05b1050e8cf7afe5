package changeset

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tempName gives a name that nobody can guess.
func tempName() string {
	var salt [16]byte
	rand.Read(salt[:])
	return ".durward-" + hex.EncodeToString(salt[:])
}

// moveNew renames in a directory and replaces nothing. Where the kernel has no such rename,
// what comes to the name between a look and the rename may be replaced.
func moveNew(dir *os.File, from, to string) error {
	fd := descriptor(dir)
	err := unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	there, err := nodeAt(dir, to)
	if err != nil {
		return err
	}
	if there.form != Nothing {
		return unix.EEXIST
	}
	return unix.Renameat(fd, from, fd, to)
}

// exchange puts what is at temp in the place of what is at name, and gives the name that has
// the latter now.
func exchange(dir *os.File, temp, name string) (aside string, err error) {
	fd := descriptor(dir)
	err = unix.Renameat2(fd, temp, fd, name, unix.RENAME_EXCHANGE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return temp, err
	}
	return exchangeByTwo(dir, temp, name)
}

// exchangeByTwo is exchange where the kernel cannot do it at once: there is nothing at name
// for a moment.
func exchangeByTwo(dir *os.File, temp, name string) (aside string, err error) {
	aside = tempName()
	if err := moveNew(dir, name, aside); err != nil {
		return temp, err
	}
	if err := moveNew(dir, temp, name); err != nil {
		return temp, errors.Join(err, moveNew(dir, aside, name))
	}
	return aside, nil
}

// syncDir makes a change of names last. Some file systems cannot, and say so.
func syncDir(dir *os.File) error {
	err := unix.Fsync(descriptor(dir))
	if err == unix.EINVAL || err == unix.ENOTSUP {
		return nil
	}
	return err
}
