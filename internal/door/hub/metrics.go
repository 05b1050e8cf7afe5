package hub

import (
	"io"
	"sync"
	"time"

	"github.com/durward/durward/internal/telemetry"
)

// Metrics count the calls of a hub.
type Metrics struct {
	registry *telemetry.Registry
	known    func(tool string) bool
	queue    func() (running, waiting int)
	series   sync.Map // of counted, by those: the registry makes the names of its series anew each time
}

// counted is what is counted for itself, and tally where.
type (
	counted struct{ tool, status string }
	tally   struct {
		calls telemetry.Counter
		took  *telemetry.Histogram
	}
)

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
	t := m.tally(counted{tool, status})
	t.calls.Inc()
	t.took.Observe(took)
}

func (m *Metrics) tally(c counted) tally {
	if t, ok := m.series.Load(c); ok {
		return t.(tally)
	}
	by := telemetry.Label{Name: "tool", Value: c.tool}
	t := tally{
		m.registry.Counter("mcp_calls_total", by, telemetry.Label{Name: "status", Value: c.status}),
		m.registry.Histogram("mcp_call_duration_seconds", by),
	}
	m.series.Store(c, t)
	return t
}

// write writes all metrics, those of the servers among them.
func (m *Metrics) write(w io.Writer, servers []Server) {
	m.registry.Write(w)
	now := telemetry.New()
	for _, s := range servers {
		of := telemetry.Label{Name: "server", Value: s.Name}
		now.Counter("mcp_server_restarts_total", of).AddInt64(int64(s.Restarts))
		now.Gauge("mcp_server_up", func() float64 { return map[bool]float64{true: 1}[s.Running] }, of)
	}
	now.Write(w)
}
