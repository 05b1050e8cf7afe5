//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/sandbox/landlock"
)

// A Host is what was found out about this machine, by doing it once.
type Host struct {
	// UID and GID are the runtime's effective ids; HostUID is what UID is outside the
	// user namespace the runtime lives in.
	UID, GID, HostUID uint32
	// Trials are the containments in order of preference and how each one went.
	Trials []Trial
	// SharedErr says why no process can share our memory until it executes a program; nil
	// when one can. Where none can, each start makes a copy.
	SharedErr error
	// UserNamespace is set when processes can be counted in a user namespace of
	// their own.
	UserNamespace bool
	// UserNamespaceErr says why not.
	UserNamespaceErr error
	// Keyrings is set when this kernel has keys and lets us use them.
	Keyrings bool
	// VictimErr says why a command cannot be had to be killed before the runtime when
	// memory runs out; nil when it can.
	VictimErr error
	// MaxLimits are the runtime's own hard limits, by resource number.
	MaxLimits hardLimits

	uidMap       string // of our user namespace; empty for none
	machineFiles string // of /proc, with blanks between them
	// landlock gives the version of Landlock, zero where there is none. It is asked at
	// level 1 and above; nil means that there is none.
	landlock func() landlock.ABI

	cgroups *cgroupHome
	memory  *memoryProbe // nil where the kernel is not to bound memory
	users   *userNamespaces
	nets    *netNamespaces
	rooms   *rooms
	rules   *landlock.Shelf // of level 1
	mounts  *fsroot.MountTable
	plans   *plans
	levels  *levelProbe
	later   *sync.WaitGroup // what no answer waits for
}

// A Trial is one containment and how its probe went; a nil Err means that an orphan
// that had fled was seen to be dead.
type Trial struct {
	Containment Containment
	Err         error
}

// best gives the best containment that works, or "".
func (h Host) best() Containment {
	for _, t := range h.Trials {
		if t.Err == nil {
			return t.Containment
		}
	}
	return ""
}

// bestFor is best, but for a request that prefers another one.
func (h Host) bestFor(r Request) Containment {
	if r.HostPIDs && slices.ContainsFunc(h.Trials, func(t Trial) bool { return t.Containment == Cgroup && t.Err == nil }) {
		return Cgroup
	}
	return h.best()
}

// With gives the host as it would be if only that containment worked.
func (h Host) With(c Containment) Host {
	for _, t := range h.Trials {
		if t.Containment == c {
			h.Trials = []Trial{t}
			return h
		}
	}
	h.Trials = nil
	return h
}

// ourselves is a host of which nothing is known but whom we run as.
func ourselves() Host {
	h := Host{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	h.uidMap = uidMap()
	h.HostUID = outside(h.uidMap, h.UID)
	return h
}

func newHost() Host {
	h := ourselves()
	h.memory, h.nets, h.rooms, h.rules, h.mounts = &memoryProbe{}, &netNamespaces{}, &rooms{}, &landlock.Shelf{}, &fsroot.MountTable{}
	h.plans, h.levels, h.later = &plans{}, &levelProbe{}, &sync.WaitGroup{}
	h.landlock = landlockVersion
	h.machineFiles = machineFiles()
	h.VictimErr = tryVictim()
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	h.Keyrings = err != unix.ENOSYS && err != unix.EPERM // what we cannot use, nobody inherits
	for r := range h.MaxLimits {
		l := unix.Rlimit{Max: unix.RLIM_INFINITY}
		_ = unix.Prlimit(0, r, nil, &l) // what the kernel does not know is not limited
		h.MaxLimits[r] = l.Max
	}
	h.users = newUserNamespaces(h.MaxLimits[unix.RLIMIT_NPROC])
	return h
}

func landlockVersion() landlock.ABI {
	abi, _ := landlock.Probe() // the level that cannot do without it asks why
	return abi
}

// machineFiles are those of /proc that tell of the machine or rule it, as far as this
// kernel has them.
func machineFiles() string {
	files := []string{"kcore", "keys", "timer_list", "sysrq-trigger"}
	return strings.Join(slices.DeleteFunc(files, func(name string) bool {
		_, err := os.Lstat("/proc/" + name)
		return err != nil
	}), " ")
}

// victimFile holds how soon the kernel kills a process when memory runs out: from -1000,
// never, to 1000.
const victimFile = "/proc/self/oom_score_adj"

// tryVictim sees whether a process can be made one to be killed before us.
func tryVictim() error {
	f, err := os.OpenFile(victimFile, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if own := strings.TrimSpace(readAll(f)); own == "1000" {
		return errors.New("durward is itself among the first to be killed (" + victimFile + " is " + own + ")")
	}
	return nil
}

// uidMap is the map of our user namespace, which never changes.
var uidMap = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/self/uid_map")
	return string(text)
})

// HostUID follows uid through the map of our user namespace.
func HostUID(uid uint32) uint32 { return outside(uidMap(), uid) }

// outside follows uid through a map: "inside outside count" to a line. Without a map it
// is taken for what it is.
func outside(uidMap string, uid uint32) uint32 {
	for line := range strings.Lines(uidMap) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		var n [3]uint64
		for i := range n {
			n[i], _ = strconv.ParseUint(f[i], 10, 32)
		}
		if u := uint64(uid); u >= n[0] && u-n[0] < n[2] {
			return uint32(u - n[0] + n[1])
		}
	}
	return uid
}
