package worker

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/domain"
)

const (
	// leastTime is what a worker has to have left for a call to be sent.
	leastTime = 10 * time.Millisecond
	// firstPause bounds the wait before the second attempt; the bound doubles with each
	// further one, up to longestPause.
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// A prepared call has been read and not sent.
type prepared struct {
	engine *Engine
	tool   *domain.Tool
	call   durward.Call
	to     address
	limit  int64 // of the reply, in bytes
}

// Close has nothing to free.
func (p *prepared) Close() error { return nil }

// Run has the worker do the call.
func (p *prepared) Run(ctx context.Context) (durward.Result, error) {
	if err := p.engine.enter(); err != nil {
		return durward.Result{}, err
	}
	defer p.engine.leave()
	blame := p.blames(ctx)
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return durward.Result{}, durward.Ended(ctx, op)
		}
		a := p.attempt(ctx, blame)
		if !a.again || n >= p.tool.Transport.MaxAttempts || !pause(ctx, n) {
			return a.result, a.err
		}
	}
}

// blames tells whether the worker is to blame when the time of a call ends: it is when it
// was given at least half of what its tool has. So nobody opens a circuit with calls that
// are given too little.
func (p *prepared) blames(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return !ok || time.Until(end) >= p.tool.Timeout/2
}

// An attempt is what came of sending a call once.
type attempt struct {
	result durward.Result
	err    error
	// again is set where sending it once more repeats nothing that the worker did not ask for.
	again bool
}

func (p *prepared) attempt(ctx context.Context, blame bool) attempt {
	pass, err := p.to.remote.breaker.enter(p.engine.options.Now())
	if err != nil {
		return attempt{err: err}
	}
	reply, err := p.to.remote.exchange(ctx, p.request, p.limit)
	pass.leave(p.engine.options.Now(), signOf(err, blame))
	if err != nil {
		return attempt{err: err, again: isUnsent(err)}
	}
	e, err := readEnvelope(reply.status, reply.body)
	if err != nil {
		return attempt{err: err}
	}
	a := p.conclude(e)
	if ctx.Err() != nil { // a large output takes long to be checked
		return attempt{err: durward.Ended(ctx, op)}
	}
	return a
}

// conclude makes a result of what the worker said.
func (p *prepared) conclude(e envelope) attempt {
	p.compare(e)
	if !e.ok {
		if int64(len(e.output)) > p.limit { // what a worker left out was added
			return attempt{err: replyTooLarge(p.limit)}
		}
		return attempt{result: durward.Result{Output: e.output, Failed: true}, again: e.retryable}
	}
	if p.tool.Output != nil {
		if wrong := p.tool.Output.Check(e.output); len(wrong) > 0 {
			return attempt{err: outputMismatch(len(wrong))}
		}
	}
	return attempt{result: durward.Result{Output: e.output}}
}

// compare warns of a worker that answers for another call. Nothing that it said is logged.
func (p *prepared) compare(e envelope) {
	for _, id := range [...]struct {
		name, ours string
		said       []byte
	}{{"trace_id", p.call.TraceName(), e.traceID}, {"tool_run_id", string(p.call.ID), e.runID}} {
		if e.names(id.said, id.ours) {
			continue
		}
		p.engine.options.Logger.Warn("a worker answered with an id that is not the call's",
			"member", id.name, "tool_id", p.tool.ID, "tool_run_id", p.call.ID, "trace_id", p.call.TraceName())
	}
}

// pause waits before the next attempt, anything up to its bound so that callers who failed
// together do not come back together. It gives false where no time would be left.
func pause(ctx context.Context, attempts int) bool {
	bound := min(firstPause<<min(attempts-1, 10), longestPause)
	wait := rand.N(bound)
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait+leastTime {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

// positive gives a limit that may be compared; a negative one is none.
func positive(limit int64) int64 {
	if limit < 0 {
		return math.MaxInt64
	}
	return limit
}
