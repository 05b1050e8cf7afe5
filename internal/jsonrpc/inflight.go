package jsonrpc

import (
	"context"
	"sync"
)

// InFlight holds the requests of one peer that are being answered. The zero value
// holds none. It is safe for concurrent use.
type InFlight struct {
	mu    sync.Mutex
	calls map[ID]*call // guarded by mu
}

type call struct {
	cancel    context.CancelFunc
	cancelled bool
}

// Add takes in a request, and reports false for an ID that is there already.
func (f *InFlight) Add(id ID, cancel context.CancelFunc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls[id] != nil {
		return false
	}
	if f.calls == nil {
		f.calls = make(map[ID]*call)
	}
	f.calls[id] = &call{cancel: cancel}
	return true
}

// Cancel calls the cancel function of a request, once, and reports whether there was
// anything to cancel. The ID stays taken until Done.
func (f *InFlight) Cancel(id ID) bool {
	c := f.mark(id)
	if c != nil {
		c.cancel()
	}
	return c != nil
}

// mark gives the request to cancel, or nil.
func (f *InFlight) mark(id ID) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calls[id]
	if c == nil || c.cancelled {
		return nil
	}
	c.cancelled = true
	return c
}

// Done lets a request go, and reports whether its answer is still wanted: it was not
// cancelled.
func (f *InFlight) Done(id ID) (wanted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calls[id]
	delete(f.calls, id)
	return c != nil && !c.cancelled
}
