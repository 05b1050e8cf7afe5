package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcpspec"
)

// SetLevel has servers say what is at or above a level of MCP for their log ("debug" to
// "emergency"), those that are started later, too; an empty one asks for nothing. Before the first call
// they say what they will.
// It comes back when all servers that are to be told have answered, or ctx ends.
func (e *Engine) SetLevel(ctx context.Context, level string) {
	e.level.Store(&level)
	var told sync.WaitGroup
	for _, name := range e.order {
		if p, err := e.servers[name].current(); err == nil {
			told.Go(func() { p.setLevel(ctx) })
		}
	}
	told.Wait()
}

// setLevel tells a legacy server which level is wanted; modern ones hear it in each request.
func (p *run) setLevel(ctx context.Context) {
	level := p.engine.level.Load()
	if level == nil || p.greeting.era != legacy || !p.greeting.can["logging"] || *level == "" && p.level.Load() == nil || p.level.Swap(level) == level {
		return
	}
	wanted := cmp.Or(*level, mostUrgent.String())
	if err := p.request(ctx, "logging/setLevel", map[string]any{"level": wanted}); err != nil {
		p.log.Debug("an MCP server does not take a level for its log", "error", err)
	}
}

// mostUrgent is the level that says least: a server that was told one cannot be told of none.
const mostUrgent = mcpspec.Silent - 1

// requestTime is what a server has to answer something that it could do without.
const requestTime = 5 * time.Second

// request has a server do something beside the calls, and does not wait for long.
func (p *run) request(ctx context.Context, method string, params map[string]any) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer, stop := p.engine.options.clock.timer(requestTime)
	defer stop()
	go func() {
		select {
		case <-timer:
			cancel(errUnanswered)
		case <-ctx.Done():
		}
	}()
	_, err := p.inquire(ctx, method, params)
	if errors.Is(context.Cause(ctx), errUnanswered) {
		return errUnanswered
	}
	return err
}

var errUnanswered = errors.New("it did not answer within 5 seconds")

// levelFor is the level that a modern server hears of with a call: the least urgent one of what all
// want and what the caller does, whom events are of. It is empty where nobody wants any.
func (e *Engine) levelFor(events durward.Events) string {
	least := mcpspec.Silent
	if level := e.level.Load(); level != nil {
		least, _ = mcpspec.LevelNamed(*level)
	}
	if reader, ok := events.(durward.LogReader); ok {
		wanted, _ := mcpspec.LevelNamed(reader.LogLevel())
		least = min(least, wanted)
	}
	return least.String()
}
