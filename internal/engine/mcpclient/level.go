package mcpclient

import (
	"context"
	"sync"
)

// SetLevel has servers say what is at or above a level of MCP for their log ("debug" to
// "emergency"), those that are started later, too. Before the first call they say what they will.
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
	if level == nil || p.greeting.era != legacy || !p.greeting.can["logging"] || p.level.Swap(level) == level {
		return
	}
	if _, err := p.inquire(ctx, "logging/setLevel", map[string]any{"level": *level}); err != nil {
		p.log.Debug("an MCP server does not take a level for its log", "error", err)
	}
}
