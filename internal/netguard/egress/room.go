package egress

import "sync"

const (
	// placeFiles are the descriptors of a connection: the client's, the target's, and two
	// pipes through which the kernel copies.
	placeFiles = 6
	// roomShare is what part of all descriptors connections may take: one in so many.
	roomShare = 2
)

// A Room is for the connections of all proxies that share it: they take half of the
// descriptors that the process may open, whatever that is at the moment. Its zero value is
// empty and ready.
type Room struct {
	mu    sync.Mutex
	taken int // guarded by mu
}

// enter takes a place if there is one.
func (r *Room) enter() bool {
	most := maxFiles() / roomShare / placeFiles
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken >= most {
		return false
	}
	r.taken++
	return true
}

func (r *Room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken--
}
