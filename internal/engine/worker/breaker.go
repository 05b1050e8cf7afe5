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
	// probe is when somebody last went through to try the worker; zero when nobody does.
	probe time.Time // guarded by mu
}

// A pass is one attempt that was let through. Whoever has one leaves.
type pass struct {
	breaker *breaker
	// probe is when it began to try the worker; zero for any other attempt.
	probe time.Time
}

// enter lets an attempt through, or refuses it with reason CircuitOpen.
func (b *breaker) enter(now time.Time) (pass, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures < mostFailures:
		return pass{breaker: b}, nil
	case b.refuses(now):
		return pass{}, circuitOpen(b.opens().Sub(now))
	}
	b.probe = now
	return pass{b, now}, nil
}

// leave tells what came of the attempt.
func (p pass) leave(now time.Time, s sign) {
	b := p.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	probes := !p.probe.IsZero()
	if probes && b.probe.Equal(p.probe) {
		b.probe = time.Time{}
	}
	switch s {
	case healthy:
		b.failures = 0
	case ill:
		if b.failures++; probes || b.failures == mostFailures {
			b.until = now.Add(openTime)
		}
	}
}

// isOpen tells whether nobody goes through.
func (b *breaker) isOpen(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= mostFailures && b.refuses(now)
}

// refuses tells whether an open circuit keeps the next one out: it has only just been opened,
// or somebody tries the worker. One who takes long to find out keeps nobody out for longer
// than the circuit is open. The caller holds mu.
func (b *breaker) refuses(now time.Time) bool {
	return now.Before(b.until) || !b.probe.IsZero() && now.Before(b.probe.Add(openTime))
}

// opens tells when the next one may try. The caller holds mu.
func (b *breaker) opens() time.Time {
	if next := b.probe.Add(openTime); !b.probe.IsZero() && next.After(b.until) {
		return next
	}
	return b.until
}

// circuitOpen says in Detail.Limit after how many seconds it makes sense to come back.
func circuitOpen(wait time.Duration) error {
	seconds := max(1, (wait+time.Second-1)/time.Second)
	return &durward.Error{Reason: durward.CircuitOpen, Op: op, Retry: true, Err: durward.Detail{
		Limit: int64(seconds), Members: map[string]any{"reason": string(durward.CircuitOpen)},
		Err: errors.New("the worker failed too often in a row"),
	}}
}
