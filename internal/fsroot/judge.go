//go:build linux || darwin

package fsroot

import (
	"io/fs"
	"time"

	"github.com/durward/durward"
	"golang.org/x/sys/unix"
)

// judgeFile takes every verdict on an opened file.
func judgeFile(fd int, rules Rules) (Info, error) {
	return judgeFileBy(func(fd int, _ uint64) error { return judgeFilesystem(fd, rules) }, fd, rules)
}

// judgeFound is judgeFile for a reader who takes files from any file system that holds
// files: of one device that is asked once.
func (r *Root) judgeFound(fd int, rules Rules) (Info, error) {
	if !rules.AllowNetworkFS {
		return judgeFile(fd, rules)
	}
	return judgeFileBy(func(fd int, device uint64) error {
		if _, known := r.devices.Load(device); known {
			return nil
		}
		err := judgeFilesystem(fd, rules)
		if err == nil {
			r.devices.Store(device, struct{}{})
		}
		return err
	}, fd, rules)
}

func judgeFileBy(filesystem func(fd int, device uint64) error, fd int, rules Rules) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, err
	}
	if !isRegular(&st) {
		return Info{}, refusal(durward.NotRegularFile)
	}
	if err := filesystem(fd, uint64(st.Dev)); err != nil {
		return Info{}, err
	}
	if err := rules.admit(Place{FD: fd}); err != nil {
		return Info{}, err
	}
	info := infoOf(&st)
	switch {
	case rules.DenyHardLinks && info.Links > 1:
		return Info{}, refusal(durward.HardLink)
	case rules.MaxBytes > 0 && info.Size > rules.MaxBytes:
		return Info{}, refusal(durward.MaxFileBytes)
	}
	return info, nil
}

// judgeDir asks of an opened directory that it can be entered, and judges where it is.
func judgeDir(fd int, rules Rules) error {
	if err := searchable(fd); err != nil {
		return err
	}
	if err := judgeFilesystem(fd, rules); err != nil {
		return err
	}
	return rules.admit(Place{FD: fd})
}

// judgeFilesystem judges the file system that an opened file or directory is on. A
// mount below the root is judged by what it is, not by what the root is.
func judgeFilesystem(fd int, rules Rules) error {
	k, err := kindsOf(fd, rules)
	if err != nil {
		return err
	}
	return k.judge(rules)
}

func (k kinds) judge(rules Rules) error {
	if err := judgeKind(k.kernel, rules); err != nil {
		return err
	}
	return judgeKind(k.table, rules)
}

func judgeKind(kind filesystem, rules Rules) error {
	switch {
	case kind == special:
		return refusal(durward.SpecialFilesystem)
	case kind == local, rules.AllowNetworkFS:
		return nil
	case kind == hostShare && !rules.StrictVirtual:
		return nil
	}
	return refusal(durward.NetworkFS)
}

// A filesystem is a class of file systems. The zero value is one nobody vouches for.
type filesystem int

const (
	unknown   filesystem = iota
	local                // on this machine's own storage or memory
	network              // on another machine, or behind a program that may ask one
	hostShare            // a folder of the host of this virtual machine
	special              // an interface of the kernel in the form of files
)

func isRegular(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

func infoOf(st *unix.Stat_t) Info {
	return Info{
		Size:   st.Size,
		Mode:   fs.FileMode(st.Mode) & fs.ModePerm,
		UID:    st.Uid,
		GID:    st.Gid,
		Links:  uint64(st.Nlink),
		Device: uint64(st.Dev),
		Inode:  st.Ino,

		Modified: time.Unix(st.Mtim.Unix()),
		Changed:  time.Unix(st.Ctim.Unix()),
	}
}
