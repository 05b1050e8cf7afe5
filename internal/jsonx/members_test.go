package jsonx_test

import (
	"encoding/json"
	"testing"

	"github.com/durward/durward/internal/jsonx"
)

func TestMembersOfAnObject(t *testing.T) {
	const object = ` {"a":1.0, "\u0062":{"x":[1, 2]},"c":12345678901234567890}`
	for name, want := range map[string]string{"a": "1.0", "b": `{"x":[1, 2]}`, "c": "12345678901234567890", "x": "", "": ""} {
		if got := jsonx.Member([]byte(object), name); string(got) != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, none := range []string{"", " ", "null", "[]", `"a"`, "{}"} {
		if got := jsonx.Member([]byte(none), "a"); got != nil {
			t.Errorf("%s has %s", none, got)
		}
	}
	text := jsonx.TrimSpace([]byte(object))
	for got, want := range map[string]string{
		string(jsonx.With(text, "b", json.RawMessage(`{}`))):      `{"a":1.0,"b":{},"c":12345678901234567890}`,
		string(jsonx.With(text, "x", json.RawMessage(`{}`))):      `{"a":1.0,"b":{"x":[1, 2]},"c":12345678901234567890}`,
		string(jsonx.Put(text, "b", json.RawMessage(`{}`))):       `{"a":1.0,"b":{},"c":12345678901234567890}`,
		string(jsonx.Put(text, "x", json.RawMessage(`{}`))):       `{"a":1.0,"b":{"x":[1, 2]},"c":12345678901234567890,"x":{}}`,
		string(jsonx.Put([]byte("{ }"), "a", []byte("1"))):        `{"a":1}`,
		string(jsonx.Without(text, "a", "c")):                     `{"b":{"x":[1, 2]}}`,
		string(jsonx.Without(text, "a", "b", "c")):                `{}`,
		string(jsonx.Without([]byte("[1]"), "a")):                 `[1]`,
		string(jsonx.With([]byte("{}"), "a", []byte("1"))):        `{}`,
		string(jsonx.With([]byte(`{"a":{}}`), "a", []byte("[]"))): `{"a":[]}`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
