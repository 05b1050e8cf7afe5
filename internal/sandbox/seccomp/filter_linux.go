//go:build linux && (amd64 || arm64)

// Package seccomp compiles what a confined command may ask of the kernel into a filter
// of its system calls.
//
// What no rule names is allowed. A refusal is EPERM, or ENOSYS where a program then does
// the same by an older call that can be judged; only calls of another architecture kill.
// [Filter.String] prints the rules, one to a line:
//
//	EPERM   set-id bits: fchmod if mode has S_ISUID or S_ISGID
//	EPERM   sockets: socket unless family is AF_UNIX
//
// Compiling is pure. Whoever loads a filter needs no_new_privs or CAP_SYS_ADMIN, and
// loads it last: it also holds for what comes between it and the program.
package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// name changes whenever a rule does: a report that names a filter says what it refused.
const name = "default-2"

// A Policy is what differs between filters. Its zero value is the strictest, and equal
// policies have equal filters.
type Policy struct {
	// Network says which sockets may be made beside those of AF_UNIX. NetLoopback and
	// NetAllowlist give TCP and UDP, and leave it to a network namespace where they
	// lead; NetFull adds netlink for route queries; everything else gives none.
	Network durward.NetworkMode
	// Unix allows all sockets of AF_UNIX. Without it there are only pairs, and of these
	// only streams and sequenced packets: one end of a datagram pair could still send to
	// any other socket.
	Unix bool
}

// A Filter is a compiled [Policy]. It does not change and may be used by many at once.
type Filter struct {
	policy  Policy
	rules   []rule
	program []unix.SockFilter
}

// Compile gives the filter of a policy. It fails for none.
func Compile(p Policy) Filter {
	rules := p.rules()
	return Filter{policy: p, rules: rules, program: assemble(decide(rules))}
}

// Name is what reports call the filter. It stands for a list of rules, whatever the
// sockets of the policy.
func (f Filter) Name() string { return name }

// Sockets says in words which may be made.
func (f Filter) Sockets() string {
	words := []string{"pairs of sockets"}
	if f.policy.Unix {
		words = []string{"AF_UNIX"}
	}
	switch f.policy.Network {
	case durward.NetLoopback, durward.NetAllowlist:
		words = append(words, "TCP", "UDP")
	case durward.NetFull:
		words = append(words, "TCP", "UDP", "route queries")
	}
	return strings.Join(words, ", ")
}

// Program gives the instructions that seccomp(SECCOMP_SET_MODE_FILTER) takes in a
// unix.SockFprog. The slice is the caller's own.
func (f Filter) Program() []unix.SockFilter { return slices.Clone(f.program) }

// Bytes gives the same instructions as they lie in memory, 8 bytes each.
func (f Filter) Bytes() []byte {
	b := make([]byte, 0, 8*len(f.program))
	for _, i := range f.program {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// String gives the rules, one to a line, in an order that does not change.
func (f Filter) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-7s every architecture but %s\n", kill, archName)
	for _, r := range f.rules {
		fmt.Fprintln(&b, r)
	}
	fmt.Fprintf(&b, "%-7s everything else\n", allow)
	return b.String()
}
