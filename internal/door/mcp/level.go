package mcp

import (
	"context"
	"log/slog"
	"slices"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// A level is a place in the list of levels, from the least to the most urgent.
type level int

func levelNames() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// silent is above every level.
const silent level = 8

// levelOf reads the name of a level.
func levelOf(value []byte) (level, bool) {
	name, _ := jsonx.Text(value)
	at := slices.Index(levelNames(), name)
	if at < 0 {
		return silent, false
	}
	return level(at), true
}

// levelFor gives the level of the protocol for one of our log.
func levelFor(l slog.Level) level {
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
	l, ok := levelOf(r.params.level)
	if !ok {
		return refuse(jsonrpc.InvalidParams, "level is not one of the eight levels")
	}
	s.level = l
	return reply{result: struct{}{}}
}
