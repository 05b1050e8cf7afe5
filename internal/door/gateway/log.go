package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// log tells what became of a run, in one line. Of what the caller sent and the worker
// answered it has the sizes alone, unless the policies ask for more.
func (d *Door) log(u *run, q request, e ending) {
	took := time.Since(u.began)
	if !q.dryRun {
		d.Shared.Metrics.count(d.tallyOf(u.tool), took, e)
	}
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(
		attrs,
		slog.String("trace_id", u.traceName()), slog.String("tool_run_id", string(u.id)), slog.String("domain_id", d.Domain.ID), slog.String("tool_id", string(u.tool)),
		slog.Bool("ok", e.ok), slog.String("code", loggedCode(e.code)), slog.Int("http_status", e.status), slog.Int64("duration_ms", took.Milliseconds()),
		slog.Int64("queue_ms", e.queued.Milliseconds()), slog.Int64("worker_ms", e.taken.Milliseconds()),
		slog.Int("request_bytes", q.bytes), slog.Int("response_bytes", len(e.body)),
	)
	if q.dryRun {
		attrs = append(attrs, slog.Bool("dry_run", true))
	}
	if e.replayed {
		attrs = append(attrs, slog.String("replay_of", string(e.id)))
	}
	if d.IncludeInput && q.input != nil {
		attrs = append(attrs, slog.String("input", cut(redact(q.input))))
	}
	d.Logger.LogAttrs(context.Background(), slog.LevelInfo, "run", attrs...)
}

// loggedCode gives the code of an answer. A word of the worker's own may hold anything that it
// was sent.
func loggedCode(code string) string {
	if code == "" || slices.Contains(counted, code) {
		return code
	}
	return codeOther
}

// tallyOf gives the counts of a tool: callers do not make new ones.
func (d *Door) tallyOf(tool durward.ToolID) *tally {
	if t, ok := d.tallies[tool]; ok {
		return t
	}
	return d.tallies[""]
}

// loggedInput is how much of an input a log line holds.
const loggedInput = 8 << 10

// cut shortens a text to what a log line holds, between two characters.
func cut(text string) string {
	if len(text) <= loggedInput {
		return text
	}
	return strings.ToValidUTF8(text[:loggedInput], "") + "…"
}

var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(pass|secret|token|api[_-]?key|authorization|cookie)`)
})

// redact gives a text of JSON with the values of members that have the name of a secret left
// out, whatever they are.
func redact(text json.RawMessage) string {
	return string(appendRedacted(nil, jsonx.TrimSpace(text)))
}

func appendRedacted(line, value []byte) []byte {
	switch value[0] {
	case '{':
		line = append(line, '{')
		for name, member := range jsonx.Members(value) {
			if line[len(line)-1] != '{' {
				line = append(line, ',')
			}
			line = append(jsonx.AppendString(line, string(name)), ':')
			if secretName().Match(name) {
				line = append(line, `"[redacted]"`...)
				continue
			}
			line = appendRedacted(line, member)
		}
		return append(line, '}')
	case '[':
		line = append(line, '[')
		for i, item := range jsonx.Elements(value) {
			if i > 0 {
				line = append(line, ',')
			}
			line = appendRedacted(line, item)
		}
		return append(line, ']')
	}
	return jsonx.AppendCompact(line, value)
}
