package worker

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"golang.org/x/net/http/httpguts"
)

// A message is the text of an HTTP request while it is written.
type message []byte

// A writer appends a request to a text, or to another one where there is no room. The time that
// the worker has is counted from now.
type writer func(ctx context.Context, room []byte) []byte

// begin writes what every request has.
func begin(room []byte, method string, to address) message {
	m := append(message(room), method...)
	m = append(append(append(m, ' '), to.path...), " HTTP/1.1\r\n"...)
	m = m.field("Host", to.remote.host)
	m = m.field("User-Agent", "durward")
	m = m.field("Accept-Encoding", "identity")
	if to.secret != "" {
		m = m.field("Authorization", "Bearer "+string(to.secret))
	}
	return m
}

// field writes a header, unless it is one that no header can be.
func (m message) field(name, value string) message {
	if !httpguts.ValidHeaderFieldValue(value) {
		return m
	}
	return append(append(append(append(m, name...), ": "...), value...), "\r\n"...)
}

// request is the [writer] of what is sent to the worker.
func (p *prepared) request(ctx context.Context, room []byte) []byte {
	c, end := &p.call, "}"
	var some [512]byte
	meta := p.meta(ctx, some[:0])
	length := len(meta) + len(c.Input) + len(end)
	m := begin(slices.Grow(room, length+1024+len(c.Trace.State)), "POST", p.to)
	m = m.field("Content-Type", "application/json")
	m = m.field("Content-Length", strconv.Itoa(length))
	m = m.field("X-Tool-Run-Id", string(c.ID))
	if until, ok := ctx.Deadline(); ok {
		m = m.field("X-Request-Timeout-Ms", strconv.FormatInt(time.Until(until).Milliseconds(), 10))
	}
	if !c.Trace.IsZero() {
		m = m.field("traceparent", child(c.Trace).Traceparent())
		if c.Trace.State != "" {
			m = m.field("tracestate", c.Trace.State)
		}
	}
	m = append(append(append(m, "\r\n"...), meta...), c.Input...)
	return append(m, end...)
}

// meta writes the body up to the input.
func (p *prepared) meta(ctx context.Context, text []byte) []byte {
	text = jsonx.AppendString(append(text, `{"meta":{"trace_id":`...), p.call.TraceName())
	text = jsonx.AppendString(append(text, `,"tool_run_id":`...), string(p.call.ID))
	text = jsonx.AppendString(append(text, `,"domain_id":`...), p.tool.DomainID)
	if end, ok := ctx.Deadline(); ok {
		text = strconv.AppendInt(append(text, `,"deadline_ms":`...), end.UnixMilli(), 10)
	}
	return append(text, `},"input":`...)
}

// child gives the span of one attempt, below that of the call.
func child(t durward.TraceContext) durward.TraceContext {
	binary.BigEndian.PutUint64(t.SpanID[:], max(rand.Uint64(), 1)) // no span has id zero
	return t
}
