//go:build unix

package content

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// can looks for one right, given as a bit of others.
func (u User) can(path string, right os.FileMode) (bool, identity, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, identity{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false, identity{}, errors.ErrUnsupported
	}
	file := identity{uint64(st.Dev), st.Ino}
	mode := info.Mode().Perm()
	if u.UID == 0 || u.UID == st.Uid || mode&right != 0 {
		return true, file, nil
	}
	// With an access list, the bits of the group are the most that it gives to anybody.
	byGroup := mode&(right<<3) != 0 && (slices.Contains(u.GIDs, st.Gid) || hasAccessList(path))
	return byGroup, file, nil
}

func hasAccessList(path string) bool {
	n, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0 || err == unix.EACCES || err == unix.EPERM
}
