//go:build linux && (amd64 || arm64)

package seccomp

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// An answer is what a filter returns to the kernel.
type answer uint32

const (
	allow   answer = unix.SECCOMP_RET_ALLOW
	kill    answer = unix.SECCOMP_RET_KILL_PROCESS
	refused answer = unix.SECCOMP_RET_ERRNO | answer(unix.EPERM)
	missing answer = unix.SECCOMP_RET_ERRNO | answer(unix.ENOSYS)
)

func (a answer) String() string {
	switch a {
	case allow:
		return "allow"
	case kill:
		return "kill"
	case missing:
		return "ENOSYS"
	}
	return "EPERM"
}

// A rule answers some system calls with something else than the kernel would.
type rule struct {
	about  string // what the calls do, or have to do with
	answer answer
	calls  []call
	spans  []span // numbers without a name
	// Where given, the rule is only for arguments of which one of these holds, or for
	// those of which none does.
	only, unless []all
}

// A call is a system call by the number it has on this architecture.
type call struct {
	name string
	nr   uint32
}

// A span is all the numbers from first to last.
type span struct{ first, last uint32 }

// all holds when each of its tests does.
type all []test

// A test holds when an argument is one of some values or, for bits, has any of them.
type test struct {
	of     argument
	bits   bool
	values []value
}

// An argument is the lower half of one, masked. To the kernel none of those that are
// looked at is wider: it drops the upper half, too.
type argument struct {
	name string
	at   int
	mask uint32
}

// whole is the mask that keeps every bit.
const whole = ^uint32(0)

type value struct {
	name string
	n    uint32
}

func isOneOf(a argument, values ...value) test { return test{of: a, values: values} }
func hasAny(a argument, bits ...value) test    { return test{of: a, bits: true, values: bits} }

// String gives "EPERM   about: call, call if this is so and that is so; or …".
func (r rule) String() string {
	line := fmt.Sprintf("%-7s %s", r.answer, r.about)
	if len(r.calls) > 0 {
		line += ": " + join(r.calls, ", ")
	}
	switch {
	case r.only != nil:
		return line + " if " + join(r.only, "; or ")
	case r.unless != nil:
		return line + " unless " + join(r.unless, "; or ")
	}
	return line
}

func (a all) String() string { return join(a, " and ") }

func (t test) String() string {
	if t.bits {
		return t.of.name + " has " + join(t.values, " or ")
	}
	return t.of.name + " is " + join(t.values, " or ")
}

func (c call) String() string  { return c.name }
func (v value) String() string { return v.name }

func join[T fmt.Stringer](list []T, between string) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = s.String()
	}
	return strings.Join(parts, between)
}
