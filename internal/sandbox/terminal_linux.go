//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// OpenTerminal makes a pseudo-terminal of a size and gives our end and the command's.
// The command's end belongs to uid.
func OpenTerminal(size durward.WindowSize, uid uint32) (master, slave *os.File, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open("/dev/ptmx", flags|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	slaveFD, err := peer(fd, flags)
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	slave = os.NewFile(uintptr(slaveFD), "terminal")
	if err = ResizeTerminal(master, size); err == nil && int(uid) != os.Geteuid() {
		err = slave.Chown(int(uid), -1)
	}
	if err != nil {
		master.Close()
		slave.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// peer opens the other end by descriptor; no path is looked up.
func peer(master, flags int) (slave int, err error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, fmt.Errorf("unlock the terminal: %w", err)
	}
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(flags))
	if errno != 0 {
		return -1, fmt.Errorf("open the terminal: %w", errno)
	}
	return int(fd), nil
}

// ResizeTerminal sets the size of a terminal by its master; the kernel tells the
// foreground process group.
func ResizeTerminal(master *os.File, size durward.WindowSize) error {
	conn, err := master.SyscallConn()
	if err != nil {
		return err
	}
	var ioctlErr error
	err = conn.Control(func(fd uintptr) {
		ioctlErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	if err != nil {
		return err
	}
	return ioctlErr
}
