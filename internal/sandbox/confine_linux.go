//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/sandbox/landlock"
	"github.com/durward/durward/internal/sandbox/seccomp"
)

// A restraint is what level 1 adds in the command's own process, and level 2 keeps.
type restraint struct {
	at      durward.Level
	network durward.NetworkMode
	abi     landlock.ABI // zero where there is no Landlock
	unix    bool         // sockets of AF_UNIX may be made
	tmpExec bool         // programs may be executed from the private /tmp
	runsAll bool         // and from all that is seen at level 2
	copies  bool         // what is written lands in copies
	keep    bool         // the command keeps the runtime's user, host root
}

// confines reports whether there is any.
func (r restraint) confines() bool { return r.at >= durward.LevelRestrict }

// isolates reports whether the command has a room of its own.
func (r restraint) isolates() bool { return r.at >= durward.LevelIsolate }

// runsTmp is the right to execute what lies in the private /tmp.
func (r restraint) runsTmp() landlock.Right {
	if r.tmpExec {
		return landlock.Execute
	}
	return 0
}

// confine gives the calls, the last before the program is executed. The filter holds for
// what comes behind it, too.
func (r restraint) confine() []Call {
	if !r.confines() {
		return nil
	}
	calls := []Call{{Name: "no new privileges", NR: unix.SYS_PRCTL, Args: []Arg{number(unix.PR_SET_NO_NEW_PRIVS), number(1), number(0), number(0), number(0)}}}
	if r.abi > 0 {
		calls = append(calls, Call{Name: "landlock", NR: unix.SYS_LANDLOCK_RESTRICT_SELF, Args: []Arg{number(reaperRulesFD), number(r.abi.Flags())}})
	}
	if r.keep {
		calls = append(calls, Call{Name: "root without privilege", NR: unix.SYS_PRCTL, Args: []Arg{number(unix.PR_SET_SECUREBITS), number(noRoot)}})
	}
	return append(calls, noCapabilities(),
		Call{Name: "filter of system calls", NR: unix.SYS_SECCOMP, Args: []Arg{number(unix.SECCOMP_SET_MODE_FILTER), number(0), program(r.filter())}})
}

// noRoot takes from user id 0 what it has beside capabilities: to regain them.
const noRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7 // noroot, no_setuid_fixup, no_cap_ambient_raise, each locked

// noCapabilities gives up every one.
func noCapabilities() Call {
	const version3 = 0x20080522
	header := binary.NativeEndian.AppendUint32(nil, version3)
	header = binary.NativeEndian.AppendUint32(header, 0)
	return Call{Name: "no capabilities", NR: unix.SYS_CAPSET, Args: []Arg{data(header), data(make([]byte, 24))}}
}

func (r restraint) filter() seccomp.Filter {
	return seccomp.Compile(seccomp.Policy{Network: r.network, Unix: r.unix})
}
