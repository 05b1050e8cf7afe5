package fsroot

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// filesystems is the one table of file systems, by the magic number that statfs gives.
// What is not in it is unknown.
var filesystems = []struct {
	magic uint32
	name  string
	kind  filesystem
}{
	{0xef53, "ext2, ext3, ext4", local},
	{0x01021994, "tmpfs, devtmpfs", local},
	{0x794c7630, "overlay", local},
	{0x58465342, "xfs", local},
	{0x9123683e, "btrfs", local},
	{0xf2f52010, "f2fs", local},
	{0x2fc12fc1, "zfs", local},
	{0xca451a4e, "bcachefs", local},
	{0x858458f6, "ramfs", local},
	{0x73717368, "squashfs", local},
	{0xe0f5e1e2, "erofs", local},
	{0x4d44, "vfat, msdos", local},
	{0x2011bab0, "exfat", local},
	{0x5346544e, "ntfs", local},
	{0x7366746e, "ntfs3", local},
	{0x9660, "iso9660", local},
	{0x15013346, "udf", local},
	{0x52654973, "reiserfs", local},
	{0x3153464a, "jfs", local},
	{0x3434, "nilfs2", local},
	{0x4244, "hfs", local},
	{0x482b, "hfsplus", local},
	{0x24051905, "ubifs", local},
	{0x72b6, "jffs2", local},
	{0x28cd3d45, "cramfs", local},
	{0x7275, "romfs", local},
	{0xf15f, "ecryptfs", local},
	{0x61756673, "aufs", local},

	{0x6969, "nfs, nfs4", network},
	{0xff534d42, "cifs", network},
	{0xfe534d42, "smb2, smb3", network},
	{0x517b, "smbfs", network},
	{0x5346414f, "afs (OpenAFS)", network},
	{0x6b414653, "afs", network},
	{0x00c36400, "ceph", network},
	{0x0bd00bd0, "lustre", network},
	{0x47504653, "gpfs", network},
	{0x7461636f, "ocfs2", network},
	{0x01161970, "gfs2", network},
	{0x73757245, "coda", network},
	{0x564c, "ncpfs", network},

	{0x9fa0, "proc", special},
	{0x62656572, "sysfs", special},
	{0x1cd1, "devpts", special},
	{0x73636673, "securityfs", special},
	{0x64626720, "debugfs", special},
	{0x74726163, "tracefs", special},
	{0x0027e0eb, "cgroup", special},
	{0x63677270, "cgroup2", special},
	{0xcafe4a11, "bpf", special},
	{0x62656570, "configfs", special},
	{0xf97cff8c, "selinuxfs", special},
	{0x43415d53, "smackfs", special},
	{0x6165676c, "pstore", special},
	{0xde5e81e4, "efivarfs", special},
	{0x19800202, "mqueue", special},
	{0x42494e4d, "binfmt_misc", special},
	{0x6e736673, "nsfs", special},
	{0x65735543, "fusectl", special},
}

const (
	magicFUSE = 0x65735546 // also virtiofs and fuseblk: the mount table tells them apart
	magic9P   = 0x01021997 // over a network or from the host: the mount options tell
)

// filesystemOf classes the file system an opened file is on. One that only the mount
// table can tell apart, where that cannot be read, is unknown.
func filesystemOf(fd int) (filesystem, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return unknown, err
	}
	return classOf(uint32(st.Type), func() (mount, error) { return mountOf(fd) }), nil
}

// IsInterface reports whether what is open is an interface of the kernel in the form of files:
// in /proc, /sys and the like.
func IsInterface(fd int) (bool, error) {
	kind, err := filesystemOf(fd)
	return kind == special, err
}

func classOf(magic uint32, mounted func() (mount, error)) filesystem {
	if magic == magicFUSE || magic == magic9P {
		m, err := mounted()
		switch {
		case err != nil:
			return unknown
		case m.fstype != "fuseblk" && m.class() == local: // the table speaks of another
			return network
		}
		return m.class()
	}
	for _, row := range filesystems {
		if row.magic == magic {
			return row.kind
		}
	}
	return unknown
}

// networkTypes are what the mount table calls the file systems of other machines.
var networkTypes = []string{
	"nfs", "nfs4", "cifs", "smb3", "smbfs", "smb2", "afs", "ceph", "glusterfs", "lustre", "gpfs", "ocfs2", "gfs2", "coda",
	"ncpfs", "afpfs", "sshfs", "davfs", "davfs2", "9p", "fuse", "fuseblk",
}

// class judges a mount by what the table calls it. Of a type that is not one of other
// machines it is local: the magic number has the say about what is known.
func (m mount) class() filesystem {
	switch {
	case m.fstype == "virtiofs",
		m.fstype == "9p" && slices.ContainsFunc(m.options, isHostTransport):
		return hostShare
	case m.fstype == "fuseblk" && m.localDisk:
		return local
	case slices.Contains(networkTypes, m.fstype), strings.HasPrefix(m.fstype, "fuse."):
		return network
	}
	return local
}

func isHostTransport(option string) bool {
	switch option {
	case "trans=virtio", "trans=xen", "trans=fd":
		return true
	}
	return false
}
