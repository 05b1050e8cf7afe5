package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

func TestIDs(t *testing.T) {
	digits := strings.Repeat("1234567890", 100)
	tests := []struct{ text, want string }{
		{`0`, `0`},
		{`-1`, `-1`},
		{`12345678901234567890`, `12345678901234567890`},
		{digits, digits},
		{`""`, `""`},
		{`"1"`, `"1"`},
		{`"\u0061\/"`, `"a/"`},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"é"`, `"é"`},
		{`"\n\""`, `"\n\""`},
		{`"1.5"`, `"1.5"`},
		{`1.0`, ""},
		{`1e2`, ""},
		{`1E2`, ""},
		{`null`, ""},
		{`true`, ""},
		{`{}`, ""},
		{`["a"]`, ""},
	}
	for _, tt := range tests {
		var in struct {
			RequestID jsonrpc.ID `json:"requestId"`
		}
		err := jsonx.Decode([]byte(`{"requestId":`+tt.text+`}`), &in, jsonx.Options{})
		if (err == nil) != (tt.want != "") {
			t.Errorf("%s: %v", tt.text, err)
		}
		if err == nil && in.RequestID.String() != tt.want {
			t.Errorf("%s became %s", tt.text, in.RequestID)
		}
	}
}

func TestIDsAreEqualByMeaning(t *testing.T) {
	if jsonrpc.StringID("1") == jsonrpc.IntID(1) || jsonrpc.StringID("null") == (jsonrpc.ID{}) || jsonrpc.StringID("") == (jsonrpc.ID{}) {
		t.Error("IDs of different types are equal")
	}
	if line, err := jsonx.Marshal([]jsonrpc.ID{{}, jsonrpc.IntID(-1), jsonrpc.StringID("<")}); string(line) != `[null,-1,"<"]`+"\n" {
		t.Errorf("%s, %v", line, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`)).Draw(t, "string")
		spelt, _ := json.Marshal(s) // escapes HTML
		var id jsonrpc.ID
		if err := id.UnmarshalJSON(spelt); err != nil || id != jsonrpc.StringID(s) {
			t.Fatalf("%s became %s, %v", spelt, id, err)
		}
		n := rapid.Int64().Draw(t, "integer")
		spelt, _ = json.Marshal(n)
		if err := id.UnmarshalJSON(spelt); err != nil || id != jsonrpc.IntID(n) {
			t.Fatalf("%s became %s, %v", spelt, id, err)
		}
	})
}
