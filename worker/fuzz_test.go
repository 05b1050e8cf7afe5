package worker

import (
	"encoding/json"
	"testing"

	"github.com/durward/durward/internal/jsonx"
)

func FuzzEnvelope(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `{"input": {}}`, `{"input": {"n": 1.0000000000000000000001}}`,
		`{"meta": {"trace_id": "t", "tool_run_id": "r", "domain_id": "d", "deadline_ms": 1700000000000}, "input": {}}`,
		`{"meta": {"trace_id": 1, "tool_run_id": "r"}, "input": {}}`, `{"meta": [], "input": {}}`, `{"meta": null, "input": null}`,
		`{"meta": {"deadline_ms": -1e999}, "input": {}}`, `{"meta": {"deadline_ms": "1"}, "input": {}}`,
		"{\"input\": {}, \"\\u0069nput\": {}}", "\ufeff{}", `{"input": {"a": "\ud800"}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := parse(body)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.code() != ValidationError || e.Message == "" { //nolint:errorlint // it is not wrapped
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		// What is taken is the one thing that a lenient reader sees, too.
		var lenient struct {
			Meta struct {
				TraceID   string `json:"trace_id"`
				ToolRunID string `json:"tool_run_id"`
				DomainID  string `json:"domain_id"`
			} `json:"meta"`
			Input json.RawMessage `json:"input"`
		}
		if jsonx.Check(body, jsonx.Limits{}) != nil {
			t.Fatalf("%q was taken, and is not strict JSON", body)
		}
		if err := jsonx.Decode(body, &lenient, jsonx.Options{IgnoreUnknown: true}); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if c.TraceID != lenient.Meta.TraceID || c.ToolRunID != lenient.Meta.ToolRunID || c.DomainID != lenient.Meta.DomainID {
			t.Fatalf("%q: ids %+v, want %+v", body, c.Meta, lenient.Meta)
		}
		if string(c.Input) != string(lenient.Input) {
			t.Fatalf("%q: input %q, want %q", body, c.Input, lenient.Input)
		}
	})
}
