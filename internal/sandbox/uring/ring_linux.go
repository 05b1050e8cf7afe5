// Package uring opens files with the rights of another thread.
//
// With a ring of io_uring(7) the kernel keeps the credentials of the threads that registered
// them there, what Landlock holds them to included. Who then asks by the number of such
// credentials is held to them in what is asked for, on its own thread and at once: no other
// thread has to be woken.
//
// A [Ring] does one thing: openat2(2), as far as the kernel can answer without waiting for a
// file system. Nothing goes on behind it, and the kernel starts no thread for it.
package uring

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Ring opens files as the thread that made it would. It may be used concurrently, on any
// thread. Whoever opens a Ring closes it.
type Ring struct {
	personality uint16

	mu     sync.Mutex
	fd     int    // guarded by mu; -1 once closed, or of no use
	queues []byte // guarded by mu; shared with the kernel, as is requests
	// requests has room for one.
	requests []byte // guarded by mu
	at       places
	asked    *question // guarded by mu
	pinned   runtime.Pinner
}

// A question is what a request points to.
type question struct {
	how  unix.OpenHow
	path [unix.PathMax]byte
}

// Open makes a ring that opens files as the calling thread may now. The caller's goroutine is
// locked to that thread. The error is that of a kernel, or of a filter around us, that gives
// nobody a ring.
func Open() (*Ring, error) {
	var p params
	fd, err := setup(&p)
	if err != nil {
		return nil, err
	}
	r := &Ring{fd: fd, asked: new(question)}
	r.pinned.Pin(r.asked)
	if err := r.open(&p); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Ring) open(p *params) (err error) {
	if p.features&oneMapping == 0 {
		return unix.ENOSYS
	}
	if r.personality, err = registerPersonality(r.fd); err != nil {
		return err
	}
	if r.queues, err = share(r.fd, 0, p.size()); err != nil {
		return err
	}
	r.requests, err = share(r.fd, requestsOffset, int(unsafe.Sizeof(request{})))
	if err == nil {
		r.at = p.places(r.queues)
	}
	return err
}

// Close frees the ring. It may be called again.
func (r *Ring) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.close()
}

// close needs mu.
func (r *Ring) close() error {
	if r.fd < 0 {
		return nil
	}
	for _, shared := range [][]byte{r.queues, r.requests} {
		if shared != nil {
			_ = unix.Munmap(shared) // it is mapped
		}
	}
	r.pinned.Unpin()
	err := unix.Close(r.fd)
	r.fd = -1
	return err
}

// Openat2 is openat2(2) for what the kernel remembers. An error may be no more than that of a
// kernel that does not wait, EAGAIN, whatever there is; where the ring is closed or does not
// work it is EBADF.
func (r *Ring) Openat2(dir int, path string, how unix.OpenHow) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.fd < 0:
		return -1, unix.EBADF
	case len(path) >= unix.PathMax:
		return -1, unix.ENAMETOOLONG
	}
	r.asked.how = how
	r.asked.how.Resolve |= resolveCached
	r.asked.path[copy(r.asked.path[:], path)] = 0
	*(*request)(unsafe.Pointer(&r.requests[0])) = request{
		op: opOpenat2, fd: int32(dir), personality: r.personality,
		path: address(&r.asked.path), how: address(&r.asked.how), length: uint32(unsafe.Sizeof(r.asked.how)),
	}
	result, ok := r.submit()
	if !ok {
		r.close() // what the kernel makes of the request is not to be known
		return -1, unix.EBADF
	}
	if result < 0 {
		return -1, unix.Errno(-result)
	}
	return int(result), nil
}

// submit hands the one request over, and gives the answer that is there at once. It needs mu.
func (r *Ring) submit() (result int32, ok bool) {
	atomic.AddUint32(r.at.requestTail, 1)
	if n, err := enter(r.fd, 1); n != 1 || err != nil {
		return 0, false
	}
	head := atomic.LoadUint32(r.at.answerHead)
	if atomic.LoadUint32(r.at.answerTail) == head {
		return 0, false
	}
	result = r.at.answers[head%uint32(len(r.at.answers))].result
	atomic.StoreUint32(r.at.answerHead, head+1)
	return result, true
}
