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

// A Counter counts up. It is safe for concurrent use.
type Counter struct{ *metrics.Counter }

// Counter gives the counter of a name with labels: the same one each time.
func (r *Registry) Counter(name string, labels ...Label) Counter {
	return Counter{r.set.GetOrCreateCounter(series(name, labels))}
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

// A Histogram tells how long things took. It is safe for concurrent use.
type Histogram struct {
	within []*metrics.Counter // as buckets, and one for all
	sum    *metrics.FloatCounter
	count  *metrics.Counter
}

// Histogram gives the histogram of a name, which ends in _seconds, with labels: the same one
// each time.
func (r *Registry) Histogram(name string, labels ...Label) Histogram {
	h := Histogram{sum: r.set.GetOrCreateFloatCounter(series(name+"_sum", labels)), count: r.set.GetOrCreateCounter(series(name+"_count", labels))}
	labels = labels[:len(labels):len(labels)]
	for _, b := range buckets {
		h.within = append(h.within, r.set.GetOrCreateCounter(series(name+"_bucket", append(labels, Label{"le", b.le}))))
	}
	h.within = append(h.within, r.set.GetOrCreateCounter(series(name+"_bucket", append(labels, Label{"le", "+Inf"}))))
	return h
}

// Observe adds a duration.
func (h Histogram) Observe(d time.Duration) {
	for i, b := range buckets {
		if d <= b.bound {
			h.within[i].Inc()
		}
	}
	h.within[len(buckets)].Inc()
	h.sum.Add(d.Seconds())
	h.count.Inc()
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
