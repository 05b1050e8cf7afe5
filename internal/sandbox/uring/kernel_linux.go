package uring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// What follows is of include/uapi/linux/io_uring.h.

const (
	requestsOffset = 0x10000000 // of the memory of requests
	personality    = 9          // what is registered
	opOpenat2      = 28
	oneMapping     = 1 // a feature: both queues are in one piece of memory

	// resolveCached has the kernel find only what it remembers. It came with Linux 5.12.
	resolveCached = 0x20
)

// params are what the kernel is asked for with a ring, and tells about it.
type params struct {
	requests, answers, flags, _, _, features, _ uint32
	_                                           [3]uint32
	request                                     struct{ head, tail, mask, entries, flags, dropped, array, _, _, _ uint32 }
	answer                                      struct{ head, tail, mask, entries, overflow, answers, flags, _, _, _ uint32 }
}

// A request asks for one operation.
type request struct {
	op, flags   uint8
	_           uint16
	fd          int32
	how, path   uint64
	length      uint32
	_           uint32
	_           uint64
	_           uint16
	personality uint16
	_           uint32
	_           [2]uint64
}

// An answer says what became of one.
type answer struct {
	_      uint64
	result int32
	_      uint32
}

// places are where things are in the memory of the queues.
type places struct {
	requestTail, answerHead, answerTail *uint32
	answers                             []answer
}

// size is that of the queues.
func (p *params) size() int {
	requests := p.request.array + p.requests*uint32(unsafe.Sizeof(uint32(0)))
	answers := p.answer.answers + p.answers*uint32(unsafe.Sizeof(answer{}))
	return int(max(requests, answers))
}

// places finds what is in the queues. The one number in the list of requests is 0, which is
// that of the one request.
func (p *params) places(queues []byte) places {
	number := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&queues[offset])) }
	*number(p.request.array) = 0
	return places{
		requestTail: number(p.request.tail), answerHead: number(p.answer.head), answerTail: number(p.answer.tail),
		answers: unsafe.Slice((*answer)(unsafe.Pointer(&queues[p.answer.answers])), p.answers),
	}
}

// address is for the kernel, of what is pinned.
func address[T any](at *T) uint64 { return uint64(uintptr(unsafe.Pointer(at))) }

func setup(p *params) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(p)), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// registerPersonality registers the credentials of the calling thread.
func registerPersonality(ring int) (uint16, error) {
	number, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(ring), personality, 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return uint16(number), nil
}

func share(ring int, offset int64, size int) ([]byte, error) {
	return unix.Mmap(ring, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// enter has the kernel look at so many requests.
func enter(ring, requests int) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(ring), uintptr(requests), 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
