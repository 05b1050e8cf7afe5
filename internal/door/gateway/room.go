package gateway

import (
	"errors"
	"net/http"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/domain"
)

const (
	// smallBody is the size in bytes up to which a body takes no room.
	smallBody = 16 << 10
	// leastRoom is what all larger bodies may take together, in bytes.
	leastRoom = 64 << 20
)

// A room bounds the memory of the bodies of all runs, from before they are read until they
// are answered. It is no slot: a run that is refused has none.
type room struct {
	whole, each int64

	mu    sync.Mutex
	taken int64 // guarded by mu
}

func newRoom(d *domain.Domain) *room {
	if d == nil {
		return &room{}
	}
	each := d.Policies.MaxRequestBytes
	return &room{whole: max(leastRoom, 4*each), each: each}
}

// take makes room for the body of a request, and gives how much that is.
func (m *room) take(r *http.Request) (int64, error) {
	size := r.ContentLength
	if size < 0 {
		size = m.each // it does not say
	}
	if size = min(size, m.each); size <= smallBody {
		return 0, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.taken+size > m.whole {
		return 0, &durward.Error{Reason: durward.QueueFull, Op: "read", Retry: true, Err: durward.Detail{
			Members: map[string]any{"scope": "global", "limit": m.whole}, Err: errors.New("the bodies of all runs together are too large"),
		}}
	}
	m.taken += size
	return size, nil
}

func (m *room) give(size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken -= size
}
