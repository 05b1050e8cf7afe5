package durward

import (
	"errors"
	"testing"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
)

func TestParseTraceparent(t *testing.T) {
	for _, test := range []struct {
		name, header, want string // want is the header written back, "" for a refusal
	}{
		{"sampled", "00-" + traceID + "-" + spanID + "-01", "00-" + traceID + "-" + spanID + "-01"},
		{"not sampled", "00-" + traceID + "-" + spanID + "-00", "00-" + traceID + "-" + spanID + "-00"},
		{"flags without a meaning are kept", "00-" + traceID + "-" + spanID + "-fe", "00-" + traceID + "-" + spanID + "-fe"},
		{"a later version", "01-" + traceID + "-" + spanID + "-01", "00-" + traceID + "-" + spanID + "-01"},
		{"a later version with more fields", "cc-" + traceID + "-" + spanID + "-01-what-the-future-holds", "00-" + traceID + "-" + spanID + "-01"},

		{"empty", "", ""},
		{"too few fields", "00-" + traceID + "-" + spanID, ""},
		{"version 00 has no fifth field", "00-" + traceID + "-" + spanID + "-01-x", ""},
		{"version 00 with a trailing dash", "00-" + traceID + "-" + spanID + "-01-", ""},
		{"the forbidden version", "ff-" + traceID + "-" + spanID + "-01", ""},
		{"a long version", "000-" + traceID + "-" + spanID + "-01", ""},
		{"a version that is no number", "0g-" + traceID + "-" + spanID + "-01", ""},
		{"an upper-case version", "CC-" + traceID + "-" + spanID + "-01", ""},
		{"an upper-case trace id", "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + spanID + "-01", ""},
		{"a short trace id", "00-" + traceID[1:] + "-" + spanID + "-01", ""},
		{"a zero trace id", "00-00000000000000000000000000000000-" + spanID + "-01", ""},
		{"a long span id", "00-" + traceID + "-" + spanID + "0-01", ""},
		{"a zero span id", "00-" + traceID + "-0000000000000000-01", ""},
		{"long flags", "00-" + traceID + "-" + spanID + "-011", ""},
		{"flags that are no number", "00-" + traceID + "-" + spanID + "-0x", ""},
		{"a leading space", " 00-" + traceID + "-" + spanID + "-01", ""},
		{"two headers", "00-" + traceID + "-" + spanID + "-01, 00-" + traceID + "-" + spanID + "-01", ""},
	} {
		got, err := ParseTraceparent(test.header)
		if got.Traceparent() != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v; want %q", test.name, got.Traceparent(), err, test.want)
		}
		if err != nil && (!errors.Is(err, ErrTraceparent) || !got.IsZero()) {
			t.Errorf("%s: a refusal gives %v and %v", test.name, got, err)
		}
	}
}

func TestTraceContextText(t *testing.T) {
	if zero := (TraceContext{}); !zero.IsZero() || zero.ID() != "" || zero.Traceparent() != "" {
		t.Errorf("the zero value is %q, %q", zero.ID(), zero.Traceparent())
	}
	got, err := ParseTraceparent("00-" + traceID + "-" + spanID + "-01")
	if err != nil || got.ID() != traceID {
		t.Errorf("the trace id is %q, %v", got.ID(), err)
	}
}

func FuzzParseTraceparent(f *testing.F) {
	f.Add("00-" + traceID + "-" + spanID + "-01")
	f.Add("cc-" + traceID + "-" + spanID + "-01-more")
	f.Add("ff-" + traceID + "-" + spanID + "-01")
	f.Add("----")
	f.Fuzz(func(t *testing.T, header string) {
		got, err := ParseTraceparent(header)
		if err != nil {
			if !got.IsZero() {
				t.Fatalf("a refusal gives %v", got)
			}
			return
		}
		again, err := ParseTraceparent(got.Traceparent())
		if err != nil || again != got {
			t.Fatalf("%q is written back as %q, which reads as %v, %v", header, got.Traceparent(), again, err)
		}
		if header[2:55] != got.Traceparent()[2:] {
			t.Fatalf("%q is written back as %q", header, got.Traceparent())
		}
	})
}

// A caller may name a trace by a word that is no trace context.
func TestTraceName(t *testing.T) {
	c := Call{Trace: TraceContext{TraceID: [16]byte{15: 1}}}
	if got := c.TraceName(); got != "00000000000000000000000000000001" {
		t.Errorf("%q", got)
	}
	c.TraceID = "order-7"
	if got := c.TraceName(); got != "order-7" {
		t.Errorf("%q", got)
	}
}
