package landlock

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// A child that sees another tree of files than we do makes its ruleset itself, when what
// it is to be given has been mounted. These are the arguments of its calls.

// Attributes is the argument that makes a ruleset of all that r denies.
func (r Rules) Attributes(abi ABI) []byte {
	a := r.attributes(abi)
	b := binary.NativeEndian.AppendUint64(nil, a.fs)
	b = binary.NativeEndian.AppendUint64(b, a.net)
	return binary.NativeEndian.AppendUint64(b, a.scoped)
}

// Beneath is the argument that gives rights to what fd will be open on: a directory and
// all beneath it, or a file. It is nil where they come to nothing.
func (abi ABI) Beneath(rights Right, dir bool, fd int) []byte {
	access := rights.access(dir) & abi.bits(fsRight)
	if access == 0 {
		return nil
	}
	return beneath(access, fd)
}

// Flags are the flags to restrict a process with: denials are an ordinary thing and
// are kept out of the kernel's log, where that takes asking.
func (abi ABI) Flags() uint32 {
	return uint32(abi.bits(flagRight)) & (unix.LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF | unix.LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF)
}

// Gaps names what r denies and this version cannot, as [Ruleset.Gaps] does.
func (r Rules) Gaps(abi ABI) []Gap { return r.gaps(abi) }
