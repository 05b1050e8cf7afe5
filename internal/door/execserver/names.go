package execserver

import (
	"sync"

	"github.com/durward/durward/execserver/protocol"
)

// mostName is how long a name may be that a client gives to something, in bytes: it is kept for
// as long as that is there.
const mostName = 1024

// short refuses names that are too long to be kept.
func short(names ...string) error {
	for _, name := range names {
		if len(name) > mostName {
			return refusal(protocol.InvalidParams, "a name of %d bytes is longer than %d", len(name), mostName)
		}
	}
	return nil
}

// names are those that a client has given to what goes on, each once.
type names struct {
	most int

	mu    sync.Mutex
	taken map[string]bool // guarded by mu
}

// take takes a name.
func (n *names) take(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.taken[name]:
		return refusal(protocol.InvalidParams, "%q is in use", name)
	case len(n.taken) >= n.most:
		return refusal(protocol.InvalidRequest, "%d at once are more than there may be", n.most+1)
	case n.taken == nil:
		n.taken = make(map[string]bool)
	}
	n.taken[name] = true
	return nil
}

func (n *names) give(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.taken, name)
}

// handles are the files that a connection has open, by the names its client gave them.
type handles struct {
	most int

	mu     sync.Mutex
	byName map[string]*handle // guarded by mu
}

// A handle is a file that is open, or being opened.
type handle struct {
	opened chan struct{} // closed when number or failed is set
	number uint64        // what the engine calls it
	failed bool
}

func newHandles(most int) handles { return handles{most: most, byName: make(map[string]*handle)} }

// reserve takes a name for a file that is to be opened.
func (h *handles) reserve(name string) (*handle, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName[name] != nil {
		return nil, refusal(protocol.InvalidRequest, "handle %q is open", name)
	}
	if len(h.byName) >= h.most {
		return nil, refusal(protocol.InvalidRequest, "%d handles are more than a connection may have", h.most+1)
	}
	one := &handle{opened: make(chan struct{})}
	h.byName[name] = one
	return one, nil
}

// find gives a file by its name.
func (h *handles) find(name string) (*handle, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.byName[name]; one != nil {
		return one, nil
	}
	return nil, unknownHandle(name)
}

// remove gives up a name; nil when it is unknown.
func (h *handles) remove(name string) *handle {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.byName[name]
	delete(h.byName, name)
	return one
}

// removeAll gives up all names.
func (h *handles) removeAll() []*handle {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*handle
	for _, one := range h.byName {
		all = append(all, one)
	}
	h.byName = make(map[string]*handle)
	return all
}

func unknownHandle(name string) error {
	return refusal(protocol.NotFound, "unknown handle %q", name)
}
