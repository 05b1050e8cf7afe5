package fsroot

import "golang.org/x/sys/unix"

// filesystemOf classes the file system an opened file is on, by its name and by what
// the kernel says about it being local.
func filesystemOf(fd int) (filesystem, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return unknown, err
	}
	switch unix.ByteSliceToString(st.Fstypename[:]) {
	case "nfs", "smbfs", "afpfs", "cifs", "webdav", "ftp", "autofs", "macfuse", "osxfuse", "fusefs":
		return network, nil
	case "devfs", "fdesc":
		return special, nil
	}
	if st.Flags&unix.MNT_LOCAL == 0 {
		return network, nil
	}
	return local, nil
}

// kinds are the classes of a file system.
type kinds struct{ table, kernel filesystem }

// kindsOf asks no table: the kernel names the type of any descriptor.
func kindsOf(fd int, _ Rules) (kinds, error) {
	kernel, err := filesystemOf(fd)
	return kinds{table: local, kernel: kernel}, err
}
