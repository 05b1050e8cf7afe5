package worker

import (
	"context"
	"time"

	"github.com/durward/durward/internal/domain"
)

// A Health is how a worker is.
type Health string

// The states. A worker whose circuit is open is not asked.
const (
	Up          Health = "up"
	Down        Health = "down"
	CircuitOpen Health = "circuit_open"
)

const (
	healthPath  = "/healthz"
	healthTime  = 2 * time.Second
	healthBytes = 64 << 10
)

// Health asks the worker of a tool how it is, and waits for its answer for two seconds. It
// has no influence on the circuit.
func (e *Engine) Health(ctx context.Context, tool *domain.Tool) Health {
	if e.enter() != nil {
		return Down
	}
	defer e.leave()
	to, err := e.address(tool, healthPath)
	switch {
	case err != nil:
		return Down
	case to.remote.breaker.isOpen(e.options.Now()):
		return CircuitOpen
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	ask := func(_ context.Context, room []byte) []byte { return append(begin(room, "GET", to), "\r\n"...) }
	if answer, err := to.remote.exchange(ctx, ask, healthBytes); err != nil || answer.status/100 != 2 {
		return Down
	}
	return Up
}
