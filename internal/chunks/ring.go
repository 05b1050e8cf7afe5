// Package chunks keeps what a session gives, in numbered chunks, for any number of readers.
package chunks

import (
	"context"
	"math"
	"sort"
	"sync"
	"time"

	"github.com/durward/durward"
)

// mostChunks are kept at once, however small they are.
const mostChunks = 50_000

// Options configure a Ring.
type Options struct {
	// Limit is how many bytes are kept; the newest chunk is kept whatever its size.
	Limit int64
	// Keep is KeepFlow or KeepAcked to have a writer wait: nothing is dropped then that has
	// not been read, or acknowledged. Else a reader that falls behind loses its place.
	Keep durward.Keep
	// Events is told of each chunk, and of the exit if it is an [durward.ExitWatcher], in
	// order. It may be nil.
	Events durward.Events
}

// A Ring keeps the newest chunks of a session, whole ones, up to a number of bytes. It may
// be used from any goroutine.
type Ring struct {
	limit  int
	acked  bool           // reading is not enough
	events durward.Events // may be nil

	mu      sync.Mutex
	flow    bool            // guarded by mu
	chunks  []durward.Chunk // guarded by mu
	bytes   int             // guarded by mu; sum of the chunks
	unread  int             // guarded by mu; sum of those behind read, and of what is to be one
	last    uint64          // guarded by mu; newest sequence number
	newest  uint64          // guarded by mu; that of the newest chunk
	read    uint64          // guarded by mu; newest sequence number that was read, or acknowledged
	exit    *durward.Exit   // guarded by mu; nil while the main process runs
	ended   bool            // guarded by mu; no chunk will follow
	changed chan struct{}   // guarded by mu; closed at the next change; nil while nobody waits

	emit sync.Mutex // held while an event is delivered, so that they keep their order
}

// New makes an empty Ring.
func New(o Options) *Ring {
	return &Ring{
		limit: int(o.Limit), acked: o.Keep == durward.KeepAcked, events: o.Events,
		flow: o.Keep == durward.KeepFlow || o.Keep == durward.KeepAcked,
	}
}

// Put appends a copy of p as one chunk. It comes back when the events have been told.
func (r *Ring) Put(stream durward.Stream, p []byte) {
	r.await(len(p))
	r.emit.Lock()
	defer r.emit.Unlock()
	c := r.append(stream, p)
	if r.events != nil {
		r.events.Output(c)
	}
}

// await waits until there is room for a chunk, and keeps it.
func (r *Ring) await(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.flow && r.unread > 0 && (r.unread+size > r.limit || r.newest-r.read >= mostChunks) {
		r.waitLocked()
	}
	r.unread += size
}

// append takes what there is room for.
func (r *Ring) append(stream durward.Stream, p []byte) durward.Chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.newest = r.last
	c := durward.Chunk{Seq: r.last, Stream: stream, Data: append([]byte(nil), p...)}
	r.chunks = append(r.chunks, c)
	r.bytes += len(p)
	for (r.bytes > r.limit || len(r.chunks) > mostChunks) && len(r.chunks) > 1 && (!r.flow || r.chunks[0].Seq <= r.read) {
		r.bytes -= len(r.chunks[0].Data)
		r.chunks[0] = durward.Chunk{} // the array may live on for a while
		r.chunks = r.chunks[1:]
	}
	r.changeLocked()
	return c
}

// waitLocked waits for the next change.
func (r *Ring) waitLocked() {
	changed := r.nextLocked()
	r.mu.Unlock()
	<-changed
	r.mu.Lock()
}

// nextLocked gives what is closed at the next change.
func (r *Ring) nextLocked() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

func (r *Ring) changeLocked() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Abandon lets a writer that waits for a reader go on; what it writes may be dropped.
func (r *Ring) Abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flow = false
	r.changeLocked()
}

// Exited numbers the end of the main process and tells of it in its order; last says that the
// call is over but for its record.
func (r *Ring) Exited(code int, last bool) {
	r.emit.Lock()
	defer r.emit.Unlock()
	r.mu.Lock()
	r.last++
	exit := durward.Exit{Seq: r.last, Code: code, Last: last}
	r.exit = &exit
	r.changeLocked()
	r.mu.Unlock()
	if watcher, ok := r.events.(durward.ExitWatcher); ok {
		watcher.Exited(exit)
	}
}

// End says that no chunk will follow.
func (r *Ring) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.changeLocked()
}

// Page gives what stands behind the cursor, waiting for it or the exit up to wait. The
// first chunk is given whatever its size.
func (r *Ring) Page(ctx context.Context, after uint64, maxBytes int, wait time.Duration) (durward.Page, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		page, changed := r.look(after, maxBytes)
		if page.Next > after || page.Ended {
			return page, nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return page, nil
		case <-ctx.Done():
			return page, &durward.Error{Kind: durward.Cancelled, Reason: durward.CallCancelled, Op: "read", Err: context.Cause(ctx)}
		}
	}
}

func (r *Ring) look(after uint64, maxBytes int) (durward.Page, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	page := durward.Page{Next: max(after, r.last), Exit: r.exit, Last: r.last}
	size := 0
	from := sort.Search(len(r.chunks), func(i int) bool { return r.chunks[i].Seq > after })
	for _, c := range r.chunks[from:] {
		if len(page.Chunks) == 0 {
			page.Lost = r.missingLocked(after, c.Seq)
		} else if size+len(c.Data) > maxBytes {
			page.Next = page.Chunks[len(page.Chunks)-1].Seq
			break
		}
		size += len(c.Data)
		page.Chunks = append(page.Chunks, c)
	}
	page.Ended = r.ended && page.Next >= r.newest
	if !r.acked {
		r.advanceLocked(page.Next)
	}
	return page, r.nextLocked()
}

// missingLocked counts the chunks between two numbers, which the exit may stand between, too.
func (r *Ring) missingLocked(after, before uint64) uint64 {
	missing := before - after - 1
	if r.exit != nil && after < r.exit.Seq && r.exit.Seq < before {
		missing--
	}
	return missing
}

// Ack notes that everything up to a number that was given out needs not be kept. The highest
// number there is means that nothing needs to be.
func (r *Ring) Ack(seq uint64) {
	if seq == math.MaxUint64 {
		r.Abandon()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq <= r.last {
		r.advanceLocked(seq)
	}
}

// advanceLocked notes that everything up to a sequence number has been read.
func (r *Ring) advanceLocked(to uint64) {
	if to <= r.read {
		return
	}
	from := sort.Search(len(r.chunks), func(i int) bool { return r.chunks[i].Seq > r.read })
	for _, c := range r.chunks[from:] {
		if c.Seq > to {
			break
		}
		r.unread -= len(c.Data)
	}
	r.read = to
	r.changeLocked()
}
