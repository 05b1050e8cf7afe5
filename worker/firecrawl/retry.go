package firecrawl

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

const (
	firstBackoff   = 500 * time.Millisecond
	longestBackoff = 10 * time.Second
)

// A policy says which faults of a request are worth another attempt.
type policy struct {
	statuses []int
	// unanswered says that a request may be sent again to which no reply came, cutShort
	// that it may even if one began.
	unanswered, cutShort bool
}

var (
	whenReading  = policy{[]int{http.StatusRequestTimeout, http.StatusTooManyRequests, 500, 502, 503, 504}, true, true}
	whenScraping = policy{[]int{http.StatusTooManyRequests, 502, 503}, true, false}
	// A crawl whose start was received twice is paid twice.
	whenStarting = policy{[]int{http.StatusTooManyRequests, 502, 503}, false, false}
)

func (p policy) again(f *fault) bool {
	switch {
	case f.begun:
		return p.cutShort
	case f.status == 0:
		return p.unanswered || f.unsent
	}
	return slices.Contains(p.statuses, f.status) && f.passes == 0
}

// attempts sends a request until it succeeds, fails for good, was sent so many times, or
// the time is not enough for another one.
func attempts[T any](ctx context.Context, b budget, most int, p policy, send func() (T, *fault)) (T, error) {
	for n := 0; ; n++ {
		reply, f := send()
		if f == nil {
			return reply, nil
		}
		if n+1 >= most || ctx.Err() != nil || errors.Is(f, errTooLate) || !p.again(f) {
			return reply, f
		}
		if b.pause(ctx, f.pauseAfter(n)) != nil {
			return reply, f
		}
	}
}

// pauseAfter gives the pause after the n-th attempt, from 0: what the API asks for, or a
// part of a time that doubles, left to chance so that not all come back at once.
func (f *fault) pauseAfter(n int) time.Duration {
	if f.wait > 0 {
		return f.wait
	}
	return rand.N(min(firstBackoff<<min(n, 10), longestBackoff))
}
