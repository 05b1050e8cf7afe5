package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

func TestResponses(t *testing.T) {
	answer := func(id jsonrpc.ID) jsonrpc.Message {
		return jsonrpc.Message{Kind: jsonrpc.Response, ID: id}
	}
	tests := []struct {
		name, text string
		want       jsonrpc.Message
		ok         bool
	}{
		{"a raw result", `{"jsonrpc":"2.0","id":1,"result": {"b":1.0,"a": 12345678901234567890} }`, answer(jsonrpc.IntID(1)).Answer(json.RawMessage(`{"b":1.0,"a": 12345678901234567890}`)), true},
		{"a result of null", `{"jsonrpc":"2.0","id":"x","result":null}`, answer(jsonrpc.StringID("x")).Answer(json.RawMessage(`null`)), true},
		{
			"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-31001,"message":"no","data": {"x":1.0},"more":1}}`,
			answer(jsonrpc.IntID(1)).Refuse(&jsonrpc.Error{Code: -31001, Message: "no", Data: json.RawMessage(`{"x":1.0}`)}), true,
		},
		{"an error for null", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}`, answer(jsonrpc.ID{}).Refuse(&jsonrpc.Error{Code: 1, Message: "no"}), true},
		{"an error without id", `{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}`, answer(jsonrpc.ID{}).Refuse(&jsonrpc.Error{Code: 1, Message: "no"}), true},
		{"an error for 1.0", `{"jsonrpc":"2.0","id":1.0,"error":{"code":1,"message":"no"}}`, answer(jsonrpc.ID{}), false},
		{"a result for null", `{"jsonrpc":"2.0","id":null,"result":{}}`, answer(jsonrpc.ID{}), false},
		{"a result without id", `{"jsonrpc":"2.0","result":{}}`, answer(jsonrpc.ID{}), false},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}`, answer(jsonrpc.IntID(1)), false},
		{"no version", `{"id":1,"result":{}}`, answer(jsonrpc.IntID(1)), false},
		{"an error that is a string", `{"jsonrpc":"2.0","id":1,"error":"no"}`, answer(jsonrpc.IntID(1)), false},
		{"an error without a code", `{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}`, answer(jsonrpc.IntID(1)), false},
		{"an error without a message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, answer(jsonrpc.IntID(1)), false},
		{"a fraction for code", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"no"}}`, answer(jsonrpc.IntID(1)), false},
		{"a code in wrong case", `{"jsonrpc":"2.0","id":1,"error":{"Code":1,"message":"no"}}`, answer(jsonrpc.IntID(1)), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, bad := jsonrpc.Parse([]byte(tt.text))
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b jsonrpc.ID) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
			if (bad == nil) != tt.ok || bad != nil && bad.Code != jsonrpc.InvalidRequest {
				t.Errorf("the error is %v", bad)
			}
		})
	}
}

// The params of a message are those of the text, which is not copied.
func TestParamsAreTheCallersBytes(t *testing.T) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params": {"z" : 1e3, "a":"\u0061"} }`)
	m, bad := jsonrpc.Parse(text)
	if bad != nil || string(m.Params) != `{"z" : 1e3, "a":"\u0061"}` {
		t.Fatalf("params are %s, %v", m.Params, bad)
	}
	if _, bad := jsonrpc.Parse(nil); bad == nil || bad.Code != jsonrpc.ParseError {
		t.Errorf("an empty text is %v", bad)
	}
}

func TestParseWithin(t *testing.T) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"result":{"a":[` + strings.Repeat("0,", 300_000) + `0]}}`)
	if _, err := jsonrpc.Parse(text); err == nil || err.Code != jsonrpc.ParseError {
		t.Errorf("within the usual limits: %v", err)
	}
	m, err := jsonrpc.ParseWithin(text, jsonx.Limits{Bytes: int64(len(text)), Values: len(text)})
	if err != nil || m.Kind != jsonrpc.Response || len(m.Result) != 600_009 {
		t.Errorf("within others: %v, %d bytes", err, len(m.Result))
	}
}
