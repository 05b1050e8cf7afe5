//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A step is a [Call] as the assembly of vfork and of the reaper reads it.
type step struct {
	nr   uintptr
	args [6]uintptr
	// out, unless zero, is the address that receives the result: an argument of a
	// later step.
	out uintptr
	// allow is an error number to pass over, or all ones for any.
	allow uintptr
}

const (
	wordSize  = 8
	stepSize  = int(unsafe.Sizeof(step{}))
	endOfList = ^uint64(0)
)

// An assembler lays calls and their data out in memory that will stand at base.
type assembler struct {
	base uintptr
	buf  []byte
	// argv and envp are the addresses of the arguments that take the reaper's own
	// vectors; zero when no call of a list has such an argument.
	argv, envp uintptr
	// rest is the address of the room behind a list that waits for its rest.
	rest uintptr
}

// An arena is memory of our own for a list. It does not move, and holds no pointer
// that the collector would have to know.
type arena []uint64

// usualArena fits all but the longest command lines.
const usualArena = 16 << 10

var arenas = sync.Pool{New: func() any {
	a := make(arena, usualArena/wordSize)
	return &a
}}

// assembleHere lays a list out in memory of our own. The memory goes back to arenas
// when nobody uses the address any more.
func assembleHere(list []Call) (memory *arena, addr uintptr) {
	memory = arenas.Get().(*arena)
	for {
		base := unsafe.Pointer(unsafe.SliceData(*memory))
		size := len(*memory) * wordSize
		a := assembler{base: uintptr(base), buf: unsafe.Slice((*byte)(base), size)[:0]}
		if addr = a.list(list); len(a.buf) <= size {
			return memory, addr
		}
		larger := make(arena, 2*len(a.buf)/wordSize)
		memory = &larger // what was appended beyond the end stands elsewhere
	}
}

// list appends the steps of the calls and then what they point to, and gives the address
// of the first step.
func (a *assembler) list(calls []Call) uintptr {
	first, begin := a.next(), len(a.buf)
	a.buf = append(a.buf, make([]byte, len(calls)*stepSize)...)
	a.word(endOfList)
	if n := len(calls); n > 0 && calls[n-1].awaitsRest() {
		a.rest = a.next() - wordSize
		a.buf = append(a.buf, make([]byte, restMax-wordSize)...)
	}
	for i, c := range calls {
		at := begin + i*stepSize
		a.step(at).nr, a.step(at).allow = c.NR, uintptr(c.Allow)
		for k, arg := range c.Args {
			slot := a.base + uintptr(at) + unsafe.Offsetof(step{}.args) + uintptr(k*wordSize)
			switch arg.kind {
			case argResult:
				a.step(at - int(arg.n)*stepSize).out = slot
			case argArgv:
				a.argv = slot
			case argEnvp:
				a.envp = slot
			default:
				value := a.value(arg) // may move the steps
				a.step(at).args[k] = value
			}
		}
	}
	return first
}

// step gives the step that stands at an offset, until something is appended.
func (a *assembler) step(at int) *step { return (*step)(unsafe.Pointer(&a.buf[at])) }

// value appends what an argument points to and gives the argument's value, where that is
// known.
func (a *assembler) value(arg Arg) uintptr {
	switch arg.kind {
	case argNumber:
		return arg.n
	case argData:
		return a.bytes(arg.data)
	case argStrings, argEnviron:
		return a.vector(arg.list)
	case argProgram:
		return a.program(arg.data)
	case argMessage:
		return a.message(a.bytes(make([]byte, wordSize)), 1, make([]byte, unix.CmsgSpace(int(arg.n)*4)))
	case argRest:
		return a.message(a.rest, restMax, make([]byte, unix.CmsgSpace(int(arg.n)*4)))
	case argHandover:
		return a.message(a.bytes(make([]byte, wordSize)), 1, unix.UnixRights(int(arg.n)))
	}
	return 0
}

func (a *assembler) vector(list []string) uintptr {
	addr := make([]uintptr, len(list))
	for i, s := range list {
		addr[i] = a.next()
		a.buf = append(a.buf, s...)
		a.buf = append(a.buf, 0)
		a.align()
	}
	first := a.next()
	for _, p := range addr {
		a.word(uint64(p))
	}
	a.word(0)
	return first
}

// instructionSize is the size of an instruction of a filter.
const instructionSize = 8

// program appends a struct sock_fprog and what it points to.
func (a *assembler) program(instructions []byte) uintptr {
	first := a.bytes(instructions)
	header := a.next()
	a.word(uint64(len(instructions) / instructionSize)) // 16 bits; nothing reads the others
	a.word(uint64(first))
	return header
}

// message appends a struct msghdr, with control messages, for so many bytes at an address.
func (a *assembler) message(content uintptr, length int, control []byte) uintptr {
	size := len(control)
	beside := a.bytes(control)
	parts := a.next()
	a.word(uint64(content))
	a.word(uint64(length))
	header := a.next()
	for _, w := range [...]uint64{0, 0, uint64(parts), 1, uint64(beside), uint64(size), 0} {
		a.word(w)
	}
	return header
}

func (a *assembler) bytes(b []byte) uintptr {
	addr := a.next()
	a.buf = append(a.buf, b...)
	a.align()
	return addr
}

func (a *assembler) next() uintptr { return a.base + uintptr(len(a.buf)) }

func (a *assembler) word(w uint64) { a.buf = binary.NativeEndian.AppendUint64(a.buf, w) }

func (a *assembler) align() {
	for len(a.buf)%wordSize != 0 {
		a.buf = append(a.buf, 0)
	}
}
