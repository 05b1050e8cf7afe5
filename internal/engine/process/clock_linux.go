package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot is the time since the machine was started, its sleep included.
func sinceBoot() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // it cannot fail
	return time.Duration(t.Nano())
}
