package httpedge

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/durward/durward"
)

// TraceOf reads the trace context of a request. Anything but exactly one well-formed
// traceparent header means no trace, never an error. A tracestate over 512 bytes is
// dropped.
func TraceOf(r *http.Request) durward.TraceContext {
	parents := r.Header.Values("Traceparent")
	if len(parents) != 1 {
		return durward.TraceContext{}
	}
	t, err := durward.ParseTraceparent(parents[0])
	if err != nil {
		return durward.TraceContext{}
	}
	if state := strings.Join(r.Header.Values("Tracestate"), ","); len(state) <= 512 {
		t.State = state
	}
	return t
}

// ClientID gives the id that the client gave its request in this header, such as
// "X-Request-Id", or "" unless it is 1 to 64 letters, digits, '_' and '-'.
func ClientID(r *http.Request, header string) string {
	ids := r.Header.Values(header)
	if len(ids) != 1 || len(ids[0]) > 64 {
		return ""
	}
	for _, c := range []byte(ids[0]) {
		if !isAlphanumeric(c) && c != '_' && c != '-' {
			return ""
		}
	}
	return ids[0]
}

// clip shows a header of a stranger in a log: on one line, and not all of a long one.
func clip(text string) string {
	const most = 128
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "…"
	}
	return strconv.QuoteToASCII(text)
}
