package telemetry

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// bounds are the upper bounds of the buckets of a histogram, as they are written, too.
var bounds = [...]struct {
	most time.Duration
	le   string
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
	mu     sync.Mutex
	within [len(bounds) + 1]uint64 // guarded by mu; each from the bound before to its own, the last above all
	sum    time.Duration           // guarded by mu
}

// Histogram gives the histogram of a name, which ends in _seconds, with labels, one at least: the
// same one each time.
func (r *Registry) Histogram(name string, labels ...Label) *Histogram {
	key := labelsOf(labels)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.histograms[name] == nil {
		r.histograms[name] = map[string]*Histogram{}
	}
	if r.histograms[name][key] == nil {
		r.histograms[name][key] = new(Histogram)
	}
	return r.histograms[name][key]
}

// Observe adds a duration.
func (h *Histogram) Observe(d time.Duration) {
	i := 0
	for i < len(bounds) && d > bounds[i].most {
		i++
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.within[i]++
	h.sum += d
}

// textOfHistograms waits for nobody who reads it.
func (r *Registry) textOfHistograms() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var w bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.histograms)) {
		metrics.WriteMetadataIfNeeded(&w, name, "histogram")
		for _, labels := range slices.Sorted(maps.Keys(r.histograms[name])) {
			r.histograms[name][labels].write(&w, name, labels)
		}
	}
	return w.Bytes()
}

// write writes one, each bucket with all that fits into it.
func (h *Histogram) write(w *bytes.Buffer, name, labels string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := uint64(0)
	for i, n := range h.within {
		le := "+Inf"
		if i < len(bounds) {
			le = bounds[i].le
		}
		all += n
		fmt.Fprintf(w, "%s_bucket{%s,le=%q} %d\n", name, labels, le, all)
	}
	fmt.Fprintf(w, "%s_sum{%s} %g\n%s_count{%s} %d\n", name, labels, h.sum.Seconds(), name, labels, all)
}
