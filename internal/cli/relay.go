package cli

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// A handler answers requests until it is closed.
type handler interface {
	http.Handler
	io.Closer
}

// A relay hands every request to the handler of the moment. One that was replaced is
// closed when it has answered its last request.
type relay struct {
	mu      sync.Mutex
	now     *shift // guarded by mu
	closing sync.WaitGroup
}

// A shift is the time of one handler.
type shift struct {
	handler
	requests sync.WaitGroup // none is added once the shift is over
}

func newRelay(first handler) *relay { return &relay{now: &shift{handler: first}} }

// ServeHTTP hands a request on.
func (r *relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s := r.enter()
	defer s.requests.Done()
	s.ServeHTTP(w, q)
}

func (r *relay) enter() *shift {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.requests.Add(1)
	return r.now
}

// current gives the handler of the moment.
func (r *relay) current() handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.handler
}

// replace lets next answer from now on. It does not wait; failed is told when the old
// handler cannot be closed.
func (r *relay) replace(next handler, failed func(error)) {
	r.mu.Lock()
	old := r.now
	r.now = &shift{handler: next}
	r.mu.Unlock()
	r.closing.Go(func() {
		old.requests.Wait()
		if err := old.Close(); err != nil {
			failed(err)
		}
	})
}

// close closes the handler of the moment and waits for those before it. No request may
// come any more.
func (r *relay) close() error {
	r.closing.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.requests.Wait()
	return errors.Join(r.now.Close())
}
