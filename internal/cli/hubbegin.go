package cli

import (
	"context"
	"time"

	"github.com/durward/durward/internal/jsonrpc"
)

// hubListen and hubBegin are how long a server that is slow to start keeps the hub from listening,
// and lists from clients of MCP: those who ask later see it, and those who asked are told.
const (
	hubListen = 5 * time.Second
	hubBegin  = 12 * time.Second
)

// start starts the servers, and waits for a time until each has been tried.
func (h *hubServer) start(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	h.engine.Start(ctx)
	h.source.Refresh()
}

// mayListen waits until servers have been tried, for a time, and reports whether anybody is to be served
// then: not where ctx has ended.
func (h *hubServer) mayListen(ctx context.Context) bool {
	h.start(ctx, hubListen)
	return ctx.Err() == nil
}

// An opening is the time in which it is not known what servers have.
type opening struct {
	known chan struct{} // closed once it is
	over  chan struct{} // closed once it never will be
}

func newOpening() opening { return opening{make(chan struct{}), make(chan struct{})} }

// tell ends it: in vain, where ctx has ended before.
func (o opening) tell(ctx context.Context) {
	if ctx.Err() != nil {
		close(o.over)
		return
	}
	close(o.known)
}

// isKnown reports whether it has ended well.
func (o opening) isKnown() bool {
	select {
	case <-o.known:
		return true
	default:
		return false
	}
}

// wait waits for its end, for a time at most; zero is as long as it takes. Each call comes by here, so that
// nothing is set up where there is nothing to wait for.
func (o opening) wait(ctx context.Context, most time.Duration) error {
	if o.isKnown() {
		return nil
	}
	var late <-chan time.Time
	if most > 0 {
		late = time.After(most)
	}
	select {
	case <-late:
		return nil
	case <-o.known:
		return nil
	case <-o.over:
		return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "the hub is shutting down"}
	case <-ctx.Done():
		return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: "the servers were still being started when the request ended"}
	}
}
