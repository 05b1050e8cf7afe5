package execserver

import "sync"

// mostResting is how many goroutines wait for work.
const mostResting = 8

// A hands has goroutines that do one thing after the other: what starts a process needs a stack
// that a new goroutine has to grow first. It may be used from any goroutine.
type hands struct {
	jobs    chan func()
	resting chan struct{} // full when as many wait as may
	over    chan struct{} // closed when nothing more is to be done
	close   func()        // closes over
	all     sync.WaitGroup
}

func newHands() *hands {
	h := &hands{jobs: make(chan func()), resting: make(chan struct{}, mostResting), over: make(chan struct{})}
	h.close = sync.OnceFunc(func() { close(h.over) })
	return h
}

// do has f done by one that waits, or by one more. It is not to be called behind end.
func (h *hands) do(f func()) {
	select {
	case h.jobs <- f:
	default:
		h.all.Go(func() { h.work(f) })
	}
}

// work does f, and what comes then, unless enough wait for that.
func (h *hands) work(f func()) {
	for f != nil {
		f()
		f = h.next()
	}
}

// next waits for something to do; nil means that this one is not wanted any more.
func (h *hands) next() func() {
	select {
	case h.resting <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-h.resting }()
	select {
	case f := <-h.jobs:
		return f
	case <-h.over:
		return nil
	}
}

// end waits until all is done.
func (h *hands) end() {
	h.close()
	h.all.Wait()
}
