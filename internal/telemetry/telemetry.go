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
	"sync"

	"github.com/VictoriaMetrics/metrics"
)

// A Registry holds the metrics of one program. It is safe for concurrent use.
type Registry struct {
	set *metrics.Set

	mu         sync.Mutex
	histograms map[string]map[string]*Histogram // guarded by mu; by name, and by labels
}

// New makes a registry that holds nothing.
func New() *Registry {
	metrics.ExposeMetadata(true) // the format leaves the type of a metric open without
	return &Registry{set: metrics.NewSet(), histograms: map[string]map[string]*Histogram{}}
}

// Write writes all metrics, sorted by name, the histograms last.
func (r *Registry) Write(w io.Writer) {
	r.set.WritePrometheus(w)
	_, _ = w.Write(r.textOfHistograms())
}

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

// escapes are what the format has for the value of a label. Other control characters stand as
// they are.
var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// series gives the name of a metric with its labels.
func series(name string, labels []Label) string {
	if len(labels) == 0 {
		return name
	}
	return name + "{" + labelsOf(labels) + "}"
}

// labelsOf gives labels as they stand in a line. Values are made UTF-8.
func labelsOf(labels []Label) string {
	var b strings.Builder
	for i, l := range labels {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.Name + `="` + escapes.Replace(strings.ToValidUTF8(l.Value, "\uFFFD")) + `"`)
	}
	return b.String()
}
