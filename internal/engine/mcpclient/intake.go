package mcpclient

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/durward/durward/internal/jsonrpc"
)

// lullTime is how long nobody reads what a program says after a call has read its own answer, for
// the next call often follows soon. What the program says by itself waits for so long at most.
const lullTime = 5 * time.Millisecond

// An intake reads what a program says. A call that waits alone reads its answer itself: to be
// woken by another goroutine, on another thread as a rule, takes a good part of what a short call
// does. Whenever no call reads, a goroutine that is there for it does.
type intake struct {
	conn  *conn
	out   *os.File
	lines *jsonrpc.Reader // of whoever reads
	turn  chan struct{}   // has an element when run is to look

	mu      sync.Mutex
	taken   bool        // guarded by mu; somebody reads
	ended   bool        // guarded by mu; there is nothing more to read
	closing bool        // guarded by mu; reads have a deadline which is the end
	read    time.Time   // guarded by mu; when somebody last did
	lull    *time.Timer // guarded by mu; nil before the first
	lulled  bool        // guarded by mu; lull is to fire
}

// newIntake makes one; whoever makes it has run run.
func newIntake(out *os.File, c *conn) *intake {
	in := &intake{conn: c, out: out, lines: jsonrpc.NewReader(out, c.of.engine.options.lineBytes), turn: make(chan struct{}, 1)}
	signal(in.turn)
	return in
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run reads when no call does, until the output has ended.
func (in *intake) run() {
	for !in.isEnded() {
		<-in.turn
		if in.take(false) {
			in.readOn()
			in.release()
		}
	}
}

func (in *intake) isEnded() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ended
}

// take has the caller read until release, unless somebody does. A call is to be the only one that
// waits.
func (in *intake) take(call bool) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if waiting, _ := in.conn.waiting(); in.taken || in.ended || call && waiting != 1 {
		return false
	}
	in.taken = true
	return true
}

// release leaves the reading to others: at once, where something waits to be read.
func (in *intake) release() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.taken, in.read = false, time.Now()
	switch waiting, _ := in.conn.waiting(); {
	case in.ended || in.closing || waiting > 0 || in.lines.Buffered():
		signal(in.turn)
	case in.lulled:
	case in.lull == nil:
		in.lull, in.lulled = time.AfterFunc(lullTime, in.rouse), true
	default:
		in.lulled = true
		in.lull.Reset(lullTime)
	}
}

// rouse ends a lull. The timer is not set anew by each call, and so may be early.
func (in *intake) rouse() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lulled = false
	switch rest := lullTime - time.Since(in.read); {
	case in.taken || in.ended:
	case rest > 0:
		in.lulled = true
		in.lull.Reset(rest)
	default:
		signal(in.turn)
	}
}

// mind makes sure that somebody reads.
func (in *intake) mind() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.taken {
		signal(in.turn)
	}
}

// readOn reads until the last question that waits has its answer, or to the end.
func (in *intake) readOn() {
	_, before := in.conn.waiting()
	for in.line() {
		if waiting, heard := in.conn.waiting(); waiting == 0 && heard > before {
			return
		}
	}
}

// hearOut reads until a question has its reply or ctx ends, if it is the only one that waits and
// nobody else reads.
func (in *intake) hearOut(ctx context.Context, q *question) {
	if !in.take(true) {
		in.mind()
		return
	}
	defer in.release()
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		in.setDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-woken
			in.setDeadline(time.Time{})
		}
	}()
	for len(q.reply) == 0 && ctx.Err() == nil && in.line() {
	}
}

// setDeadline is for a call that reads; the end has its own deadline.
func (in *intake) setDeadline(t time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closing {
		_ = in.out.SetReadDeadline(t)
	}
}

// close has reading end at a time at the latest: somebody who got away may hold the output open.
func (in *intake) close(t time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closing = true
	_ = in.out.SetReadDeadline(t)
	signal(in.turn)
}

// line takes one line in, and reports whether there may be another one. It is for whoever reads.
func (in *intake) line() bool {
	text, err := in.lines.ReadLine()
	switch {
	case err == nil:
		in.conn.take(text)
	case errors.Is(err, jsonrpc.ErrTooLong):
		in.conn.overlong(in.lines.Ends())
	default:
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.ended = in.closing || !errors.Is(err, os.ErrDeadlineExceeded); in.ended && in.lull != nil {
			in.lull.Stop()
		}
		return !in.ended
	}
	return true
}
