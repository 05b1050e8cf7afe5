package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/safetext"
)

// A siteLog tells what happens, and of each call what came of it. It never holds what
// callers send or commands print.
type siteLog struct {
	*slog.Logger
	// Recorder keeps the records; what is told here is no record.
	core.Recorder
}

var logLevels = map[string]slog.Level{
	"": slog.LevelInfo, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// logger makes the log of a component that the variables ask for. At a terminal it is
// text, elsewhere JSON.
func (p *program) logger(to io.Writer, component string) (*slog.Logger, error) {
	level, ok := logLevels[p.env[varLogLevel]]
	if !ok {
		return nil, usageError("use error, warn, info or debug", "%s: there is no level %q", varLogLevel, p.env[varLogLevel])
	}
	format := p.env[varLogFormat]
	if format == "" && p.stderr.terminal {
		format = "text"
	}
	o := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(to, o)).With("component", component), nil
	case "", "json":
		return slog.New(slog.NewJSONHandler(safeJSON{to}, o)).With("component", component), nil
	}
	return nil, usageError("use text or json", "%s: there is no format %q", varLogFormat, format)
}

// safeJSON makes what a reader could not see visible in each line.
type safeJSON struct{ to io.Writer }

func (s safeJSON) Write(line []byte) (int, error) {
	safe := line
	if !safetext.IsSafeJSON(line) {
		safe = []byte(safetext.JSON(string(line)))
	}
	if _, err := s.to.Write(safe); err != nil {
		return 0, err
	}
	return len(line), nil
}

func (l *siteLog) Deny(c durward.Call, d durward.Decision) error {
	err := l.Recorder.Deny(c, d)
	l.tell(slog.LevelInfo, "denied", c, err, "code", d.Code.Code(), "rule", d.Rule)
	return err
}

func (l *siteLog) Intent(c durward.Call, d durward.Decision) error {
	err := l.Recorder.Intent(c, d)
	l.tell(slog.LevelDebug, "begins", c, err, "rule", d.Rule)
	return err
}

func (l *siteLog) Refused(c durward.Call, d durward.Decision, to durward.Contact) error {
	err := l.Recorder.Refused(c, d, to)
	l.tell(slog.LevelInfo, "was kept from a host", c, err, "rule", to.Rule, "host", to.Host, "port", to.Port, "times", to.Times)
	return err
}

func (l *siteLog) Outcome(c durward.Call, d durward.Decision, r durward.Result, failure error) error {
	err := l.Recorder.Outcome(c, d, r, failure)
	l.tell(slog.LevelInfo, "ended", c, err, "rule", d.Rule, "outcome", durward.OutcomeOf(r, failure), "duration_ms", r.Took.Milliseconds())
	return err
}

func (l *siteLog) tell(level slog.Level, what string, c durward.Call, unrecorded error, more ...any) {
	if unrecorded != nil {
		level, more = slog.LevelError, append(more, "unrecorded", unrecorded)
	}
	l.Log(context.Background(), level, "call "+what, append([]any{
		"request_id", c.ID, "trace_id", c.Trace.ID(), "caller", c.Caller.Name, "tool", c.Tool,
	}, more...)...)
}

// A heldWriter keeps what it is given until it is released.
type heldWriter struct {
	to io.Writer

	mu       sync.Mutex
	kept     bytes.Buffer // guarded by mu
	released bool         // guarded by mu
}

func (h *heldWriter) Write(text []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return h.to.Write(text)
	}
	return h.kept.Write(text)
}

func (h *heldWriter) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	_, _ = h.kept.WriteTo(h.to) // nobody is left to tell
}
