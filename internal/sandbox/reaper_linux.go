//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The reaper is the first process of a call, and process 1 where the call has its own
// process-id space. A command cannot be process 1 itself: the kernel would not let
// TERM, SEGV or ABRT end it. The reaper starts the command as its child, adopts and
// reaps whatever the command leaves behind, passes signals on, sends TERM to what is
// left of the command's process group when the command ends, reports its raw wait
// status, and takes the whole tree with it when it ends: which it does when
// nothing is left, and when its control pipe closes, as it does when we die.
//
// Its instructions are an assembly function of this program, wrapped in an ELF file
// when the first command is run. It is told what to do by a [reaperBlock].

// Descriptors of the reaper, and of the command until it is executed.
const (
	reaperControlFD = 3  // read end: the block, then one byte per signal; its end ends the call
	reaperStatusFD  = 4  // write end: records
	reaperProgramFD = 5  // the program to execute
	reaperKillFD    = 6  // cgroup.kill, where the call lives in a cgroup
	reaperUsersFD   = 7  // the user namespace that the command enters, if any
	reaperRulesFD   = 9  // the Landlock ruleset, from level 1 on
	reaperProcFD    = 10 // the machine's /proc, at level 2
	reaperSignalFD  = 15
	reaperWaitFD    = 16 // ends of a pipe that tells the reaper of the start, see waitForStart
	reaperHoldFD    = 17
	reaperCallFD    = 18 // where the command's process waits for the call, where it is there before
	firstSpareFD    = 19
)

// Where things stand in the reaper's memory. All addresses load with one instruction
// on either architecture, and all are multiples of every page size.
const (
	reaperCode = 0x400000
	reaperBase = 0x10000000
	// reaperShared is a page that the reaper shares with a command's process that has a
	// memory of its own.
	reaperShared = 0x20000000
)

// notedAt is where the command's process notes when the program is executed, a timespec:
// in the record itself, where it has the reaper's memory.
func (s shape) notedAt() uintptr {
	if s.forksCopy() {
		return reaperShared
	}
	return reaperBase + unsafe.Offsetof(reaperBlock{}.record) + unsafe.Offsetof(record{}.seconds)
}

const (
	rusageSize  = 144
	scratchSize = 4096
	// blockMax bounds a block, by what a pipe takes without a reader and by the
	// scratch behind it.
	blockMax   = 32 << 10
	usualBlock = 4 << 10
	// restMax bounds the rest of a list.
	restMax       = 16 << 10
	reaperScratch = reaperBase + blockMax
)

// A reaperBlock is the head of what the reaper is told, at address reaperBase; the
// calls of its lists follow.
type reaperBlock struct {
	size uint64 // bytes sent, from here on
	// Lists: before and after the fork in the reaper, in the command's process
	// between, and at the end.
	before, command, after, end uint64
	argv, envp                  uint64 // addresses that receive the reaper's own vectors
	cloneFlags                  uint64 // of the command's process
	// children is the address of the path of the list of our children, when they are
	// to be killed one by one at the end.
	children uint64
	// eager reports the start, and the exit as soon as the command is over; what
	// survives TERM goes on. Otherwise the reaper gives it a moment and ends, and
	// reports before it does.
	eager   uint64
	noted   uint64 // address of the time at which the program was executed
	linger  unix.Timespec
	timeout uint64 // address of the time the poll may take; zero for ever
	polls   [2]unix.PollFd
	pause   unix.Timespec
	record  record
	failure record
	wstatus uint64
	rusage  [rusageSize / 8]uint64
	// parting is the signal that the command's group gets when it ends; zero is none.
	parting uint64
}

// A record is what the reaper reports through the status pipe.
type record struct {
	kind, a, b, c uint32
	// seconds and nanoseconds of the monotonic clock tell when the program was
	// executed.
	seconds, nanoseconds int64
	rusage               [rusageSize / 8]uint64
}

// Kinds of records.
const (
	recordFailed  = 1 // a: index of the step (all ones: fork), b: error, c: list
	recordStarted = 2 // the program has been executed, unless recordFailed came before
	recordExited  = 3 // a: wait status, b: 1 when nothing else is left
	recordReady   = 4 // the command's process waits for the call
)

// reaperLists are the calls of a block.
type reaperLists struct {
	before, command, after, end []Call
	cloneFlags                  uintptr
	sweep, eager, outlive       bool
	noted                       uintptr
	linger                      time.Duration
}

var errBlockTooLarge = errors.New("the plan does not fit the reaper's block")

// A block is what the reaper is told, as it is sent.
type block struct {
	text []byte
	// argv and envp are the addresses that receive the vectors of the command, unused
	// one that receives what nobody asks for.
	argv, envp, unused uintptr
	// rest is where the rest of a list goes, zero where none waits for it.
	rest uintptr
}

// restOf lays the rest of the list out that the block waits with.
func (b block) restOf(calls []Call) ([]byte, error) {
	a := assembler{base: b.rest, buf: make([]byte, 0, usualBlock)}
	a.list(calls)
	if len(a.buf) > restMax {
		return nil, errBlockTooLarge
	}
	return a.buf, nil
}

// encode lays the block out.
func (l reaperLists) encode() (block, error) {
	const header = unsafe.Sizeof(reaperBlock{})
	b := reaperBlock{
		cloneFlags: uint64(l.cloneFlags),
		polls: [2]unix.PollFd{
			{Fd: reaperControlFD, Events: unix.POLLIN}, {Fd: reaperSignalFD, Events: unix.POLLIN},
		},
		pause: unix.Timespec{Nsec: 1e6},
	}
	a := assembler{base: reaperBase, buf: append(make([]byte, 0, usualBlock), unsafe.Slice((*byte)(unsafe.Pointer(&b)), header)...)}
	b.before = uint64(a.list(l.before))
	b.command = uint64(a.list(l.command))
	b.after = uint64(a.list(l.after))
	b.end = uint64(a.list(l.end))
	b.eager, b.noted = flag(l.eager), uint64(l.noted)
	b.linger = unix.NsecToTimespec(int64(l.linger))
	if !l.outlive {
		b.parting = uint64(unix.SIGTERM)
	}
	if l.sweep {
		b.children = uint64(a.bytes([]byte("/proc/thread-self/children\x00")))
	}
	unused := a.bytes(make([]byte, wordSize))
	if a.argv == 0 {
		a.argv, a.envp = unused, unused
	}
	b.argv, b.envp = uint64(a.argv), uint64(a.envp)
	if len(a.buf) > blockMax {
		return block{}, errBlockTooLarge
	}
	b.size = uint64(len(a.buf))
	copy(a.buf, unsafe.Slice((*byte)(unsafe.Pointer(&b)), header))
	return block{a.buf, a.argv, a.envp, unused, a.rest}, nil
}

// with gives the block with the vectors of the command in it, for a reaper that was
// executed with others.
func (b block) with(argv, env []string) ([]byte, error) {
	a := assembler{base: reaperBase, buf: slices.Grow(bytes.Clone(b.text), usualBlock)}
	vectors := [...]struct{ address, slot uintptr }{{a.vector(argv), b.argv}, {a.vector(env), b.envp}}
	if len(a.buf) > blockMax {
		return nil, errBlockTooLarge
	}
	for _, v := range vectors {
		binary.NativeEndian.PutUint64(a.buf[v.slot-reaperBase:], uint64(v.address))
	}
	head := (*reaperBlock)(unsafe.Pointer(unsafe.SliceData(a.buf)))
	head.size, head.argv, head.envp = uint64(len(a.buf)), uint64(b.unused), uint64(b.unused)
	return a.buf, nil
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
