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
	// Caught is called once all that exists has been given and Follow begins to wait.
	Caught func()
}

// Tail gives the last records of all chains in the order of time, and new ones as they
// are written if it is to follow. It knows a new record by looking, so that records
// of different processes may come out of order by the time between two looks. The end
// of the context ends it without an error.
//
// With no more of a filter than Files it does not open the chains that were ended before
// the Last newest ends of chains, by their last record and by the time of their file:
// damage in them goes unseen, and so does a record that bears a later time than the end
// of its own chain. [Newest] reads everything.
func Tail(ctx context.Context, dir string, o TailOptions) iter.Seq2[Entry, error] {
	if o.Last == 0 {
		o.Last = 10
	}
	if o.Every <= 0 {
		o.Every = 250 * time.Millisecond
	}
	return func(yield func(Entry, error) bool) {
		yield = unlessEnded(ctx, yield)
		f := follower{dir: dir, files: o.Files}
		defer f.close()
		if !f.begin(yield) {
			return
		}
		f.skipOld(o)
		if !f.last(ctx, o.Filter, o.Last, yield) || !o.Follow {
			return
		}
		if o.Caught != nil {
			o.Caught()
		}
		f.follow(ctx, o, yield)
	}
}

// Newest gives the last of the wanted records of all chains in the order of time. The
// end of the context ends it without an error.
func Newest(ctx context.Context, dir string, filter Filter, last int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		yield = unlessEnded(ctx, yield)
		f := follower{dir: dir, files: filter.Files}
		defer f.close()
		if f.begin(yield) {
			f.last(ctx, filter, last, yield)
		}
	}
}

func unlessEnded(ctx context.Context, yield func(Entry, error) bool) func(Entry, error) bool {
	return func(e Entry, err error) bool {
		return (err == nil || !errors.Is(err, ctx.Err()) || ctx.Err() == nil) && yield(e, err)
	}
}

// begin looks for the first time.
func (f *follower) begin(yield func(Entry, error) bool) bool {
	if err := f.look(); err != nil {
		yield(Entry{}, notFound("audit.read", err))
		return false
	}
	return true
}

// last reads all there is and gives the end of it. What is odd is given at once, so that
// no record takes its place.
func (f *follower) last(ctx context.Context, filter Filter, size int, yield func(Entry, error) bool) bool {
	var r ring
	whole := f.drain(ctx, filter, func(e Entry, err error) bool {
		if err != nil {
			return yield(e, err)
		}
		r.put(e.keep(), size)
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
			yield(Entry{}, unread("audit.read", err))
			return
		}
		if !f.drain(ctx, o.Filter, yield) {
			return
		}
	}
}

// A ring holds the last entries put into it.
type ring struct {
	items []Entry
	next  int
}

func (r *ring) put(e Entry, size int) {
	switch {
	case size < 0:
	case len(r.items) < size:
		r.items = append(r.items, e)
	default:
		r.items[r.next] = e
		r.next = (r.next + 1) % size
	}
}

func (r *ring) each(yield func(Entry, error) bool) bool {
	for i := range r.items {
		if !yield(r.items[(r.next+i)%len(r.items)], nil) {
			return false
		}
	}
	return true
}
