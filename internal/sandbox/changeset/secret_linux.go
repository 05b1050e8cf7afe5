package changeset

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/safetext"
)

// errSecret says that the command could not have read a file. A command can put another one
// in the place of such a file, or move it, and is not to have it shown by that.
var errSecret = errors.New("the command could not read it")

// keepSecret gives errSecret for a file that the command's user could not have read. Whoever
// owns a file can let themselves read it. Where there is an access list, nobody else counts as
// one who can. Who is not root opens nothing that the command, being the same user, could not.
func (l Layers) keepSecret(f *os.File, seen node) error {
	const read = 0o4
	bits := seen.bits
	switch {
	case os.Geteuid() != 0 || seen.uid == l.UID:
		return nil
	case seen.gid == l.GID:
		bits >>= 3
	}
	names, err := attributeNames(f)
	if err == nil && (bits&read == 0 || slices.Contains(names, "system.posix_acl_access")) {
		err = errSecret
	}
	return err
}

// inCopy gives a file of lower the owner that it had for the command.
func (l Layers) inCopy(n node) node {
	if l.Owned && n.uid == 0 {
		n.uid = l.UID
	}
	if l.Owned && n.gid == 0 {
		n.gid = l.GID
	}
	return n
}

// unreadable reports whether a file could not be read by the command. Where we are the same
// user, the kernel says so.
func unreadable(err error) bool { return errors.Is(err, errSecret) || errors.Is(err, unix.EACCES) }

// untold is the line in the place of what a file holds, or held.
func untold(c *change, holds string) string {
	return fmt.Sprintf("what %s %s is not shown: %v\n", safetext.Line(c.Path), holds, errSecret)
}
