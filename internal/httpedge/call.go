package httpedge

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/durward/durward"
)

// glance is how often a running request's client is looked at.
const glance = 200 * time.Millisecond

// follow gives the context for one request: that of r, but that it ends when the client
// is gone for good or the server ends. net/http's own context ends as soon as the
// client ends its side, which a client may do that waits for its answer.
//
// The caller calls done when the handler has returned; nothing of it touches the connection then.
func (c *conn) follow(r *http.Request, ended context.Context) (call context.Context, done func()) {
	c.begin(r)
	inner, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	var once sync.Once
	watched := &watchedContext{inner, r.Context(), ended, time.Now(), func() { once.Do(func() { c.watch.start(c, cancel, r.Context(), ended) }) }}
	return watched, func() {
		once.Do(func() {}) // it begins no more
		c.watch.stop()
		cancel(nil)
	}
}

// A watchedContext begins to be watched when somebody first waits for its end: most requests are
// answered before anybody would. Who only asks has it watched when there could have been a look by
// then.
type watchedContext struct {
	context.Context
	hint, ended context.Context
	began       time.Time
	watch       func()
}

func (c *watchedContext) Done() <-chan struct{} {
	c.watch()
	return c.Context.Done()
}

func (c *watchedContext) Err() error {
	if c.hint.Err() != nil || c.ended.Err() != nil || time.Since(c.began) >= glance {
		c.watch()
	}
	return c.Context.Err()
}

// A watch cancels the request of a connection when its client is gone or the server has ended.
// Between two looks there is a timer and nothing that runs: a goroutine for each request, and the
// threads that are woken for it, are a good part of what a short one takes. The timer goes on
// over requests that follow each other, for the runtime wakes a thread for a new one, too.
type watch struct {
	mu     sync.Mutex              // held while it looks
	cancel context.CancelCauseFunc // guarded by mu; of the request; nil while none is watched
	looked time.Time               // guarded by mu; or when the request began to be watched
	ended  context.Context         // guarded by mu; of the server
	unhook [2]func() bool          // guarded by mu; while one is watched
	timer  *time.Timer             // guarded by mu; nil before the first request
	runs   bool                    // guarded by mu; the timer does
}

// start begins to look at c now and then, and whenever hint ends: the client may be gone then.
func (w *watch) start(c *conn, cancel context.CancelCauseFunc, hint, ended context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.looked, w.ended = cancel, time.Now(), ended
	w.unhook = [...]func() bool{context.AfterFunc(hint, func() { w.look(c) }), context.AfterFunc(ended, w.end)}
	switch {
	case w.runs:
	case w.timer == nil:
		w.timer = time.AfterFunc(glance, func() { w.tick(c) })
	default:
		w.timer.Reset(glance)
	}
	w.runs = true
}

// stop returns when no look goes on, and none touches the connection until the next request.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unhook[0] == nil {
		return
	}
	for i, drop := range w.unhook {
		drop()
		w.unhook[i] = nil
	}
	w.cancel = nil
}

// tick looks when it is time to, and has the timer go on while somebody is to be looked at.
func (w *watch) tick(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil && time.Since(w.looked) >= glance {
		w.lookLocked(c)
	}
	if w.runs = w.cancel != nil; w.runs {
		w.timer.Reset(glance - time.Since(w.looked))
	}
}

func (w *watch) look(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookLocked(c)
}

// lookLocked needs mu.
func (w *watch) lookLocked(c *conn) {
	switch w.looked = time.Now(); {
	case w.cancel == nil:
	case w.ended.Err() != nil: // the connection may have been closed by that
		w.over(shuttingDown())
	case c.gone():
		w.over(&durward.Error{Reason: durward.CallCancelled, Op: op})
	}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over(shuttingDown())
}

func shuttingDown() error {
	return &durward.Error{Reason: durward.ShuttingDown, Op: op, Retry: true}
}

// over cancels the request, unless that was done or none is watched. It needs mu.
func (w *watch) over(why error) {
	if w.cancel != nil {
		w.cancel(why)
		w.cancel = nil
	}
}

// EndOf tells a call that was cut short by the end of the server, which is ShuttingDown, from
// one whose client went away. It takes the context of the request and the error of the call.
func EndOf(request context.Context, err error) error {
	if durward.ReasonOf(err) != durward.CallCancelled {
		return err
	}
	if request.Err() != nil && durward.ReasonOf(context.Cause(request)) != durward.ShuttingDown {
		return err
	}
	return &durward.Error{Reason: durward.ShuttingDown, Op: "run", Retry: true, Hint: "try again after the restart", Err: err}
}

// gone reports whether nobody can receive an answer any more.
func (c *conn) gone() bool {
	switch peerOf(c) {
	case peerThere:
		return false
	case peerGone:
		return true
	}
	return c.probe(time.Now())
}

// A peerState is what is known of the other end of a connection.
type peerState int

const (
	// peerThere: it can send, or has ended its side and waits for the answer.
	peerThere peerState = iota
	// peerGone: the connection was reset, or closed at either end.
	peerGone
	// peerQuiet: it ended its side, and nobody knows more.
	peerQuiet
)

// noted tells what the reads from the connection came to.
func (c *conn) noted() peerState {
	switch {
	case c.reset.Load():
		return peerGone
	case c.eof.Load():
		return peerQuiet
	}
	return peerThere
}

// A probe says when the next interim response is due.
type probe struct {
	next time.Time
	wait time.Duration
}

const (
	interim      = "HTTP/1.1 100 Continue\r\n\r\n"
	longestProbe = 30 * time.Second
)

// probe sends an interim response to a peer that ended its side, when one is due, and
// reports whether the peer turned out to be gone. To a closed connection the first one
// provokes a reset; the next look, or at the latest the next one sent, finds it.
func (c *conn) probe(now time.Time) (gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet || now.Before(c.probes.next) {
		return false
	}
	c.probes.wait = min(max(2*c.probes.wait, glance), longestProbe)
	c.probes.next = now.Add(c.probes.wait)
	if !c.explicit {
		_ = c.Conn.SetWriteDeadline(now.Add(glance)) // a closed connection fails at the write
		c.extended = time.Time{}
	}
	_, err := c.Conn.Write([]byte(interim))
	return err != nil
}
