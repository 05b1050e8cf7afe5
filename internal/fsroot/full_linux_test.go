package fsroot

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// mountTiny puts a file system of 128 KiB over dir, seen by this process alone.
func mountTiny(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("tiny", dir, "tmpfs", 0, "size=128k")
}

func TestFullDiskLeavesNothing(t *testing.T) {
	out, err := again(t, "disk-full", ownMounts(), t.TempDir()).CombinedOutput()
	if errors.Is(err, syscall.EPERM) && os.Geteuid() != 0 {
		return // no user namespaces here: TestFileSizeLimitLeavesNothing stands in
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// ownMounts gives a process a mount table of its own; a user who is not root needs a
// user namespace for that.
func ownMounts() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}
