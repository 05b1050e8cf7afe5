package firecrawl

import (
	"context"
	"errors"
	"time"

	"github.com/durward/durward/worker"
)

// A Tool fetches pages. It is safe for concurrent use.
type Tool struct {
	hasKey   bool
	interval time.Duration
	client   *client
	clock    clock
}

var (
	_ worker.Tool    = (*Tool)(nil)
	_ worker.Checker = (*Tool)(nil)
)

// New makes a tool. Options that cannot be used are an error with reason ConfigInvalid; a
// missing key is none, see [Options].
func New(o Options) (*Tool, error) { return newTool(o, systemClock{}) }

func newTool(o Options, by clock) (*Tool, error) {
	o = o.withDefaults()
	base, err := o.check()
	if err != nil {
		return nil, err
	}
	return &Tool{hasKey: o.APIKey != "", interval: o.PollInterval, client: newClient(o, base, by), clock: by}, nil
}

// Healthy tells whether there is a key. It asks nobody.
func (t *Tool) Healthy(context.Context) error {
	if !t.hasKey {
		return &worker.Error{Code: worker.Internal, Message: VarAPIKey + " is not set"}
	}
	return nil
}

// Run fetches what the input asks for.
func (t *Tool) Run(ctx context.Context, c worker.Call) (any, error) {
	if err := t.Healthy(ctx); err != nil {
		return nil, err
	}
	in, err := parseInput(c)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ended(ctx, nil)
	}
	b := newBudget(c.Deadline, t.clock)
	if in.Mode == modeCrawl {
		return t.crawl(ctx, in, b)
	}
	return t.scrape(ctx, in, b)
}

func (t *Tool) scrape(ctx context.Context, in input, b budget) (any, error) {
	page, err := t.client.scrape(ctx, in.job(), b)
	if err != nil {
		return nil, ended(ctx, err)
	}
	h := harvest{in: in}
	h.add([]document{page})
	o, err := h.output(ctx, progress{})
	if err != nil {
		return nil, ended(ctx, err)
	}
	return o, nil
}

// ended is err, or a TIMEOUT in its place once the time is over. What ends a call
// otherwise, a caller who left or a worker that stops, is for the worker to name.
func ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errTooLate), errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		var details map[string]any
		if f := (*fault)(nil); errors.As(err, &f) && f.reason == reasonMayRun {
			details = map[string]any{"reason": f.reason}
		}
		return timeout(err, details)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return tell(err)
}

func timeout(cause error, details map[string]any) *worker.Error {
	return &worker.Error{Code: worker.Timeout, Message: "the deadline of the call passed before the pages were there", Details: details, Err: cause}
}
