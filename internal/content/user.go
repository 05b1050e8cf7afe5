package content

// A User is somebody who may be able to read and write files.
type User struct {
	UID uint32
	// GIDs are all groups of the user's.
	GIDs []uint32
}

// canWrite reports whether the user can write a file or directory: is allowed to, or can
// allow it to themselves, as its owner and root can. It also tells which file that is.
func (u User) canWrite(path string) (bool, identity, error) { return u.can(path, 0o2) }

// CanRead reports whether the user can read a file, or can allow it to themselves, as far
// as the file itself tells.
func (u User) CanRead(path string) (bool, error) {
	can, _, err := u.can(path, 0o4)
	return can, err
}
