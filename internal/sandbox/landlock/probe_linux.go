package landlock

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// Probe finds out, by doing it on a thread that ends, whether this kernel holds a thread
// to a ruleset, and what of its interface there is to use. The answer is kept for the
// life of the process. An error has reason SandboxUnavailable.
var Probe = sync.OnceValues(probe)

func probe() (ABI, error) {
	abi, err := version()
	if err != nil {
		return 0, unavailable("ask the kernel", err, remedy(err))
	}
	abi = min(abi, Newest)
	t, err := openThread(Rules{}, abi)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	return abi, t.do(readRoot)
}

func remedy(err error) string {
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return "Landlock is switched off: add landlock to the kernel's lsm= parameter and restart the machine"
	case errors.Is(err, unix.ENOSYS):
		return "Landlock needs Linux 5.13 or later built with CONFIG_SECURITY_LANDLOCK, and a container that permits its system calls"
	}
	return "permit the system calls landlock_create_ruleset, landlock_add_rule and landlock_restrict_self to durward"
}

var errNoEffect = errors.New("it can still list /")

// readRoot wants to be refused.
func readRoot() error {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EACCES):
		return nil
	case err == nil:
		unix.Close(fd)
		err = errNoEffect
	}
	return unavailable("restrict a thread", err, "this kernel's Landlock has no effect; use another kernel")
}
