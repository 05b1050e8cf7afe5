package audit

import (
	"context"
	"errors"
	"iter"
	"time"
)

// TailOptions say what [Tail] gives.
type TailOptions struct {
	Filter
	// Last is how many records that exist already are given. Zero means 10, a negative
	// number none.
	Last int
	// Follow goes on with new records until the context ends.
	Follow bool
	// Every is how often Follow looks. Zero means 250 ms.
	Every time.Duration
}

// Tail gives the last records of all chains in the order of time, and new ones as they
// are written if it is to follow. It knows a new record by looking, so that records
// of different processes may come out of order by the time between two looks. The end
// of the context ends it without an error.
func Tail(ctx context.Context, dir string, o TailOptions) iter.Seq2[Entry, error] {
	if o.Last == 0 {
		o.Last = 10
	}
	if o.Every <= 0 {
		o.Every = 250 * time.Millisecond
	}
	return func(yield func(Entry, error) bool) {
		f := follower{dir: dir, files: o.Files}
		defer f.close()
		if !f.last(ctx, o, unlessEnded(ctx, yield)) || !o.Follow {
			return
		}
		f.follow(ctx, o, unlessEnded(ctx, yield))
	}
}

func unlessEnded(ctx context.Context, yield func(Entry, error) bool) func(Entry, error) bool {
	return func(e Entry, err error) bool {
		return (err == nil || !errors.Is(err, ctx.Err()) || ctx.Err() == nil) && yield(e, err)
	}
}

// last reads all there is and gives the end of it.
func (f *follower) last(ctx context.Context, o TailOptions, yield func(Entry, error) bool) bool {
	if err := f.look(); err != nil {
		yield(Entry{}, notFound("audit.read", err))
		return false
	}
	f.skipOld(o)
	var r ring
	whole := f.drain(ctx, o.Filter, func(e Entry, err error) bool {
		if problem := (*Problem)(nil); err != nil && !errors.As(err, &problem) {
			return yield(e, err)
		}
		r.put(found{e.keep(), err}, o.Last)
		return true
	})
	return whole && r.each(yield)
}

func (f *follower) follow(ctx context.Context, o TailOptions, yield func(Entry, error) bool) {
	ticker := time.NewTicker(o.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := f.look(); err != nil {
			yield(Entry{}, unavailable("audit.read", err))
			return
		}
		if !f.drain(ctx, o.Filter, yield) {
			return
		}
	}
}

type found struct {
	entry Entry
	err   error
}

// A ring holds the last things put into it.
type ring struct {
	items []found
	next  int
}

func (r *ring) put(f found, size int) {
	switch {
	case size < 0:
	case len(r.items) < size:
		r.items = append(r.items, f)
	default:
		r.items[r.next] = f
		r.next = (r.next + 1) % size
	}
}

func (r *ring) each(yield func(Entry, error) bool) bool {
	for i := range r.items {
		f := r.items[(r.next+i)%len(r.items)]
		if !yield(f.entry, f.err) {
			return false
		}
	}
	return true
}
