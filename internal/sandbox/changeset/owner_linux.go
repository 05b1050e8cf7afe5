package changeset

import (
	"os"

	"golang.org/x/sys/unix"
)

// Owners are those that there would be without a copy. What the command made in upper the
// kernel gave to the command's user; what belongs to others there it copied from lower, when
// the command wrote to it or moved it.

// own gives what was made its owner and its permissions.
func (l Layers) own(f *os.File, c *change) error {
	bits := c.is.bits
	if c.is.form == File {
		bits &= permissionBits
	}
	uid, gid := l.onMachine(c.is)
	switch err := unix.Fchown(descriptor(f), int(uid), int(gid)); err {
	case nil:
	case unix.EPERM, unix.EINVAL:
		// It stays ours, as we may not give it to anybody, or not to one who has no number
		// here. Each class of users may be another one then: they get what all had.
		shared := (bits >> 6) & (bits >> 3) & bits & 0o7
		bits = bits&^0o077 | shared<<3 | shared
	default:
		return err
	}
	return unix.Fchmod(descriptor(f), bits)
}

// onMachine gives the owner on the machine of what stands in upper.
func (l Layers) onMachine(n node) (uid, gid uint32) {
	uid, gid = n.uid, n.gid
	if l.Owned && uid == l.UID {
		uid = 0
	}
	if l.Owned && gid == l.GID {
		gid = 0
	}
	return uid, gid
}
