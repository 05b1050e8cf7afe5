package mcp

import (
	"context"
	"log/slog"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcpspec"
)

// levelFor gives the level of the protocol for one of our log.
func levelFor(l slog.Level) mcpspec.Level {
	switch {
	case l >= slog.LevelError:
		return 4
	case l >= slog.LevelWarn:
		return 3
	case l >= slog.LevelInfo:
		return 1
	}
	return 0
}

func (s *session) setLevel(_ context.Context, r request) reply {
	l, ok := mcpspec.LevelOf(r.params.level)
	if !ok {
		return refuse(jsonrpc.InvalidParams, "level is not one of the eight levels")
	}
	s.level = l
	return reply{result: struct{}{}}
}
