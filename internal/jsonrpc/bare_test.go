package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/durward/durward/internal/jsonrpc"
)

func TestParseBare(t *testing.T) {
	for text, want := range map[string]jsonrpc.Message{
		`{"id":1,"method":"a","params":{"b":[1]}}`:          {Kind: jsonrpc.Request, ID: jsonrpc.IntID(1), Method: "a", Params: json.RawMessage(`{"b":[1]}`)},
		`{"jsonrpc":"2.0","id":-7,"method":"a"}`:            {Kind: jsonrpc.Request, ID: jsonrpc.IntID(-7), Method: "a"},
		`{"jsonrpc":1,"id":"","method":"a","params":null}`:  {Kind: jsonrpc.Request, ID: jsonrpc.StringID(""), Method: "a"},
		`{"id":1,"method":"a","params":"x","more":true}`:    {Kind: jsonrpc.Request, ID: jsonrpc.IntID(1), Method: "a", Params: json.RawMessage(`"x"`)},
		`{"id":1,"method":"a","trace":{"traceparent":"x"}}`: {Kind: jsonrpc.Request, ID: jsonrpc.IntID(1), Method: "a", Trace: json.RawMessage(`{"traceparent":"x"}`)},
		`{"method":"a"}`:                            {Kind: jsonrpc.Notification, Method: "a"},
		`{"id":1,"result":{}}`:                      {Kind: jsonrpc.Response, ID: jsonrpc.IntID(1), Result: json.RawMessage(`{}`)},
		`{"id":1,"error":{"code":1,"message":"m"}}`: {Kind: jsonrpc.Response, ID: jsonrpc.IntID(1)},
		`{"id":-9223372036854775808,"method":"a"}`:  {Kind: jsonrpc.Request, ID: jsonrpc.IntID(-1 << 63), Method: "a"},
	} {
		got, err := jsonrpc.ParseBare([]byte(text))
		if err != nil || got.Kind != want.Kind || got.ID != want.ID || got.Method != want.Method || string(got.Params) != string(want.Params) ||
			string(got.Trace) != string(want.Trace) || string(got.Result) != string(want.Result) {
			t.Errorf("ParseBare(%s) = %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseBareRefuses(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{bad`, `[]`, `[{"id":1,"method":"a"}]`, `1`, `{}`, `{"id":1}`, `{"result":1}`, `{"error":{}}`, `{"method":1,"id":1}`, `{"method":null}`,
		`{"id":null,"method":"a"}`, `{"id":1.5,"method":"a"}`, `{"id":1e2,"method":"a"}`, `{"id":9223372036854775808,"method":"a"}`,
		`{"id":true,"method":"a"}`, `{"id":{},"method":"a"}`, `{"id":1,"id":2,"method":"a"}`, `{"id":1,"method":"a","params":{"x":1,"x":2}}`,
		`{"id":1,"error":5}`, `{"id":1,"error":{"code":1}}`, `{"id":1,"method":"a","trace":5}`, `{"id":1,"method":"a"} {}`, `{"id":1,"method":"\ud800"}`, `{"id":1,"method":"a","params":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		`{"id":1,"method":"a","params":[` + strings.Repeat("0,", 262_144) + `0]}`, "{\"id\":1,\"method\":\"\xff\"}",
	} {
		if m, err := jsonrpc.ParseBare([]byte(text)); err == nil || err.Code != jsonrpc.InvalidRequest || m.Kind != 0 || m.ID != (jsonrpc.ID{}) {
			t.Errorf("ParseBare(%.80s) = %+v, %v; want InvalidRequest", text, m, err)
		}
	}
}

func TestAppendBare(t *testing.T) {
	request := jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.StringID("a"), Method: "m"}
	for want, m := range map[string]jsonrpc.Message{
		`{"id":"a","method":"m"}`:                         request,
		`{"method":"m","params":{"a":1}}`:                 {Kind: jsonrpc.Notification, Method: "m", Params: json.RawMessage(`{"a":1}`)},
		`{"id":"a","result":{}}`:                          request.Answer(json.RawMessage(`{}`)),
		`{"id":"a","result":null}`:                        request.Answer(nil),
		`{"id":"a","error":{"code":-1,"message":"no"}}`:   request.Refuse(&jsonrpc.Error{Code: -1, Message: "no"}),
		`{"id":-1,"error":{"code":-32600,"message":"x"}}`: jsonrpc.Message{ID: jsonrpc.IntID(-1)}.Refuse(&jsonrpc.Error{Code: -32600, Message: "x"}),
	} {
		if got := string(m.AppendBare(nil)); got != want {
			t.Errorf("AppendBare gives %s, want %s", got, want)
		}
	}
}
