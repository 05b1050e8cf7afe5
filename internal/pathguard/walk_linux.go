package pathguard

import "golang.org/x/sys/unix"

const handleFlags = unix.O_PATH

// procRoot is the number of the top directory of any /proc.
const procRoot = 1

// isMagic reports whether links in a directory may lead where their text does not say, as
// those of a process in /proc do. The links at the top of /proc are text.
func isMagic(dir int) bool {
	var on unix.Statfs_t
	if unix.Fstatfs(dir, &on) != nil {
		return true
	}
	if on.Type != unix.PROC_SUPER_MAGIC {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(dir, &st) != nil || st.Ino != procRoot
}
