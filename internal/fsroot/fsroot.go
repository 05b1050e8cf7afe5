// Package fsroot opens and replaces files under one root directory by descriptor.
//
// A name is read as the kernel reads it, from the root: components between slashes,
// "." and ".." meaning the physical parent, symbolic links followed while they stay
// inside.
//
//	sub/../a.txt    inside
//	link/b.txt      inside, when link holds a relative path that stays inside
//	../root/a.txt   outside: a name may not leave, even to come back
//	/etc/passwd     outside, and so is a link that holds such a path
//
// Where a name leads is decided while it is opened, and every other verdict (type,
// file system, size, links) is taken on the descriptor that was opened, so a tree that
// changes meanwhile can change the answer but never what it was given for. What is
// outside gets one answer, whether it exists or not.
//
// Failures are [*durward.Error] with one of the file reasons.
package fsroot

import (
	"io/fs"
	"strings"
	"time"

	"github.com/durward/durward"
)

// Rules are what an opened file or directory must meet. The zero value refuses network
// file systems, allows shares of the machine's own host and reads hard links.
type Rules struct {
	// AllowNetworkFS allows files on network file systems and on file systems this
	// package does not know. Special ones (/proc, /sys, …) are refused regardless.
	AllowNetworkFS bool
	// StrictVirtual counts virtiofs and 9p shares of the virtual machine's host as
	// network file systems.
	StrictVirtual bool
	// Mounts, unless nil, is asked as well what a file is on, and the worse of the two answers
	// counts: that of the table and that of the kernel for the descriptor. It is of use on
	// Linux alone, and is to have been opened.
	Mounts *MountTable
	// NoLinks refuses a name with a symbolic link anywhere in it, wherever that leads.
	NoLinks bool
	// DenyHardLinks refuses a file that has more than one link.
	DenyHardLinks bool
	// MaxBytes refuses a file that is larger. Zero means that any size is good.
	MaxBytes int64
	// Seen is what was seen at the name a moment before, if anything was: a file is opened
	// without a look at it then, though judged once it is open. It counts for ReadyFile.
	Seen Look
	// Admit, unless nil, is asked about each place that an operation has come to, and its
	// error ends the operation with that reason. Where something is to be made it is asked
	// before anything is, and once more before the file gets its name.
	Admit func(Place) error
}

// admit asks Admit, if there is one.
func (r Rules) admit(p Place) error {
	if r.Admit == nil {
		return nil
	}
	return r.Admit(p)
}

// A Look is what tells a regular file from all others, as it was seen by a descriptor that can
// do nothing else. The zero value saw none.
type Look struct {
	Device, Inode uint64
	// Mount is the number of its mount that comes to no other mount.
	Mount uint64
}

// A Place is where an operation has come to.
type Place struct {
	// FD is open on it until Admit returns: the file or directory that was opened, or the
	// directory in which something is to be made or replaced.
	FD int
	// Names are what is to be made or replaced there, each in the one before: missing
	// directories, and the file last. There are none where a file or directory is read.
	Names []string
}

// Info is what was true of a file when it was judged.
type Info struct {
	Size     int64
	Mode     fs.FileMode
	UID, GID uint32
	Links    uint64
	// Device and Inode tell whether two descriptors are one file.
	Device, Inode uint64
	// Modified is when the content was last changed, Changed when anything of the file
	// was, which nobody can set back.
	Modified, Changed time.Time
}

// WriteOptions say how a file may be written. The zero value makes a new file in a
// directory that exists and replaces nothing.
type WriteOptions struct {
	// Rules judge the directory that is written to and, by MaxBytes, what is written;
	// DenyHardLinks has no part in it.
	Rules
	// Overwrite allows an existing file to be replaced.
	Overwrite bool
	// NoCreate refuses to make a file that does not exist.
	NoCreate bool
	// CreateParents makes missing directories, mode 0700.
	CreateParents bool
	// AllowHardLink allows replacing a file that has more than one link; its other
	// names keep the old content.
	AllowHardLink bool
}

const maxNameBytes = 4096

// checkName refuses what no kernel would take as a path.
func checkName(name string) error {
	switch {
	case name == "":
		return refusal(durward.EmptyPath)
	case strings.IndexByte(name, 0) >= 0:
		return refusal(durward.NULInPath)
	case len(name) > maxNameBytes:
		return refusal(durward.PathTooLong)
	}
	return nil
}
