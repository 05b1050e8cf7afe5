//go:build unix

package cli

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// untrusted says why somebody other than root and the user euid could have written a
// file, or could put another one in its place in a folder; nil when they could not.
func untrusted(path string, info fs.FileInfo, euid int) error {
	return writtenByOthers(path, info, euid, 0o022)
}

// writtenByOthers is untrusted where it counts which bits of a mode let others write.
func writtenByOthers(path string, info fs.FileInfo, euid int, others fs.FileMode) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("nobody knows to whom %s belongs", path)
	}
	name := "it"
	if info.IsDir() {
		name = "the folder " + path
	}
	switch perm := info.Mode().Perm(); {
	case stat.Uid != 0 && int(stat.Uid) != euid:
		return &trustError{
			why: fmt.Sprintf("%s belongs to user %d, who is neither root nor this user", name, stat.Uid),
			fix: fmt.Sprintf("chown %d %s", euid, shellWord(path)),
		}
	case perm&others != 0 && !(info.IsDir() && info.Mode()&fs.ModeSticky != 0):
		return &trustError{
			why: fmt.Sprintf("others may write to %s (mode %04o)", name, perm),
			fix: "chmod go-w " + shellWord(path),
		}
	}
	return nil
}

func (p *program) untrusted(path string, info fs.FileInfo) error {
	return untrusted(path, info, os.Geteuid())
}

// othersWrite is untrusted for the files of other programs: those may be open to the group of
// their owner, which on many systems has no other member.
func (p *program) othersWrite(path string, info fs.FileInfo) error {
	return writtenByOthers(path, info, os.Geteuid(), 0o002)
}
