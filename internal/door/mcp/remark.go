package mcp

import (
	"context"
	"log/slog"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcpspec"
)

// maxCause bounds what is logged of the cause of an error, in bytes: a path of the caller
// can stand in it.
const maxCause = 512

// A remark is what is told of a call beside its answer. It holds nothing of what the call
// read, wrote or printed, and what the caller wrote is cut.
type remark struct {
	Tool      string `json:"tool"`
	CommandID string `json:"commandId,omitempty"`
	Code      word   `json:"code"`
	Rule      string `json:"rule,omitempty"`
}

// remarkOn tells what there is to be said of a call that has ended, if anything is.
func remarkOn(inv invocation, r durward.Result, err error) (what remark, at slog.Level, ok bool) {
	what = remark{Tool: string(inv.call.Tool), CommandID: mcpspec.Short(inv.call.CommandID)}
	switch {
	case err != nil:
		what.Code, what.Rule = meaning(err)
		return what, durward.KindOf(err).LogLevel(), true
	case r.Truncated():
		what.Code, what.Rule = outputTruncated, "maxOutputBytes"
		return what, slog.LevelWarn, true
	}
	return remark{}, 0, false
}

// remark logs what there is to be said, with the cause, and tells a client that asked for
// its level.
func (s *session) remark(asked mcpspec.Level, inv invocation, r durward.Result, err error) {
	what, at, ok := remarkOn(inv, r, err)
	if !ok {
		return
	}
	s.Logger.Log(context.Background(), at, "call", "door", Name, "surface", inv.call.Surface, "tool", what.Tool,
		"command", what.CommandID, "code", string(what.Code), "rule", what.Rule, "error", causeOf(err))
	if l := levelFor(at); l >= asked {
		s.notify("notifications/message", struct {
			Level  string `json:"level"`
			Logger string `json:"logger"`
			Data   remark `json:"data"`
		}{l.String(), "durward", what})
	}
}

func causeOf(err error) string {
	if err == nil {
		return ""
	}
	return cut(err.Error(), maxCause)
}
