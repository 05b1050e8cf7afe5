package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/durward/durward/internal/telemetry"
)

// What was counted is shown line by line, each bucket with all that fits into it.
func TestWhatIsCountedIsShown(t *testing.T) {
	r := telemetry.New()
	by := telemetry.Label{Name: "tool", Value: `a"b`}
	r.Counter("calls_total", by, telemetry.Label{Name: "code", Value: "ok"}).Inc()
	r.Counter("calls_total", by, telemetry.Label{Name: "code", Value: "ok"}).Inc()
	r.Gauge("waiting", func() float64 { return 3 })
	for _, took := range []time.Duration{0, time.Millisecond, 2 * time.Second, time.Hour} {
		r.Histogram("took_seconds", by).Observe(took)
	}
	var page strings.Builder
	r.Write(&page)
	for _, line := range []string{
		`calls_total{tool="a\"b",code="ok"} 2`,
		`waiting 3`,
		`took_seconds_bucket{tool="a\"b",le="0.001"} 2`,
		`took_seconds_bucket{tool="a\"b",le="1"} 2`,
		`took_seconds_bucket{tool="a\"b",le="5"} 3`,
		`took_seconds_bucket{tool="a\"b",le="300"} 3`,
		`took_seconds_bucket{tool="a\"b",le="+Inf"} 4`,
		`took_seconds_sum{tool="a\"b"} 3602.001`,
		`took_seconds_count{tool="a\"b"} 4`,
	} {
		if !strings.Contains("\n"+page.String(), "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, page.String())
		}
	}
}
