package gateway

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/telemetry"
)

// Metrics count the runs of all doors of a program.
type Metrics struct {
	registry *telemetry.Registry
	runtime  atomic.Pointer[core.Runtime]
}

func newMetrics(r *telemetry.Registry) *Metrics {
	m := &Metrics{registry: r}
	r.Gauge("durward_gateway_calls_in_flight", func() float64 { running, _ := m.Load(); return float64(running) })
	r.Gauge("durward_gateway_calls_queued", func() float64 { _, waiting := m.Load(); return float64(waiting) })
	return m
}

// Load says how many runs of the door of the moment have a slot, and how many wait for one.
func (m *Metrics) Load() (running, waiting int) {
	if r := m.runtime.Load(); r != nil {
		return r.Load()
	}
	return 0, 0
}

// counted are the codes that have a count of their own.
var counted = []string{
	codeValidation, codeUnauthenticated, codeDenied, codeNotFound, codeRateLimited, codeInternal, codeUpstream, codeTimeout, codeCancelled,
}

// A tally counts the runs of one tool.
type tally struct {
	duration, wait *telemetry.Histogram
	calls          map[string]telemetry.Counter // by code
}

// tally gives the counts of a tool. Those of tools that nobody knows are one, without a name.
func (m *Metrics) tally(tool string) *tally {
	by := telemetry.Label{Name: "tool", Value: tool}
	t := &tally{
		duration: m.registry.Histogram("durward_gateway_call_duration_seconds", by),
		wait:     m.registry.Histogram("durward_gateway_queue_wait_seconds", by),
		calls:    map[string]telemetry.Counter{},
	}
	for _, code := range append([]string{codeOK, codeOther}, counted...) {
		t.calls[code] = m.registry.Counter("durward_gateway_calls_total", by, telemetry.Label{Name: "code", Value: code})
	}
	return t
}

// Codes that answers do not have.
const (
	codeOK    = "ok"
	codeOther = "other" // a word of the worker's own
)

// count counts one run.
func (m *Metrics) count(t *tally, took time.Duration, e ending) {
	code := e.code
	if e.ok {
		code = codeOK
	}
	calls, ok := t.calls[code]
	if !ok {
		calls = t.calls[codeOther]
	}
	calls.Inc()
	t.duration.Observe(took)
	t.wait.Observe(e.queued)
	if e.refused != "" {
		m.registry.Counter("durward_gateway_refusals_total", telemetry.Label{Name: "reason", Value: string(e.refused)}).Inc()
	}
}

// showMetrics shows what was counted.
func (d *Door) showMetrics(w http.ResponseWriter, _ *http.Request) error {
	var page bytes.Buffer
	d.Shared.Metrics.registry.Write(&page)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(page.Bytes()) // a client that is gone is noticed by the server
	return nil
}
