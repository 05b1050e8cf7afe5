package hub

import (
	"fmt"
	"io"
	"time"

	"github.com/durward/durward/internal/telemetry"
)

// Metrics count the calls of a hub.
type Metrics struct {
	registry *telemetry.Registry
	known    func(tool string) bool
	queue    func() (running, waiting int)
}

// NewMetrics makes them. known tells which tools have counts of their own; queue how many
// calls have a slot, and how many wait for one.
func NewMetrics(known func(tool string) bool, queue func() (running, waiting int)) *Metrics {
	m := &Metrics{registry: telemetry.New(), known: known, queue: queue}
	m.registry.Gauge("mcp_calls_in_flight", func() float64 { running, _ := m.queue(); return float64(running) })
	m.registry.Gauge("mcp_calls_queued", func() float64 { _, waiting := m.queue(); return float64(waiting) })
	return m
}

// count counts a call. Of a tool that nobody knows the name is empty.
func (m *Metrics) count(tool, status string, took time.Duration) {
	if !m.known(tool) {
		tool = ""
	}
	by := telemetry.Label{Name: "tool", Value: tool}
	m.registry.Counter("mcp_calls_total", by, telemetry.Label{Name: "status", Value: status}).Inc()
	m.registry.Histogram("mcp_call_duration_seconds", by).Observe(took)
}

// write writes all metrics, those of the servers among them.
func (m *Metrics) write(w io.Writer, servers []Server) {
	m.registry.Write(w)
	for _, s := range servers {
		up := 0
		if s.Running {
			up = 1
		}
		fmt.Fprintf(w, "mcp_server_up{server=%q} %d\n", s.Name, up)
		fmt.Fprintf(w, "mcp_server_restarts_total{server=%q} %d\n", s.Name, s.Restarts)
	}
}
