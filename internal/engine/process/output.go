package process

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// drainTime bounds the wait for streams that somebody holds open although the tree should be
// dead.
const drainTime = 200 * time.Millisecond

// settleTime bounds the wait for what a terminal has still to show when the main process has
// ended and others have it open.
const settleTime = 20 * time.Millisecond

// follow reads the output.
func (r *run) follow() {
	var open atomic.Int32
	open.Store(int32(len(r.ends)))
	r.silent = make(chan struct{})
	for i, f := range r.ends {
		caughtUp := make(chan struct{})
		r.caughtUp = append(r.caughtUp, caughtUp)
		tell := sync.OnceFunc(func() { close(caughtUp) })
		r.readers.Go(func() {
			r.read(f, r.sinks[i], tell)
			tell()
			if open.Add(-1) == 0 {
				close(r.silent)
			}
		})
	}
}

// limitOr gives a limit as a number to count down from.
func limitOr(n int64) int64 {
	if n <= 0 {
		return 1<<63 - 1
	}
	return n
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// read takes a stream to its end, whatever is kept of it, so that the command never
// waits for us; the hard cap ends the command instead. caughtUp is called when all is taken
// that was there when somebody set a deadline.
func (r *run) read(f *os.File, s sink, caughtUp func()) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	for !r.draining.Load() {
		n, err := f.Read(buf[:])
		r.took(s, buf[:n])
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded) || !r.catchUp(f, s, buf[:]):
			return
		default:
			caughtUp()
		}
	}
	// The tree is dead. What it printed is there to be read; what comes later is from
	// somebody else, to whom the descriptor was given. The deadline that is to wake us may
	// only now be set: it ends no read here.
	if r.call.Terminal != nil {
		r.drainTerminal(f, s, buf[:], drainTime)
		return
	}
	r.drainPipe(f, s, buf[:])
}

// drainPipe takes what is in a pipe now. It reports false where that has ended.
func (r *run) drainPipe(f *os.File, s sink, buf []byte) bool {
	for left := pending(f); left > 0; {
		if f.SetReadDeadline(time.Time{}) != nil {
			return false
		}
		n, err := f.Read(buf[:min(left, len(buf))])
		r.took(s, buf[:n])
		if left -= n; err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	return true
}

// catchUp takes what the main process has printed, once that has ended, and lets later reads
// wait again. It reports false where nothing can follow.
func (r *run) catchUp(f *os.File, s sink, buf []byte) bool {
	open := true
	if r.call.Terminal != nil {
		open = r.drainTerminal(f, s, buf, settleTime)
	} else {
		open = r.drainPipe(f, s, buf)
	}
	return f.SetReadDeadline(time.Time{}) == nil && open
}

// drainTerminal reads until the terminal says that nobody has it open, and waits for
// that no longer than left in all. Time that a slow reader takes does not count. It reports
// false where nobody has it open.
func (r *run) drainTerminal(f *os.File, s sink, buf []byte, left time.Duration) bool {
	for left > 0 {
		began := time.Now()
		if f.SetReadDeadline(began.Add(left)) != nil {
			return false
		}
		n, err := f.Read(buf)
		left -= time.Since(began)
		r.took(s, buf[:n])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	return true
}

// took counts and keeps what was read.
func (r *run) took(s sink, p []byte) {
	r.hard.spend(len(p))
	r.kept.spend(len(p))
	s.take(p)
	if printed := r.printed.Add(int64(len(p))); len(p) > 0 && r.call.Captured != nil {
		r.call.Captured(printed)
	}
}
