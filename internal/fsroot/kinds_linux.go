package fsroot

import "golang.org/x/sys/unix"

// kinds are the classes of a file system. The zero value is none that anybody vouches for.
type kinds struct {
	table  filesystem // by the mount table
	kernel filesystem // by the kernel's word for a descriptor
	both   bool       // the kernel was asked, too
}

// maxKnown bounds the mounts of which a table keeps what they are.
const maxKnown = 1 << 10

// kindsOf classes the file system that an opened file is on as rules want it told: where they
// ask no table, that has nothing to say.
func kindsOf(fd int, rules Rules) (kinds, error) {
	if rules.Mounts == nil || rules.AllowNetworkFS {
		kernel, err := filesystemOf(fd)
		return kinds{table: local, kernel: kernel, both: true}, err
	}
	return rules.Mounts.kindsOf(fd, lastingNumber(fd), true)
}

// kindsOf classes what an open file is on, whose mount has the lasting number, or zero. No file
// system is asked anything unless it is to be both kinds.
func (m *MountTable) kindsOf(fd int, number uint64, both bool) (kinds, error) {
	k, lasts := m.knownAs(number)
	if lasts && (k.both || !both) {
		return k, nil
	}
	if !lasts {
		found, byNumber, err := m.under(fd)
		if err == nil { // what the table does not tell is unknown
			k.table = found.class()
		}
		lasts = byNumber
	}
	if both {
		kernel, err := filesystemOf(fd)
		if err != nil {
			return kinds{}, err
		}
		k.kernel, k.both = kernel, true
	}
	if lasts {
		m.know(number, k)
	}
	return k, nil
}

func (m *MountTable) knownAs(number uint64) (kinds, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.known[number]
	return k, ok
}

// know keeps what a mount is. That does not change as long as it is there, and its lasting
// number comes to no other; one without such a number is not known again.
func (m *MountTable) know(number uint64, k kinds) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if number == 0 || m.shut {
		return
	}
	if len(m.known) == maxKnown {
		clear(m.known)
	}
	if m.known == nil {
		m.known = make(map[uint64]kinds)
	}
	m.known[number] = k
}

// lastingNumber gives the number of the mount that an open file is on which no other mount
// ever gets, from Linux 6.8 on; else zero. It asks no file system.
func lastingNumber(fd int) uint64 {
	var x unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID_UNIQUE, &x) != nil {
		return 0
	}
	return lastingIn(&x)
}

// lastingIn is the lasting number that was asked for with other things, or zero.
func lastingIn(x *unix.Statx_t) uint64 {
	if x.Mask&unix.STATX_MNT_ID_UNIQUE == 0 {
		return 0
	}
	return x.Mnt_id
}
