package gateway

import (
	"bytes"
	"net/http"
	"slices"
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
	r.Gauge("durward_gateway_calls_in_flight", func() float64 { running, _ := m.load(); return float64(running) })
	r.Gauge("durward_gateway_calls_queued", func() float64 { _, waiting := m.load(); return float64(waiting) })
	return m
}

func (m *Metrics) load() (running, waiting int) {
	if r := m.runtime.Load(); r != nil {
		return r.Load()
	}
	return 0, 0
}

// counted are the codes that have a count of their own.
var counted = []string{
	codeValidation, codeUnauthenticated, codeDenied, codeNotFound, codeRateLimited, codeInternal, codeUpstream, codeTimeout, codeCancelled,
}

// count counts one run. Of a tool that nobody knows the name is empty.
func (m *Metrics) count(tool string, took time.Duration, e ending) {
	code := e.code
	switch {
	case e.ok:
		code = "ok"
	case !slices.Contains(counted, code):
		code = "other" // a word of the worker's own
	}
	by := telemetry.Label{Name: "tool", Value: tool}
	m.registry.Count("durward_gateway_calls_total", by, telemetry.Label{Name: "code", Value: code})
	m.registry.Observe("durward_gateway_call_duration_seconds", took, by)
	m.registry.Observe("durward_gateway_queue_wait_seconds", e.queued, by)
	if e.refused != "" {
		m.registry.Count("durward_gateway_refusals_total", telemetry.Label{Name: "reason", Value: string(e.refused)})
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
