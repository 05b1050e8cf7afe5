package execserver

import (
	"context"
	"errors"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

const (
	// window is how much a process may have accepted that it has not read.
	window = 1 << 20
	// mostWaiting is how much may wait to be accepted beside.
	mostWaiting = 16 << 20
	// rememberedWrites is how many write ids a process knows again.
	rememberedWrites = 4096
)

// An input is what a process has still to read, in the order in which it was sent. A write
// is accepted once it fits the window; until then its answer waits.
type input struct {
	mu      sync.Mutex
	queue   []pending           // guarded by mu; the accepted ones come first
	bytes   int                 // guarded by mu; of the whole queue
	taken   int                 // guarded by mu; of the accepted ones
	number  int                 // guarded by mu; of the accepted ones
	shut    error               // guarded by mu; why nothing more is taken
	known   map[string]struct{} // guarded by mu; the ids that were seen
	order   []string            // guarded by mu; the same, the oldest first
	arrived chan struct{}       // holds a token when there may be something to write
}

// pending is one write; answered says what became of it.
type pending struct {
	data     []byte
	end      bool // of the input
	answered func(error)
}

func newInput() *input {
	return &input{known: make(map[string]struct{}), arrived: make(chan struct{}, 1)}
}

var (
	errGone = errors.New("failed to write to process stdin")
	errFull = errors.New("failed to write to process stdin: too much of it waits to be read")
)

// write takes a chunk, which is delivered once for each id; an empty id is none. answered is
// called once it is accepted or refused, perhaps at once.
func (in *input) write(id *string, data []byte, answered func(error)) {
	in.mu.Lock()
	switch {
	case id != nil && in.repeated(*id):
		in.mu.Unlock()
		answered(nil)
	case in.shut != nil:
		err := in.shut
		in.mu.Unlock()
		answered(err)
	case in.bytes-in.taken+len(data) > mostWaiting && len(in.queue) > 0:
		in.mu.Unlock()
		answered(errFull)
	default:
		if id != nil {
			in.remember(*id)
		}
		in.queue = append(in.queue, pending{data: data, answered: answered})
		in.bytes += len(data)
		accepted := in.acceptLocked()
		in.mu.Unlock()
		tell(accepted, nil)
		in.wake()
	}
}

// end closes the input behind what was written before.
func (in *input) end() {
	in.mu.Lock()
	if in.shut == nil {
		in.queue = append(in.queue, pending{end: true, answered: func(error) {}})
		in.shut = refusal(protocol.InvalidRequest, "stdin is closed")
	}
	accepted := in.acceptLocked()
	in.mu.Unlock()
	tell(accepted, nil)
	in.wake()
}

func (in *input) repeated(id string) bool {
	_, seen := in.known[id]
	return seen
}

func (in *input) remember(id string) {
	in.known[id] = struct{}{}
	in.order = append(in.order, id)
	if len(in.order) > rememberedWrites {
		delete(in.known, in.order[0])
		in.order = in.order[1:]
	}
}

// acceptLocked accepts what fits the window, in its order.
func (in *input) acceptLocked() (accepted []pending) {
	for in.number < len(in.queue) {
		next := in.queue[in.number]
		if in.taken > 0 && in.taken+len(next.data) > window {
			break
		}
		in.taken += len(next.data)
		in.number++
		accepted = append(accepted, next)
	}
	return accepted
}

func tell(list []pending, err error) {
	for _, p := range list {
		p.answered(err)
	}
}

func (in *input) wake() {
	select {
	case in.arrived <- struct{}{}:
	default:
	}
}

// pour writes to the process until it is closed.
func (in *input) pour(ctx context.Context, to durward.Session, closed <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		next, ok := in.next(ctx)
		if !ok {
			break
		}
		if next.end {
			_ = to.CloseInput()
			break
		}
		if _, err := to.Write(ctx, next.data); err != nil {
			break
		}
		in.wrote(len(next.data))
	}
	in.refuse()
}

// next waits for the first write of the queue.
func (in *input) next(ctx context.Context) (pending, bool) {
	for {
		in.mu.Lock()
		if len(in.queue) > 0 {
			defer in.mu.Unlock()
			return in.queue[0], true
		}
		in.mu.Unlock()
		select {
		case <-in.arrived:
		case <-ctx.Done():
			return pending{}, false
		}
	}
}

// wrote takes the first write out.
func (in *input) wrote(n int) {
	in.mu.Lock()
	in.queue[0] = pending{}
	in.queue = in.queue[1:]
	in.number--
	in.bytes -= n
	in.taken -= n
	accepted := in.acceptLocked()
	in.mu.Unlock()
	tell(accepted, nil)
}

// refuse takes nothing more, and refuses what was not accepted.
func (in *input) refuse() {
	in.mu.Lock()
	waiting := in.queue[in.number:]
	in.queue, in.number, in.bytes, in.taken = nil, 0, 0, 0
	if in.shut == nil {
		in.shut = errGone
	}
	in.mu.Unlock()
	tell(waiting, errGone)
}
