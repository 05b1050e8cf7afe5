package worker

import (
	"errors"
	"sync"
	"time"

	"github.com/durward/durward"
)

const (
	// mostFailures is how many calls in a row fail before a worker is left alone.
	mostFailures = 5
	// openTime is how long it is, before one call is let through to try it.
	openTime = 10 * time.Second
)

// A sign is what an attempt tells of the health of a worker.
type sign int

const (
	unknown sign = iota // says nothing
	healthy
	ill
)

// A breaker keeps calls from a worker that has failed too often. Its zero value lets all
// through. It counts by what it is told, and has no clock of its own.
type breaker struct {
	mu       sync.Mutex
	failures int       // guarded by mu; in a row
	until    time.Time // guarded by mu; with mostFailures or more, nobody goes through before
	probing  bool      // guarded by mu; somebody tries the worker
}

// A pass is one attempt that was let through. Whoever has one leaves.
type pass struct {
	breaker *breaker
	probe   bool
}

// enter lets an attempt through, or refuses it with reason CircuitOpen.
func (b *breaker) enter(now time.Time) (pass, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures < mostFailures:
		return pass{breaker: b}, nil
	case b.probing || now.Before(b.until):
		return pass{}, circuitOpen(b.until.Sub(now))
	}
	b.probing = true
	return pass{b, true}, nil
}

// leave tells what came of the attempt.
func (p pass) leave(now time.Time, s sign) {
	b := p.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.probe {
		b.probing = false
	}
	switch s {
	case healthy:
		b.failures = 0
	case ill:
		if b.failures++; p.probe || b.failures == mostFailures {
			b.until = now.Add(openTime)
		}
	}
}

// isOpen tells whether nobody goes through.
func (b *breaker) isOpen(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= mostFailures && now.Before(b.until)
}

// circuitOpen says in Detail.Limit after how many seconds it makes sense to come back.
func circuitOpen(wait time.Duration) error {
	seconds := max(1, (wait+time.Second-1)/time.Second)
	return &durward.Error{Reason: durward.CircuitOpen, Op: op, Retry: true, Err: durward.Detail{
		Limit: int64(seconds), Members: map[string]any{"reason": string(durward.CircuitOpen)},
		Err: errors.New("the worker failed too often in a row"),
	}}
}
