// Package telemetry counts what happens and shows it in the text format of Prometheus.
//
//	durward_gateway_calls_total{tool="web.fetch",code="ok"} 12
//	durward_gateway_call_duration_seconds_bucket{tool="web.fetch",le="0.1"} 9
//
// Values of labels are bounded by whoever counts: nothing here forgets one.
package telemetry

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// A Registry holds the metrics of one program. It is safe for concurrent use.
type Registry struct{ set *metrics.Set }

// New makes a registry that holds nothing.
func New() *Registry { return &Registry{metrics.NewSet()} }

// Write writes all metrics, sorted by name.
func (r *Registry) Write(w io.Writer) { r.set.WritePrometheus(w) }

// A Label is one name and value of a metric.
type Label struct{ Name, Value string }

// Count adds one to a counter.
func (r *Registry) Count(name string, labels ...Label) {
	r.set.GetOrCreateCounter(series(name, labels)).Inc()
}

// Gauge has value asked whenever the metrics are written. The first function of a name stays.
func (r *Registry) Gauge(name string, value func() float64) { r.set.GetOrCreateGauge(name, value) }

// buckets are the upper bounds of a histogram of durations, in seconds.
var buckets = []struct {
	bound time.Duration
	le    string
}{
	{time.Millisecond, "0.001"},
	{5 * time.Millisecond, "0.005"},
	{10 * time.Millisecond, "0.01"},
	{50 * time.Millisecond, "0.05"},
	{100 * time.Millisecond, "0.1"},
	{500 * time.Millisecond, "0.5"},
	{time.Second, "1"},
	{5 * time.Second, "5"},
	{10 * time.Second, "10"},
	{60 * time.Second, "60"},
	{300 * time.Second, "300"},
}

// Observe adds a duration to a histogram, whose name ends in _seconds.
func (r *Registry) Observe(name string, d time.Duration, labels ...Label) {
	for _, b := range buckets {
		c := r.set.GetOrCreateCounter(series(name+"_bucket", append(labels[:len(labels):len(labels)], Label{"le", b.le})))
		if d <= b.bound {
			c.Inc()
		}
	}
	r.set.GetOrCreateCounter(series(name+"_bucket", append(labels[:len(labels):len(labels)], Label{"le", "+Inf"}))).Inc()
	r.set.GetOrCreateFloatCounter(series(name+"_sum", labels)).Add(d.Seconds())
	r.set.GetOrCreateCounter(series(name+"_count", labels)).Inc()
}

// series gives the name of a metric with its labels.
func series(name string, labels []Label) string {
	if len(labels) == 0 {
		return name
	}
	var b strings.Builder
	b.WriteString(name)
	for i, l := range labels {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(l.Name)
		b.WriteByte('=')
		b.WriteString(strconv.Quote(l.Value))
	}
	b.WriteByte('}')
	return b.String()
}
