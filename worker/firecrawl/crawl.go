package firecrawl

import (
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	// firstLook is after the start of a crawl, at the latest.
	firstLook = time.Second
	// longestPoll is between two looks, at most.
	longestPoll = longestPollInterval
	// hidden is how long a crawl may not be found after its start.
	hidden = 5 * time.Second
	// reserve is left of the time for ending a crawl and for the answer.
	reserve = 2 * time.Second
	// lastLook is how long a look takes for which there should still be time.
	lastLook = 500 * time.Millisecond
	// cancelTime is for telling the API that a crawl is to end.
	cancelTime = time.Second
	// afterCaller is how long the start of a crawl is still waited for when nobody wants
	// its pages any more: only who knows its id can end it.
	afterCaller = time.Second
)

// A following is one crawl that runs at the API.
type following struct {
	*Tool
	budget // for looking at it; what is left then is for ending it
	id     string
	began  time.Time
	// last is what was seen of it last.
	last    crawl
	harvest harvest
}

func (t *Tool) crawl(ctx context.Context, in input, b budget) (any, error) {
	looks := b
	looks.deadline = b.deadline.Add(-reserve)
	f := &following{Tool: t, budget: looks, began: b.Now(), harvest: harvest{in: in}}
	begun, err := t.start(ctx, in, b)
	if err != nil {
		return nil, ended(ctx, err)
	}
	f.id, f.last = begun.id, begun
	if begun.given {
		f.harvest.add(begun.pages)
		return f.output(ctx)
	}
	work, done := context.WithDeadline(ctx, looks.deadline)
	defer done()
	err = f.complete(work)
	if err == nil {
		return f.output(ctx)
	}
	t.cancel(ctx, f.id)
	switch {
	case context.Cause(work) != nil && !errors.Is(context.Cause(work), context.DeadlineExceeded):
		return nil, ended(ctx, err) // nobody waits for an answer
	case work.Err() == nil && !errors.Is(err, errTooLate):
		return nil, tell(err)
	case in.Partial:
		return f.soFar(ctx)
	}
	return nil, f.timeout(err)
}

// start begins a crawl. A caller who leaves meanwhile does not keep us from learning its
// id, for a moment, so that it can be ended.
func (t *Tool) start(ctx context.Context, in input, b budget) (crawl, error) {
	started, cancel := outlive(ctx, afterCaller)
	defer cancel()
	begun, err := t.client.start(started, in.job(), b)
	if err == nil && ctx.Err() != nil && isID(begun.id) {
		t.cancel(ctx, begun.id)
		return begun, ctx.Err()
	}
	return begun, err
}

// outlive gives a context that goes on for so long after the end of ctx, unless that is
// because of its deadline.
func outlive(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			_ = systemClock{}.Sleep(longer, d)
		}
		cancel()
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// cancel ends a crawl, whatever ended the call.
func (t *Tool) cancel(ctx context.Context, id string) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer done()
	t.client.cancel(ctx, id)
}

// complete waits for the end of the crawl, and gathers its pages.
func (f *following) complete(ctx context.Context) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	for !f.harvest.add(f.last.pages) && f.last.next != "" {
		if f.left() <= 0 {
			return errTooLate
		}
		page, err := f.client.look(ctx, f.id, f.last.next, f.budget)
		if err != nil {
			return err
		}
		page.progress = f.last.progress
		if f.last = page; len(page.pages) == 0 {
			return nil
		}
	}
	f.harvest.truncated = f.harvest.truncated || f.last.next != ""
	return nil
}

// wait looks at the crawl until it is completed. While it runs, links to further pages
// mean nothing: there would always be another one.
func (f *following) wait(ctx context.Context) error {
	pause, then, odd := min(firstLook, f.interval), f.interval, 0
	for {
		if err := f.beforeLook(ctx, pause); err != nil {
			return err
		}
		pause, then = then, min(then*3/2, longestPoll)
		seen, err := f.client.look(ctx, f.id, "", f.budget)
		if f.isHidden(err) {
			continue
		}
		if err != nil {
			return err
		}
		f.last = seen
		switch seen.state {
		case stateCompleted:
			return nil
		case stateFailed:
			return seen.notCompleted()
		case stateUnknown:
			if odd++; odd == 2 {
				return seen.notCompleted()
			}
		}
	}
}

func (c crawl) notCompleted() error {
	return &fault{status: http.StatusOK, reason: reasonJobStatus, text: c.says}
}

// beforeLook pauses; a pause that would leave too little time for the look is shorter.
func (f *following) beforeLook(ctx context.Context, d time.Duration) error {
	most := f.left() - lastLook
	if most <= 0 {
		return errTooLate
	}
	return f.Sleep(ctx, min(d, most))
}

// isHidden reports whether a crawl is not found that began a moment ago.
func (f *following) isHidden(err error) bool {
	var missing *fault
	return errors.As(err, &missing) && missing.status == http.StatusNotFound && f.Now().Sub(f.began) < hidden
}

func (f *following) output(ctx context.Context) (any, error) {
	o, err := f.harvest.output(ctx, f.last.progress)
	if err != nil {
		return nil, ended(ctx, err)
	}
	return o, nil
}

// soFar is the output of a crawl for which there was too little time.
func (f *following) soFar(ctx context.Context) (any, error) {
	if len(f.harvest.documents) == 0 {
		f.harvest.add(f.last.pages)
	}
	f.harvest.truncated = true
	return f.output(ctx)
}

func (f *following) timeout(cause error) error {
	return timeout(cause, map[string]any{
		"crawl_id": f.id, "completed": f.last.progress.completed, "total": f.last.progress.total,
	})
}
