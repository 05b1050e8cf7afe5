package mcp

import (
	"sync/atomic"
	"time"
)

const (
	// lookEvery is how often somebody looks whether a call keeps who reads. One that lasts
	// keeps the lines behind it no longer than twice that.
	lookEvery = 2 * time.Millisecond
	// looksAfter is how often somebody looks in vain before he rests.
	looksAfter = 50
)

// A relay has reading go on when it is kept by a call that was to be short. Nothing has to be
// done for that by the call, nor for each call: somebody looks now and then.
type relay struct {
	calls   atomic.Int64 // so many have begun
	keeping atomic.Int64 // the number of the call that keeps who reads; zero if none does
	resting atomic.Bool
	wake    chan struct{} // has an element when who rests is to look again
}

func newRelay() *relay { return &relay{wake: make(chan struct{}, 1)} }

// begin says that a call begins where it was read. The number is for end.
func (r *relay) begin() int64 {
	call := r.calls.Add(1)
	r.keeping.Store(call)
	if r.resting.Load() {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	return call
}

// end reports whether the goroutine of such a call goes on to read.
func (r *relay) end(call int64) bool { return r.keeping.CompareAndSwap(call, 0) }

// watch calls pass, to have another goroutine read, whenever a call has kept the one that did.
// It ends with stop.
func (r *relay) watch(stop <-chan struct{}, pass func()) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for seen, last, quiet := int64(0), int64(0), 0; ; {
		if quiet == looksAfter {
			ticker.Stop()
			if !r.rest(stop, seen) {
				return
			}
			ticker.Reset(lookEvery)
			quiet = 0
		}
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		now := r.keeping.Load()
		if now != 0 && now == last && r.keeping.CompareAndSwap(now, 0) {
			pass()
		}
		last = now
		if quiet++; seen != r.calls.Load() {
			seen, quiet = r.calls.Load(), 0
		}
	}
}

// rest waits for a call after so many, and reports whether there is one before stop.
func (r *relay) rest(stop <-chan struct{}, seen int64) bool {
	r.resting.Store(true)
	defer r.resting.Store(false)
	if r.calls.Load() != seen { // whoever begins from here on sees that somebody rests
		return true
	}
	select {
	case <-stop:
		return false
	case <-r.wake:
		return true
	}
}
