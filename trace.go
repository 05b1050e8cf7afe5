package durward

import (
	"encoding/hex"
	"errors"
	"strings"
)

// A TraceContext ties a call to the trace it belongs to (W3C Trace Context, level 1).
// The zero value belongs to no trace.
type TraceContext struct {
	TraceID [16]byte
	SpanID  [8]byte
	Flags   byte
	// State is the tracestate header, verbatim.
	State string
}

// ErrTraceparent reports a traceparent header that does not follow its grammar.
var ErrTraceparent = errors.New("malformed traceparent")

// ParseTraceparent reads a traceparent header:
//
//	00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//
// A later version than 00 may carry more fields behind the fourth; they are ignored,
// as the recommendation asks. The error is always [ErrTraceparent].
func ParseTraceparent(s string) (TraceContext, error) {
	var t TraceContext
	field := strings.SplitN(s, "-", 5)
	if len(field) < 4 || len(field[0]) != 2 || field[0] == "ff" || (len(field) == 5 && field[0] == "00") {
		return TraceContext{}, ErrTraceparent
	}
	var version, flags [1]byte
	for _, f := range []struct {
		text string
		into []byte
	}{{field[0], version[:]}, {field[1], t.TraceID[:]}, {field[2], t.SpanID[:]}, {field[3], flags[:]}} {
		if !decodeLowerHex(f.into, f.text) {
			return TraceContext{}, ErrTraceparent
		}
	}
	if t.TraceID == [16]byte{} || t.SpanID == [8]byte{} {
		return TraceContext{}, ErrTraceparent
	}
	t.Flags = flags[0]
	return t, nil
}

// IsZero reports whether t belongs to no trace.
func (t TraceContext) IsZero() bool { return t.TraceID == [16]byte{} }

// Traceparent gives the header form, or "" for the zero value.
func (t TraceContext) Traceparent() string {
	if t.IsZero() {
		return ""
	}
	return "00-" + t.ID() + "-" + hex.EncodeToString(t.SpanID[:]) + "-" + hex.EncodeToString([]byte{t.Flags})
}

// ID gives the trace id as 32 lower-case hexadecimal digits, or "" for the zero value.
func (t TraceContext) ID() string {
	if t.IsZero() {
		return ""
	}
	return hex.EncodeToString(t.TraceID[:])
}

func decodeLowerHex(into []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(into)) || strings.ToLower(text) != text {
		return false
	}
	_, err := hex.Decode(into, []byte(text))
	return err == nil
}
