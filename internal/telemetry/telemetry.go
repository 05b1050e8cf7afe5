// Package telemetry counts what happens and shows it in the text format of Prometheus.
//
//	# HELP durward_gateway_calls_total
//	# TYPE durward_gateway_calls_total counter
//	durward_gateway_calls_total{tool="web.fetch",code="ok"} 12
//
// Values of labels are bounded by whoever counts: nothing here forgets one.
package telemetry

import (
	"io"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// A Registry holds the metrics of one program. It is safe for concurrent use.
type Registry struct{ set *metrics.Set }

// New makes a registry that holds nothing.
func New() *Registry {
	metrics.ExposeMetadata(true) // the format leaves the type of a metric open without
	return &Registry{metrics.NewSet()}
}

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

// Gauge has value asked whenever the metrics are written. The first function of a name with labels
// stays.
func (r *Registry) Gauge(name string, value func() float64, labels ...Label) {
	r.set.GetOrCreateGauge(series(name, labels), value)
}

// buckets are the upper bounds of a histogram of durations, in seconds.
var buckets = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300}

// A Histogram tells how long things took. It is safe for concurrent use.
type Histogram struct{ of *metrics.PrometheusHistogram }

// Histogram gives the histogram of a name, which ends in _seconds, with labels: the same one
// each time.
func (r *Registry) Histogram(name string, labels ...Label) Histogram {
	return Histogram{r.set.GetOrCreatePrometheusHistogramExt(series(name, labels), buckets)}
}

// Observe adds a duration.
func (h Histogram) Observe(d time.Duration) { h.of.Update(d.Seconds()) }

// escapes are what the format has for the value of a label. Other control characters stand as
// they are.
var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// series gives the name of a metric with its labels, whose values are made UTF-8.
func series(name string, labels []Label) string {
	if len(labels) == 0 {
		return name
	}
	var b strings.Builder
	b.WriteString(name)
	for i, l := range labels {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(l.Name + `="` + escapes.Replace(strings.ToValidUTF8(l.Value, "\uFFFD")) + `"`)
	}
	b.WriteByte('}')
	return b.String()
}
