//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/durward/durward/internal/sandbox/seccomp"
)

// A Call is one planned system call: pure data, to be run by code that can neither
// allocate nor call into Go. A list of them ends with one that executes a program.
type Call struct {
	// Name says what the call is for, in the words of an error: "own session".
	Name string
	NR   uintptr
	Args []Arg
	// Allow is an error to pass over; zero allows none, AnyError every one.
	Allow syscall.Errno
}

// AnyError passes over every error of a call.
const AnyError = ^syscall.Errno(0)

// An Arg is one argument of a Call.
type Arg struct {
	kind argKind
	n    uintptr
	data []byte
	list []string
}

type argKind uint8

const (
	argNumber argKind = iota
	// argData is the address of the bytes in data.
	argData
	// argResult is what the call n places before this one returned.
	argResult
	// argStrings is the address of a null-terminated array of C strings.
	argStrings
	// argArgv and argEnvp are the vectors the reaper itself was executed with.
	argArgv
	argEnvp
	// argProgram is the address of a filter program, whose instructions are data.
	argProgram
	// argMessage is the address of a message of one byte with room for n descriptors.
	argMessage
)

func number[T ~int | ~uintptr | ~uint32](n T) Arg { return Arg{n: uintptr(n)} }

// data is the address of these bytes, text that of a C string.
func data(b []byte) Arg { return Arg{kind: argData, data: b} }
func text(s string) Arg { return data(append([]byte(s), 0)) }

// result is what the call that stands so many places before this one returns.
func result(before int) Arg { return Arg{kind: argResult, n: uintptr(before)} }

func vector(list []string) Arg { return Arg{kind: argStrings, list: list} }
func reaperArgv() Arg          { return Arg{kind: argArgv} }
func reaperEnvp() Arg          { return Arg{kind: argEnvp} }

// program is a filter as the kernel takes it.
func program(f seccomp.Filter) Arg {
	return Arg{kind: argProgram, data: f.Bytes(), list: []string{f.Name()}}
}

// message is where a received message with so many descriptors goes; nobody reads it.
func message(descriptors int) Arg { return Arg{kind: argMessage, n: uintptr(descriptors)} }

// String gives "what for: call(arguments)".
func (c Call) String() string { return fmt.Sprintf("%s: %s", c.Name, c.expression()) }

func (c Call) expression() string {
	parts := make([]string, len(c.Args))
	for i, a := range c.Args {
		parts[i] = a.String()
	}
	return fmt.Sprintf("%s(%s)", syscallName(c.NR), strings.Join(parts, ", "))
}

// cString gives the text of a C string.
func (a Arg) cString() (string, bool) {
	s, ok := strings.CutSuffix(string(a.data), "\x00")
	return s, ok && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// String gives the argument as a reader of the plan sees it.
func (a Arg) String() string {
	switch a.kind {
	case argData:
		if s, ok := a.cString(); ok {
			return fmt.Sprintf("%q", s)
		}
		return fmt.Sprintf("{%x}", a.data)
	case argResult:
		return fmt.Sprintf("result -%d", a.n)
	case argStrings:
		return fmt.Sprintf("%q", a.list)
	case argArgv:
		return "argv"
	case argEnvp:
		return "envp"
	case argProgram:
		return fmt.Sprintf("filter %s of %d instructions", a.list[0], len(a.data)/instructionSize)
	case argMessage:
		return fmt.Sprintf("message of %d descriptors", a.n)
	}
	return fmt.Sprintf("%d", int64(a.n))
}
