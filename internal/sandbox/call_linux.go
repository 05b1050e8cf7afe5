//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

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
	// name stands for n where the number tells a reader nothing, or is not the same on
	// every architecture.
	name string
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
	// argEnviron is the same of an environment, whose values nobody is shown.
	argEnviron
	// argArgv and argEnvp are the vectors the reaper itself was executed with.
	argArgv
	argEnvp
	// argProgram is the address of a filter program, whose instructions are data.
	argProgram
	// argMessage is the address of a message of one byte with room for n descriptors.
	argMessage
	// argHandover is the address of a message of one byte that descriptor n goes with.
	argHandover
	// argRest is the address of a message with room for n descriptors and, behind the
	// list that it is in, for the rest of that.
	argRest
)

// named is a number that is shown by its name.
func named(name string, n int) Arg { return Arg{n: uintptr(n), name: name} }

func number[T ~int | ~uintptr | ~uint32](n T) Arg { return Arg{n: uintptr(n)} }

// data is the address of these bytes, text that of a C string.
func data(b []byte) Arg { return Arg{kind: argData, data: b} }
func text(s string) Arg { return data(append([]byte(s), 0)) }

// result is what the call that stands so many places before this one returns.
func result(before int) Arg { return Arg{kind: argResult, n: uintptr(before)} }

func vector(list []string) Arg  { return Arg{kind: argStrings, list: list} }
func environ(list []string) Arg { return Arg{kind: argEnviron, list: list} }
func reaperArgv() Arg           { return Arg{kind: argArgv} }
func reaperEnvp() Arg           { return Arg{kind: argEnvp} }

// program is a filter as the kernel takes it. Its length is another on each architecture.
func program(f seccomp.Filter) Arg {
	return Arg{kind: argProgram, data: f.Bytes(), name: fmt.Sprintf("filter %s (%s)", f.Name(), f.Sockets())}
}

// message is where a received message with so many descriptors goes; nobody reads it.
func message(descriptors int) Arg { return Arg{kind: argMessage, n: uintptr(descriptors)} }

// rest is a message that brings the rest of the list, and descriptors.
func rest(descriptors int) Arg { return Arg{kind: argRest, n: uintptr(descriptors)} }

// awaitsRest reports whether more of its list comes with what the call receives.
func (c Call) awaitsRest() bool {
	return slices.ContainsFunc(c.Args, func(a Arg) bool { return a.kind == argRest })
}

// handover is a message that a descriptor goes with.
func handover(fd int) Arg { return Arg{kind: argHandover, n: uintptr(fd)} }

// String gives "what for: call(arguments)".
func (c Call) String() string { return fmt.Sprintf("%s: %s", c.Name, c.expression()) }

func (c Call) expression() string {
	parts := make([]string, len(c.Args))
	for i, a := range c.Args {
		parts[i] = a.String()
	}
	if c.NR == unix.SYS_OPENAT {
		parts[2] = openFlags(c.Args[2].n)
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
	if a.name != "" {
		return a.name
	}
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
	case argEnviron:
		return fmt.Sprintf("environment of %s", strings.Join(variables(a.list), " "))
	case argArgv:
		return "argv"
	case argEnvp:
		return "envp"
	case argHandover:
		return fmt.Sprintf("message with descriptor %d", a.n)
	case argRest:
		return fmt.Sprintf("the rest of the list and %d descriptors", a.n)
	case argMessage:
		return fmt.Sprintf("message of %d descriptors", a.n)
	}
	if int64(a.n) == unix.AT_FDCWD {
		return "AT_FDCWD"
	}
	return fmt.Sprintf("%d", int64(a.n))
}

// variables gives the names of an environment.
func variables(environment []string) []string {
	names := make([]string, len(environment))
	for i, entry := range environment {
		names[i], _, _ = strings.Cut(entry, "=")
	}
	return names
}

// openFlags names the flags of openat: several have another number on arm64.
func openFlags(flags uintptr) string {
	names := []string{[...]string{"O_RDONLY", "O_WRONLY", "O_RDWR", "3"}[flags&unix.O_ACCMODE]}
	if flags&unix.O_PATH != 0 {
		names = nil // neither is done
	}
	flags &^= unix.O_ACCMODE
	for _, f := range []struct {
		bit  uintptr
		name string
	}{{unix.O_CREAT, "O_CREAT"}, {unix.O_EXCL, "O_EXCL"}, {unix.O_PATH, "O_PATH"}, {unix.O_DIRECTORY, "O_DIRECTORY"}, {unix.O_NOFOLLOW, "O_NOFOLLOW"}, {unix.O_NONBLOCK, "O_NONBLOCK"}, {unix.O_CLOEXEC, "O_CLOEXEC"}} {
		if flags&f.bit != 0 {
			names = append(names, f.name)
			flags &^= f.bit
		}
	}
	if flags != 0 {
		names = append(names, fmt.Sprintf("%#x", flags))
	}
	return strings.Join(names, "|")
}
