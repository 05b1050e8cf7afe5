package fsroot

import (
	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// resolveCached has the kernel find only what it remembers. Before Linux 5.12 it finds
// nothing so.
const resolveCached = 0x20

// An Openat2 is openat2(2) for what the kernel remembers: it gives an error where it would have
// to wait for a file system.
type Openat2 func(dir int, name string, how unix.OpenHow) (int, error)

// ReadyFile is OpenFile for a file of which nothing has to be waited for; open opens it. What
// mounts does not say to be on this machine's own storage is no such file. If it reports
// false, OpenFile is to say what there is.
func (r *Root) ReadyFile(name string, rules Rules, mounts *MountTable, open Openat2) (f *File, ok bool) {
	fd, err := r.lead(name, links(rules.NoLinks), func(root int, name string, l links) (int, error) {
		if !rules.Seen.ready(mounts) {
			if err := peekReady(root, name, l, mounts); err != nil {
				return -1, err
			}
		}
		return open(root, name, howTo(readFlags&^unix.O_NONBLOCK, l, resolveCached))
	})
	if err != nil {
		return nil, false
	}
	info, err := judgeFileBy(rules.judgeSeen, fd, rules)
	if err != nil || !rules.Seen.isOf(info) {
		unix.Close(fd)
		return nil, false
	}
	return &File{Info: info, name: name, fd: fd}, true
}

// Seen is what statx(2) saw of a regular file, asked for SeenMask and the type.
func Seen(x *unix.Statx_t) Look {
	return Look{Device: unix.Mkdev(x.Dev_major, x.Dev_minor), Inode: x.Ino, Mount: lastingIn(x)}
}

// SeenMask is what [Seen] has to be told.
const SeenMask = unix.STATX_INO | unix.STATX_MNT_ID_UNIQUE

// ready reports whether a file was seen that is known to be on storage of this machine.
func (l Look) ready(mounts *MountTable) bool {
	k, known := mounts.knownAs(l.Mount)
	return known && k.table == local
}

// judgeSeen judges the file system of a file on a device. If that is the device of the file that
// was seen, what its mount is known to be is not asked again.
func (r Rules) judgeSeen(fd int, device uint64) error {
	if r.Mounts != nil && !r.AllowNetworkFS && r.Seen.Device == device {
		if k, known := r.Mounts.knownAs(r.Seen.Mount); known && k.both {
			return k.judge(r)
		}
	}
	return judgeFilesystem(fd, r)
}

// isOf reports whether a file is the one that was seen, if any was.
func (l Look) isOf(info Info) bool {
	return l == Look{} || l.Device == info.Device && l.Inode == info.Inode
}

// peekReady refuses what is no regular file, and what is not on storage of this machine. It
// asks no file system.
func peekReady(root int, name string, l links, mounts *MountTable) error {
	how := howTo(unix.O_PATH|unix.O_CLOEXEC, l, resolveCached)
	fd, err := unix.Openat2(root, name, &how)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var x unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_MNT_ID_UNIQUE, &x); err != nil {
		return err
	}
	if x.Mode&unix.S_IFMT != unix.S_IFREG {
		return refusal(durward.NotRegularFile)
	}
	k, err := mounts.kindsOf(fd, lastingIn(&x), false)
	if err == nil && k.table != local {
		err = refusal(durward.NetworkFS)
	}
	return err
}

// ReadReady reads at a place of the file what the kernel has in memory, and waits for no file
// system. It reports whether that fills p; if not, p may hold anything.
func (f *File) ReadReady(p []byte, offset int64) bool {
	switch {
	case offset < 0: // to the kernel that is wherever the file stands
		return false
	case len(p) == 0:
		return true
	}
	n, err := unix.Preadv2(f.fd, [][]byte{p}, offset, unix.RWF_NOWAIT)
	return err == nil && n == len(p)
}
