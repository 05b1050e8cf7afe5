package fsroot

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A mount is a line of the mount table, as far as it matters here.
type mount struct {
	id      string
	point   string
	fstype  string
	options []string
	// localDisk is set when the file system is on a block device of this machine.
	localDisk bool
}

var errNoMount = errors.New("no such mount in the mount table")

// mountOf finds the mount that an open file is on: by its number, so that neither the
// spelling of a mount point nor one mount over another can mislead.
//
// It looks from a goroutine of its own, which no thread is locked to: the caller's may be
// held to rules under which the mount table cannot be read.
func mountOf(fd int) (m mount, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		m, err = findMount(fd)
	}()
	<-done
	return m, err
}

func findMount(fd int) (mount, error) {
	id, err := mountID(fd)
	if err != nil {
		return mount{}, err
	}
	table, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		return mount{}, err
	}
	defer table.Close()
	list, err := parseMounts(table)
	for _, m := range list {
		if m.id == id {
			return m, nil
		}
	}
	return mount{}, errors.Join(errNoMount, err)
}

func mountID(fd int) (string, error) {
	text, err := os.ReadFile("/proc/thread-self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strings.TrimSpace(id), nil
		}
	}
	return "", errNoMount
}

// mountNumber gives what mountID does, from Linux 5.8 on, and asks no file system.
func mountNumber(fd int) (string, bool) {
	var x unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &x)
	return strconv.FormatUint(x.Mnt_id, 10), err == nil && x.Mask&unix.STATX_MNT_ID != 0
}

// parseMount reads one line:
//
//	36 35 8:17 / /mnt/disk rw,noatime shared:1 - fuseblk /dev/sdb1 rw,user_id=0
func parseMount(line string) (mount, bool) {
	before, after, found := strings.Cut(line, " - ")
	place, kind := strings.Fields(before), strings.Fields(after)
	if !found || len(place) < 6 || len(kind) < 2 {
		return mount{}, false
	}
	return mount{
		id:        place[0],
		point:     unescaped(place[4]),
		fstype:    kind[0],
		options:   strings.Split(kind[len(kind)-1], ","),
		localDisk: isLocalDisk(place[2]),
	}, true
}

// isLocalDisk judges a device number "major:minor". Major 0 is no device at all, 43
// and 147 are the far ends of network block devices.
func isLocalDisk(device string) bool {
	major, _, _ := strings.Cut(device, ":")
	switch major {
	case "", "0", "43", "147":
		return false
	}
	return true
}
