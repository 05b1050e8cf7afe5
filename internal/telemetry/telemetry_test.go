package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/durward/durward/internal/telemetry"
)

// What was counted is shown line by line: each metric by itself under its head, each bucket with all
// that fits into it behind the smaller ones, and labels with nothing escaped but what has to be.
func TestWhatIsCountedIsShown(t *testing.T) {
	r := telemetry.New()
	by := telemetry.Label{Name: "tool", Value: "a\"b\\c\nd\té\xff%s"}
	for range 2 {
		r.Counter("calls_total", by, telemetry.Label{Name: "code", Value: "ok"}).Inc()
	}
	r.Counter("calls_total", telemetry.Label{Name: "tool"}).Add(1_234_567_890)
	r.Gauge("waiting", func() float64 { return 3 })
	for _, d := range []time.Duration{0, time.Millisecond, 2 * time.Second, 7 * time.Second, time.Hour} {
		r.Histogram("took_seconds", telemetry.Label{Name: "tool", Value: "x"}).Observe(d)
	}
	var page strings.Builder
	r.Write(&page)
	want := `# HELP calls_total
# TYPE calls_total counter
calls_total{tool=""} 1234567890
calls_total{tool="a\"b\\c\nd` + "\té\uFFFD" + `%s",code="ok"} 2
# HELP waiting
# TYPE waiting gauge
waiting 3
# HELP took_seconds
# TYPE took_seconds histogram
took_seconds_bucket{tool="x",le="0.001"} 2
took_seconds_bucket{tool="x",le="0.005"} 2
took_seconds_bucket{tool="x",le="0.01"} 2
took_seconds_bucket{tool="x",le="0.05"} 2
took_seconds_bucket{tool="x",le="0.1"} 2
took_seconds_bucket{tool="x",le="0.5"} 2
took_seconds_bucket{tool="x",le="1"} 2
took_seconds_bucket{tool="x",le="5"} 3
took_seconds_bucket{tool="x",le="10"} 4
took_seconds_bucket{tool="x",le="60"} 4
took_seconds_bucket{tool="x",le="300"} 4
took_seconds_bucket{tool="x",le="+Inf"} 5
took_seconds_sum{tool="x"} 3609.001
took_seconds_count{tool="x"} 5
`
	if page.String() != want {
		t.Errorf("it shows\n%s", page.String())
	}
}
